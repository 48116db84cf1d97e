// Evaluates predicates for objects that a program has. The predicate gets the same checks and
// transformations as in a fetch. The evaluation reads the values that the object's context shows.
// So the predicate is true for an object exactly if a fetch returns the object.

public import PerdurePredicates

extension FetchPredicate {
  /// Whether the predicate holds for an object, including its unsaved changes. It holds exactly if
  /// a fetch of the object's entity with this predicate returns the object.
  ///
  ///     let predicate = try FetchPredicate(format: "salary > 1000")
  ///     let isRich = try predicate.evaluate(with: worker)
  ///
  /// No predicate holds for an object that the next save deletes, or that another context has
  /// removed. But if the object no longer has a context (`managedObjectContext`), the call throws.
  /// For many objects, `filtered(by:)` checks the predicate once.
  ///
  /// - Parameter object: An object of a context.
  /// - Parameter variables: The values of variables such as `$name`, by name.
  /// - Throws: `FetchError` if the predicate does not fit the entity, or the object has no context.
  ///   `PredicateEvaluationError` if the predicate cannot be evaluated for the object.
  ///   `PerdureError` with code 134060 if the store cannot be read.
  /// - Complexity: The cost of the predicate. The evaluation reads the rows and relationships that
  ///   the predicate needs, and creates no instances. The context applies the delete rules first,
  ///   as for a fetch.
  public func evaluate(
    with object: ManagedObject, variables: [String: any PredicateArgument] = [:]
  ) throws -> Bool {
    var asked = ObjectPredicate(variables.isEmpty ? self : withSubstitutionVariables(variables))
    return try asked.holds(for: object)
  }
}

extension Sequence where Element: ManagedObject {
  /// The objects for which a predicate holds, in the same order. Objects that the next save
  /// deletes, or that another context has removed, are left out. An object that no longer has a
  /// context causes an error. The objects may be of several entities and contexts.
  ///
  ///     let rich = try company.workers.filtered(by: FetchPredicate(format: "salary > 1000"))
  ///
  /// - Parameter predicate: A predicate in which every variable has a value.
  /// - Throws: As `FetchPredicate.evaluate(with:variables:)`.
  /// - Complexity: O(n) evaluations for n objects. The predicate is checked once for each entity
  ///   and context.
  public func filtered(by predicate: FetchPredicate) throws -> [Element] {
    var asked = ObjectPredicate(predicate)
    return try filter { try asked.holds(for: $0) }
  }
}

/// A predicate, with its prepared form for each entity and context that it was evaluated for.
private struct ObjectPredicate {
  private let predicate: FetchPredicate
  /// The prepared predicates, each with its context. The context is retained, so that no other
  /// context gets its identifier.
  private var evaluators: [Entity: (core: ContextCore, evaluator: PredicateEvaluator)] = [:]

  private struct Entity: Hashable {
    let core: ObjectIdentifier
    let number: UInt16
  }

  init(_ predicate: FetchPredicate) { self.predicate = predicate }

  mutating func holds(for object: ManagedObject) throws -> Bool {
    guard let core = object.context else {
      throw FetchError(
        .noContext,
        "The object no longer has a context, so it has no values. Use an object of a context.",
        entity: object.entity.name)
    }
    let entity = Entity(core: ObjectIdentifier(core), number: object.reference.entityNumber)
    core.checkOwner()
    return try core.queries.fetching.evaluating {
      let evaluator =
        try evaluators[entity]?.evaluator
        ?? core.queries.fetching.evaluator(predicate, ofEntity: entity.number)
      evaluators[entity] = (core, evaluator)
      // A fetch does not return an object that another context has removed.
      if core.reading.rows.countsAsDeleted(object) { return false }
      return try evaluator.evaluate(with: PendingSource(core.reading.derived, object.reference))
    }
  }
}

// Predicates asked of objects that a program holds. They go the way of a fetch: the same checks, the same form, and the
// objects as their context shows them, so the answer is whether a fetch would give the object.

public import PerdurePredicates

extension FetchPredicate {
  /// Whether the predicate holds for an object, unsaved changes included: whether a fetch of the object's entity with
  /// this predicate would give it.
  ///
  ///     let predicate = try FetchPredicate(format: "salary > 1000")
  ///     let isRich = try predicate.evaluate(with: worker)
  ///
  /// For many objects, `filtered(by:)` checks the predicate once.
  ///
  /// - Parameter variables: Values for `$name`.
  /// - Throws: `FetchError` when the predicate does not fit the entity, or the object has no context;
  ///   `PredicateEvaluationError` when it has no answer for the object; `PerdureError` with code 134060 when the store
  ///   cannot be read. Nothing has changed then.
  /// - Complexity: that of the predicate; reads rows and relationships that it asks for, and makes no instances.
  public func evaluate(
    with object: ManagedObject, variables: [String: any PredicateArgument] = [:]
  ) throws -> Bool {
    var asked = PredicateInHand(variables.isEmpty ? self : withSubstitutionVariables(variables))
    return try asked.holds(for: object)
  }
}

extension Sequence where Element: ManagedObject {
  /// The objects for which a predicate holds, in the same order. They may be of several entities and contexts.
  ///
  ///     let rich = try company.workers.filtered(by: FetchPredicate(format: "salary > 1000"))
  ///
  /// - Throws: As `FetchPredicate.evaluate(with:variables:)`.
  /// - Complexity: O(n) evaluations; the predicate is checked once for each entity.
  public func filtered(by predicate: FetchPredicate) throws -> [Element] {
    var asked = PredicateInHand(predicate)
    return try filter { try asked.holds(for: $0) }
  }
}

/// A predicate, and what it is for the entities that it has been asked about.
private struct PredicateInHand {
  private let predicate: FetchPredicate
  private var evaluators: [Entity: PredicateEvaluator] = [:]

  private struct Entity: Hashable {
    let core: ObjectIdentifier
    let number: UInt16
  }

  init(_ predicate: FetchPredicate) { self.predicate = predicate }

  mutating func holds(for object: ManagedObject) throws -> Bool {
    guard let core = object.context else {
      throw FetchError(
        .noContext,
        "The object has no context any more, so it has no values. Ask an object of a context.",
        entity: object.entity.name)
    }
    let entity = Entity(core: ObjectIdentifier(core), number: object.reference.entityNumber)
    return try core.answering {
      let evaluator = try evaluators[entity] ?? core.evaluator(predicate, ofEntity: entity.number)
      evaluators[entity] = evaluator
      return try evaluator.evaluate(with: PendingSource(core, object.reference))
    }
  }
}

extension ContextCore {
  /// A predicate about the objects of an entity, checked and in the form of a fetch.
  fileprivate func evaluator(
    _ predicate: FetchPredicate, ofEntity number: UInt16
  ) throws -> PredicateEvaluator {
    var query = FetchQuery(entity: number)
    query.predicate = predicate
    let fetch = try prepared(query)
    return PredicateEvaluator(fetch.predicate, now: fetch.now)
  }
}

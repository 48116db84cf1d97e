// Ids in predicates. A predicate is independent of stores, so it contains ids and objects as text.
// A fetch replaces the text by references before the planner runs.
//
// An id of another store equals no object. Usually such an id is an error, because the comparison
// is false for every object. The list of `IN` may contain such ids, because lists often come from
// data. An operand of `!=` may also be such an id: the comparison is then true for every object. In
// both cases, the id becomes a reference that no object has.

internal import PerdurePredicates

extension GraphSchema {
  /// The predicate with references of this store instead of ids.
  ///
  /// - Parameter asked: The entity that is fetched.
  /// - Throws: `FetchError` for a text that is not an id. Also for an id of another store, unless
  ///   it is on the right side of `IN` or an operand of `!=`.
  func resolvingObjectIDs(
    in predicate: FetchPredicate, asked: UInt16
  ) throws(FetchError) -> FetchPredicate {
    var resolution = ObjectIDResolution(graph: self, asked: asked)
    var resolved = resolution.resolve(predicate)
    if let unknown = resolution.unknown {
      throw .unknownObject(unknown, entity: shape(numbered: asked).name)
    }
    if hasSpreadEntities { resolved = resolved.mapReferences { meant($0, place: place(ofEntity: asked)) } }
    return resolved
  }

  /// The reference to compare with in a fetch of one store. No object of the fetched store can
  /// refer to an object of another store. For an object of another store, the result has the same
  /// entity in the fetched store and the id 0, which no object has.
  private func meant(_ reference: ObjectReference, place asked: Int) -> ObjectReference {
    guard place(ofEntity: reference.entityNumber) != asked,
      let same = shapes(named: shape(of: reference).name)
        .first(where: { place(ofEntity: $0.number) == asked })
    else { return reference }
    return ObjectReference(entity: same.number, id: 0)
  }
}

private struct ObjectIDResolution {
  let graph: GraphSchema
  /// The reference for an id of another store, if this id is allowed.
  let nothing: ObjectReference
  /// The first id that is an error.
  private(set) var unknown: String?

  init(graph: GraphSchema, asked: UInt16) {
    self.graph = graph
    nothing = ObjectReference(entity: graph.store.entity(asked).concrete.first ?? asked, id: 0)
  }

  mutating func resolve(_ predicate: FetchPredicate) -> FetchPredicate {
    if case .comparison(let comparison) = predicate {
      var resolved = comparison
      let differs = comparison.op == .notEqual
      resolved.left = resolve(comparison.left, acceptsForeign: differs)
      resolved.right = resolve(comparison.right, acceptsForeign: differs || comparison.op == .in)
      return .comparison(resolved)
    }
    return predicate.mapChildren(predicate: { resolve($0) }, expression: { $0 })
  }

  /// - Parameter acceptsForeign: Whether the expression may be an id of another store, or a list
  ///   that contains one.
  private mutating func resolve(_ expression: FetchExpression, acceptsForeign: Bool) -> FetchExpression {
    var acceptsForeign = acceptsForeign
    switch expression {
    case .constant(let value): return .constant(resolve(value, acceptsForeign))
    case .aggregate, .set: break
    default: acceptsForeign = false
    }
    var (first, second) = (self, self)
    let resolved = expression.mapChildren(
      predicate: { first.resolve($0) },
      expression: { second.resolve($0, acceptsForeign: acceptsForeign) })
    unknown = first.unknown ?? second.unknown
    return resolved
  }

  private mutating func resolve(_ value: Value, _ acceptsForeign: Bool) -> Value {
    switch value {
    case .list(let list): return .list(list.map { resolve($0, acceptsForeign) })
    case .objectID(let text):
      let id = ManagedObjectID(uri: text)
      if let reference = id.flatMap({ graph.reference(of: $0) }) { return .reference(reference) }
      if acceptsForeign, id != nil { return .reference(nothing) }
      unknown = unknown ?? text
      return value
    default: return value
    }
  }
}

extension FetchPredicate {
  /// The predicate after `map` has replaced every reference.
  fileprivate func mapReferences(_ map: (ObjectReference) -> ObjectReference) -> FetchPredicate {
    mapChildren(predicate: { $0.mapReferences(map) }, expression: { $0.mapReferences(map) })
  }
}

extension FetchExpression {
  fileprivate func mapReferences(_ map: (ObjectReference) -> ObjectReference) -> FetchExpression {
    if case .constant(let value) = self { return .constant(value.mapReferences(map)) }
    return mapChildren(predicate: { $0.mapReferences(map) }, expression: { $0.mapReferences(map) })
  }
}

extension Value {
  fileprivate func mapReferences(_ map: (ObjectReference) -> ObjectReference) -> Value {
    switch self {
    case .list(let list): .list(list.map { $0.mapReferences(map) })
    case .reference(let reference): .reference(map(reference))
    default: self
    }
  }
}

// Ids in predicates: whoever writes a predicate knows no store, so an id or an object stands there as its
// text. A fetch looks it up; the predicate that is planned has references only.

internal import PerdurePredicates

extension GraphSchema {
  /// The predicate with the references that its ids have in this store.
  ///
  /// - Parameter asked: The entity that is fetched.
  /// - Throws: `FetchError` for an id of another store.
  func resolvingObjectIDs(
    in predicate: FetchPredicate, asked: UInt16
  ) throws(FetchError) -> FetchPredicate {
    var unknown: String?
    var resolved = resolve(predicate, &unknown)
    if isJoined { resolved = resolved.mapReferences { meant($0, place: place(ofEntity: asked)) } }
    if let unknown { throw .unknownObject(unknown, entity: shape(numbered: asked).name) }
    return resolved
  }

  /// What a fetch of one store means by an object: where that is of another store, an object of its entity here that is
  /// not there, as nothing here leads to it.
  private func meant(_ reference: ObjectReference, place asked: Int) -> ObjectReference {
    guard place(ofEntity: reference.entityNumber) != asked,
      let same = shapes(named: shape(of: reference).name)
        .first(where: { place(ofEntity: $0.number) == asked })
    else { return reference }
    return ObjectReference(entity: same.number, id: 0)
  }

  private func resolve(_ predicate: FetchPredicate, _ unknown: inout String?) -> FetchPredicate {
    var (first, second) = (unknown, unknown)
    let resolved = predicate.mapChildren(
      predicate: { resolve($0, &first) }, expression: { resolve($0, &second) })
    unknown = first ?? second
    return resolved
  }

  private func resolve(_ expression: FetchExpression, _ unknown: inout String?) -> FetchExpression {
    if case .constant(let value) = expression { return .constant(resolve(value, &unknown)) }
    var (first, second) = (unknown, unknown)
    let resolved = expression.mapChildren(
      predicate: { resolve($0, &first) }, expression: { resolve($0, &second) })
    unknown = first ?? second
    return resolved
  }

  private func resolve(_ value: Value, _ unknown: inout String?) -> Value {
    switch value {
    case .list(let list): return .list(list.map { resolve($0, &unknown) })
    case .objectID(let text):
      if let reference = ManagedObjectID(uri: text).flatMap({ reference(of: $0) }) {
        return .reference(reference)
      }
      unknown = unknown ?? text
      return value
    default: return value
    }
  }
}

extension FetchPredicate {
  /// The predicate with other objects in the place of those that it names.
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

// Objects as a context shows them, as input of the predicate evaluator. From them, the evaluator
// computes derived attributes, predicates on objects in memory, and key paths in fetched
// properties.

internal import PerdurePredicates

/// An object with its unsaved changes. Creates no instance.
struct PendingSource: PropertySource {
  let reader: DerivedReader
  let identity: ObjectReference
  let shape: EntityShape

  init(_ reader: DerivedReader, _ reference: ObjectReference) {
    self.reader = reader
    identity = reference
    shape = reader.graph.shape(of: reference)
  }

  var reference: ObjectReference? { identity }

  func value(of property: String) throws(PredicateEvaluationError) -> PropertyResult {
    guard let slot = shape.storage.slot(named: property) else {
      return property == EntityStorage.ownName ? .value(.string(shape.name)) : .unknown
    }
    switch shape.properties[slot] {
    case .attribute:
      let value = reader.rows.columnValue(identity, slot)
      switch value {
      // A save refuses such values, and no value equals them.
      case .objectID, .list: return .value(.null)
      default: return .value(value)
      }
    case .transient: return .unknown
    case .count(let counted):
      return .value(.integer(Int64(reader.links.targetCount(of: identity, shape.relationship(counted)))))
    case .derived(let derived): return .value(try reader.value(of: derived, source: self))
    case .relationship(let relationship):
      var targets = reader.links.targets(of: identity, relationship)
      // Sorts the targets as the store does, so a comparison of lists has the same result before
      // and after a save.
      if relationship.isToMany, relationship.order == nil { targets.sort { $0.rawValue < $1.rawValue } }
      let sources = targets.map { PendingSource(reader, $0) }
      return relationship.isToMany ? .toMany(sources) : .toOne(sources.first)
    }
  }

  func reachesMany(through relationship: String, then path: ArraySlice<String>) -> Bool {
    reader.graph.store.reachesMany(shape.storage, through: relationship, then: path)
  }
}

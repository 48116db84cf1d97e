// Objects as a context shows them, for the reference evaluator: in fetches over unsaved changes, and for what is
// derived.

internal import PerdurePredicates

/// An object with its unsaved changes. Makes no instance.
struct PendingSource: PropertySource {
  let core: ContextCore
  let identity: ObjectReference
  let shape: EntityShape

  init(_ core: ContextCore, _ reference: ObjectReference) {
    self.core = core
    identity = reference
    shape = core.graph.shape(of: reference)
  }

  var reference: ObjectReference? { identity }

  func value(of property: String) throws(PredicateEvaluationError) -> PropertyResult {
    guard let slot = shape.storage.slot(named: property) else { return .unknown }
    switch shape.properties[slot] {
    case .attribute:
      let value = core.columnValue(identity, slot)
      switch value {
      // No save takes them, and nothing equals them.
      case .objectID, .list: return .value(.null)
      default: return .value(value)
      }
    case .transient: return .unknown
    case .count(let counted):
      return .value(.integer(Int64(core.targetCount(of: identity, shape.relationship(counted)))))
    case .derived(let derived): return .value(try core.value(of: derived, source: self))
    case .relationship(let relationship):
      let targets = core.targets(of: identity, relationship).map { PendingSource(core, $0) }
      return relationship.isToMany ? .toMany(targets) : .toOne(targets.first)
    }
  }

  func reachesMany(through relationship: String, then path: ArraySlice<String>) -> Bool {
    core.graph.store.reachesMany(shape.storage, through: relationship, then: path)
  }
}

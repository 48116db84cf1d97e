internal import PerdurePredicates

/// The objects with unsaved links to each target in relationships without an inverse.
///
/// The target itself records no such link. `noteLink` notes each one here when an edit adds it.
/// Nothing removes a note before the next save, so a noted link may have been replaced or removed.
struct OneWaySources {
  /// Most targets have one source, which needs no set.
  private enum Sources {
    case one(ObjectReference)
    case several(Set<ObjectReference>)
  }

  private var byTarget: [ObjectReference: Sources] = [:]

  mutating func note(_ source: ObjectReference, of target: ObjectReference) {
    switch byTarget[target] {
    case nil: byTarget[target] = .one(source)
    case .one(let first): if first != source { byTarget[target] = .several([first, source]) }
    case .several(var sources):
      if sources.contains(source) { return }
      // Otherwise the insertion copies the set.
      byTarget[target] = nil
      sources.insert(source)
      byTarget[target] = .several(sources)
    }
  }

  /// The sources of some targets, in ascending order, each of them once.
  ///
  /// - Complexity: O(k log k) for k targets and sources.
  func sources(of targets: some Sequence<ObjectReference>) -> [ObjectReference] {
    if byTarget.isEmpty { return [] }
    var found: Set<ObjectReference> = []
    for target in targets {
      switch byTarget[target] {
      case nil: break
      case .one(let source): found.insert(source)
      case .several(let sources): found.formUnion(sources)
      }
    }
    return found.sorted { $0.rawValue < $1.rawValue }
  }

  mutating func removeAll() { if !byTarget.isEmpty { byTarget = [:] } }
}

extension ObjectOverlay {
  /// Notes that a link to a target is about to be added.
  func noteLink(_ slot: Int, _ target: ObjectReference) {
    linksChanged()
    if shape.oneWaySlots.isEmpty || !shape.oneWaySlots.contains(slot) { return }
    memory.pointee.oneWaySources.note(reference, of: target)
  }
}

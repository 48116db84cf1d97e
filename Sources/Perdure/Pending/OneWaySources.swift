internal import PerdurePredicates

/// The objects with unsaved links to each target in relationships without an inverse.
///
/// The target itself records no such link. `noteLink` notes each one here when an edit adds it.
/// Nothing removes a note before the next save, so a noted link may have been replaced or removed.
struct OneWaySources {
  /// The sources of one target. Most targets have one source, which needs no set.
  private struct Sources {
    let first: ObjectReference
    var others: Set<ObjectReference> = []
  }

  private var byTarget: [ObjectReference: Sources] = [:]

  mutating func note(_ source: ObjectReference, of target: ObjectReference) {
    guard let first = byTarget[target]?.first else {
      byTarget[target] = Sources(first: source)
      return
    }
    if first != source { byTarget[target]?.others.insert(source) }
  }

  /// The sources of some targets, in ascending order, each of them once.
  ///
  /// - Complexity: O(k log k) for k targets and sources.
  func sources(of targets: some Sequence<ObjectReference>) -> [ObjectReference] {
    if byTarget.isEmpty { return [] }
    var found: Set<ObjectReference> = []
    for sources in targets.compactMap({ byTarget[$0] }) {
      found.insert(sources.first)
      found.formUnion(sources.others)
    }
    return found.sorted { $0.rawValue < $1.rawValue }
  }

  mutating func removeAll() { if !byTarget.isEmpty { byTarget = [:] } }
}

extension ObjectOverlay {
  /// Notes an unsaved link to a target.
  func noteLink(_ slot: Int, _ target: ObjectReference) {
    linksChanged()
    if shape.oneWaySlots.isEmpty || !shape.oneWaySlots.contains(slot) { return }
    memory.pointee.oneWaySources.note(reference, of: target)
  }
}

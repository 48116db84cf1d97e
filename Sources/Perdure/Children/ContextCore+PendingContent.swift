// What a context has not saved, as the rows and links that its children see.
//
// It is what a save would write, but for what a save would refuse: links to what others have removed, and values that no
// row can hold, are left out.

internal import PerdureFileIO
internal import PerdurePredicates

/// Versions of rows that are in no store. Stores count from 1.
private let lastPendingVersion = Guarded<UInt64>(1 << 63)

extension ContextCore {
  /// - Parameter known: What it was before: rows that have not changed since stay the same, with their versions.
  /// - Throws: what the store throws. Delete rules have to be applied before.
  /// - Complexity: O(pending changes).
  func pendingContent(_ known: PendingContent?) throws -> PendingContent {
    if let readFailure { throw readFailure }
    var content = PendingContent()
    for overlay in tracker.ordered.joined() where !hasVanished(overlay.reference) {
      if overlay.isDeleted {
        if !overlay.isNew { try addRemoval(overlay, to: &content) }
        continue
      }
      if overlay.changesRow, let bytes = try pendingRow(overlay) {
        content.rows[overlay.reference] = .some(kept(known?.rows[overlay.reference] ?? nil, bytes))
      }
      addLinks(overlay, to: &content)
      addPlaces(overlay, to: &content)
    }
    if let readFailure { throw readFailure }
    return content
  }

  private func kept(_ known: PendingRow?, _ bytes: [UInt8]) -> PendingRow {
    if let known, known.has(bytes) { return known }
    let version = lastPendingVersion.withLock { last in
      last += 1
      return last
    }
    return PendingRow(bytes, RowVersion(rawValue: version))
  }

  private func pendingRow(_ overlay: ObjectOverlay) throws -> [UInt8]? {
    if overlay.isNew { return row(of: overlay, base: nil) }
    guard let stored = try view.row(overlay.reference) else { return nil }
    return row(of: overlay, base: try graph.store.rows.view(stored.bytes, of: overlay.reference))
  }

  /// The columns of an object as a row, with `base` below its changes; nil for an entity without
  /// rows.
  func row(of overlay: ObjectOverlay, base: RowView?) -> [UInt8]? {
    guard let layouts = overlay.shape.storage.layouts else { return nil }
    var bytes: [UInt8] = []
    overlay.withColumns { values, marks in
      let held = values.indices.map { fitting(values[$0], overlay.shape, $0) }
      held.withUnsafeBufferPointer {
        RowWriter(layouts).append(to: &bytes, base: base, $0, isGiven: marks)
      }
    }
    return bytes
  }

  /// The value in a form that a row can hold: null for ids, lists, and objects that are gone.
  func fitting(_ value: Value, _ shape: EntityShape, _ slot: Int) -> Value {
    switch value {
    case .objectID, .list: .null
    case .reference(let target) where shape.isRelationship(slot) && hasVanished(target): .null
    default: value
    }
  }

  private func addRemoval(_ overlay: ObjectOverlay, to content: inout PendingContent) throws {
    // With nothing below there is nothing to remove.
    guard try view.version(of: overlay.reference) != nil else { return }
    content.rows[overlay.reference] = .some(nil)
    for relationship in overlay.shape.relationships {
      removePlaces(overlay.reference, relationship, from: &content)
      guard case .links(let links, let isForward) = relationship.form, let index = relationship.index else {
        continue
      }
      var targets: [ObjectReference] = []
      try view.appendReferences(under: overlay.reference, in: index, to: &targets)
      for target in targets {
        let (source, end) = isForward ? (overlay.reference, target) : (target, overlay.reference)
        content.linksRemoved.insert(StoreLink(index: links, source: source, target: end))
        // Of a relationship that is its own inverse there is a link each way.
        if inverse(of: relationship, at: target)?.index == index {
          content.linksRemoved.insert(StoreLink(index: links, source: end, target: source))
        }
      }
    }
  }

  private func addLinks(_ overlay: ObjectOverlay, to content: inout PendingContent) {
    for (slot, delta) in overlay.deltas {
      guard case .links(let links, true) = overlay.shape.relationship(slot).form else { continue }
      for target in delta.added.ordered where !hasVanished(target) && !tracker.isDeleted(target) {
        content.linksAdded.insert(StoreLink(index: links, source: overlay.reference, target: target))
      }
      for target in delta.removed.ordered {
        content.linksRemoved.insert(StoreLink(index: links, source: overlay.reference, target: target))
      }
    }
  }

  // MARK: Orders

  private func addPlaces(_ overlay: ObjectOverlay, to content: inout PendingContent) {
    for (slot, delta) in overlay.orders {
      guard let order = overlay.shape.relationship(slot).order else { continue }
      for place in delta.tree.added where !hasVanished(place.reference) && !tracker.isDeleted(place.reference)
      {
        content.places[StoreLink(index: order.keys, source: overlay.reference, target: place.reference)] =
          place.key
      }
      for member in delta.hidden.keys {
        content.linksRemoved.insert(
          StoreLink(index: order.keys, source: overlay.reference, target: member))
      }
    }
  }

  /// The places of a deleted object's members, and its own among those of others.
  private func removePlaces(
    _ owner: ObjectReference, _ relationship: RelationshipShape, from content: inout PendingContent
  ) {
    if let order = relationship.order {
      for member in storedMembers(of: owner, order) {
        content.linksRemoved.insert(StoreLink(index: order.keys, source: owner, target: member))
      }
    }
    guard relationship.inverseIsOrdered else { return }
    let targets =
      relationship.form == .column
      ? storedColumn(owner, relationship.slot).map { [$0] } ?? []
      : settledTargets(of: owner, relationship)
    for target in targets {
      guard let order = inverse(of: relationship, at: target)?.order else { continue }
      content.linksRemoved.insert(StoreLink(index: order.keys, source: target, target: owner))
    }
  }
}

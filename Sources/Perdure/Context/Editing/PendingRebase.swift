// Moves unsaved changes to a newer state of the store, or discards them.
//
// Invariants:
//   CX3. Deltas of relationships agree with the changed columns (PendingRebase+Deltas.swift).
//
// While the view has the state in which a change was made, the original row can be read. When the
// view advances, for example by a refresh of another object, the row is lost. Therefore each change
// is examined when the view advances. If other contexts have not changed the same columns, the
// change is rebased on the newest row. Otherwise a copy of the original row is kept.

internal import PerdurePredicates

/// Moves unsaved changes to a newer state, and discards them.
final class PendingRebase {
  let graph: GraphSchema
  let registry: ObjectRegistry
  let viewState: ViewState
  let pending: PendingChanges
  let transientState: TransientState
  @Shared var reading: ContextReading
  let objectEditor: ObjectEditor
  let orderEditor: OrderEditor
  let linkEditor: LinkEditor
  let linkRestorer: LinkRestorer
  private let refusal: ChangeRefusal

  init(
    reading: Shared<ContextReading>, objectEditor: ObjectEditor, orderEditor: OrderEditor,
    linkEditor: LinkEditor, refusal: ChangeRefusal
  ) {
    graph = reading.graph
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    transientState = reading.transientState
    _reading = reading
    self.objectEditor = objectEditor
    self.orderEditor = orderEditor
    self.linkEditor = linkEditor
    linkRestorer = LinkRestorer(reading, linkEditor)
    self.refusal = refusal
  }

  // MARK: Original rows

  /// Prepares a changed object for an advance of the view. If other contexts have changed the same
  /// columns or removed the object, keeps a copy of the original row. In the copy, columns without
  /// unsaved edits have their newest values, because the next edits are based on these. Otherwise
  /// the changes are rebased on the newest row.
  ///
  /// - Complexity: two reads of the row if other contexts have written it; otherwise reads of its
  ///   version.
  func keepBase(_ overlay: ObjectOverlay, before newest: any StoreView) {
    guard overlay.changesRow, !overlay.isDeleted, let version = overlay.baseVersion else { return }
    do {
      let newVersion = try newest.version(of: overlay.reference)
      if overlay.keptRow != nil, try newVersion == viewState.view.version(of: overlay.reference) { return }
      guard newVersion != version, let old = try overlay.keptRow ?? baseRow(of: overlay, version) else {
        return
      }
      let versions = ObjectVersions(
        local: overlay.changedColumns, base: old.withRow { columns(of: $0, overlay) },
        store: try columns(of: overlay, in: newest))
      if let newVersion, let store = versions.store, versions.contested.isEmpty {
        // A change that equals the original row is kept only because `awakeFromFetch` has put
        // another value into the instance's row (`unmarkReverted`). Such a change must not replace
        // a newer value.
        overlay.unmark { slot, value in versions.base[slot] == value && store[slot] != value }
        overlay.baseVersion = overlay.changesRow ? newVersion : nil
        registry.identityMap.object(overlay.reference)?.header.pointee.dropRow()
      } else {
        let layouts = viewState.rows.layouts(ofEntity: overlay.shape.number)
        overlay.keptBase =
          layouts.map { old.replacing($0) { versions.local[$0] == nil ? versions.store?[$0] : nil } }
          ?? old.copied()
      }
    } catch {
      viewState.noteReadFailure(error, overlay.reference)
    }
  }

  /// The row of the view, if it has the version on which the changes are based. Makes no request if
  /// the instance has a copy of the row.
  func baseRow(of overlay: ObjectOverlay, _ version: RowVersion) throws -> KeptRow? {
    if let header = registry.identityMap.object(overlay.reference)?.header, header.pointee.isCurrent,
      !header.pointee.wakefulness.contains(.rewritten), let row = header.pointee.row(ofVersion: version)
    {
      return KeptRow(row, version: version)
    }
    let (view, rows) = (viewState.view, viewState.rows)
    return try view.withRow(overlay.reference) { stored in
      guard let stored, stored.version == version else { return nil }
      let row = try rows.view(stored.bytes, of: overlay.reference)
      return KeptRow(row, version: version, isKept: view.keepsRows)
    }
  }

  /// As `keepBase`, for a deletion. If other contexts have written the row with the same bytes, the
  /// deletion is rebased on the newest row. This happens in a child when its parent saves: the
  /// saved rows have the bytes of the parent's unsaved rows. Otherwise keeps a copy of the original
  /// row for the changes of the object.
  ///
  /// - Complexity: as `keepBase`.
  func keepDeletion(_ overlay: ObjectOverlay, before newest: any StoreView) {
    guard overlay.isDeleted, let version = overlay.baseVersion else { return }
    do {
      let newVersion = try newest.version(of: overlay.reference)
      guard let newVersion, newVersion != version, let old = try baseRow(of: overlay, version) else {
        return
      }
      try old.withRow { old in
        let isSame =
          try newest.schema.rows === viewState.rows
          && newest.withRow(overlay.reference) { $0?.bytes.elementsEqual(old.bytes) == true }
        if isSame { makeDeletion(overlay, of: old, version: newVersion) }
      }
      // The changes of the object remain if the deletion is undone.
      if overlay.changesRow, overlay.baseVersion == version { overlay.keptBase = old.copied() }
    } catch {
      viewState.noteReadFailure(error, overlay.reference)
    }
  }

  /// Changes the version of the row that a deletion removes; the bytes are the same.
  private func makeDeletion(_ overlay: ObjectOverlay, of row: RowView, version: RowVersion) {
    overlay.baseVersion = version
    guard let object = registry.identityMap.object(overlay.reference), object.header.pointee.row != nil else {
      return
    }
    object.header.pointee.setRow(row, version: version)
  }

  /// The values of an object before its unsaved changes, by slot; empty if they are no longer
  /// known.
  func baseColumns(_ overlay: ObjectOverlay) throws -> [Int: Value] {
    guard let version = overlay.baseVersion else { return [:] }
    if let kept = overlay.keptRow { return kept.withRow { columns(of: $0, overlay) } }
    let rows = viewState.rows
    return try viewState.view.withRow(overlay.reference) { stored in
      guard let stored, stored.version == version else { return [:] }
      return columns(of: try rows.view(stored.bytes, of: overlay.reference), overlay)
    }
  }

  /// The columns of an object in a view, by slot; nil if the view has no row of the object.
  func columns(of overlay: ObjectOverlay, in view: any StoreView) throws -> [Int: Value]? {
    let rows = view.schema.rows
    return try view.withRow(overlay.reference) { stored in
      try stored.map { columns(of: try rows.view($0.bytes, of: overlay.reference), overlay) }
    }
  }

  /// The columns of a row by slot.
  func columns(of row: RowView, _ overlay: ObjectOverlay) -> [Int: Value] {
    var values: [Int: Value] = [:]
    for slot in overlay.shape.properties.indices where overlay.shape.isColumn(slot) {
      values[slot] = row.value(slot)
    }
    return values
  }

  // MARK: Rebasing

  /// Drops the changes of columns whose values equal the original row. Such changes cannot conflict
  /// with saves of other contexts. Reads the original row from the current view, which is about to
  /// advance.
  func unmarkReverted(_ overlay: ObjectOverlay) {
    guard let base = row(of: overlay, overlay.baseVersion) else { return }
    base.withRow { unmarkReverted(overlay, to: $0, base.version) }
  }

  /// The row of an object in the view; nil if its version is not the given one.
  func row(of overlay: ObjectOverlay, _ version: RowVersion?) -> KeptRow? {
    guard let version else { return nil }
    return viewState.reading(overlay.reference, or: nil) { try baseRow(of: overlay, version) }
  }

  /// Drops the changes of columns whose values equal those of a row.
  func unmarkReverted(_ overlay: ObjectOverlay, to row: RowView, _ version: RowVersion) {
    // Keeps a change if `awakeFromFetch` has put another value into the instance's row: without the
    // change, the instance shows that value.
    let header = registry.identityMap.object(overlay.reference)?.header
    let shown = header?.pointee.row(ofVersion: version)
    overlay.unmark { slot, value in
      row.value(slot) == value && (shown.map { $0.value(slot) == value } ?? true)
    }
    if overlay.changesRow { return }
    if !overlay.isDeleted { overlay.baseVersion = nil }
    guard let header, header.pointee.wakefulness.contains(.altered) else { return }
    header.pointee.dropAlteredRow()
    // The instance of a deleted object shows its row even after the row is removed.
    if overlay.isDeleted { header.pointee.setRow(row, version: version) }
  }

  /// Rebases the unsaved changes of an object on its newest row. Completes a deletion if another
  /// context has removed the object too.
  func rebase(_ overlay: ObjectOverlay) {
    guard
      overlay.baseVersion != nil || overlay.hasDeltas || overlay.hasOrders || overlay.changesTransients
    else { return }
    let newest: RowVersion?
    do { newest = try viewState.view.version(of: overlay.reference) } catch {
      return viewState.noteReadFailure(error, overlay.reference)
    }
    if newest == nil, overlay.isDeleted {
      if let object = registry.identityMap.object(overlay.reference) {
        object.header.pointee.hasVanished = true
        reading.retirement.retireDeleted(object, overlay)
      }
      pending.remove(overlay.reference)
      transientState.dropTransientsBefore(overlay)
      viewState.vanished.insert(overlay.reference)
      return
    }
    guard let newest else { return dropLinksOfVanished(overlay) }
    guard overlay.baseVersion != nil, newest != overlay.baseVersion else { return }
    overlay.baseVersion = newest
    guard let object = registry.identityMap.object(overlay.reference) else { return }
    let isReadToTheEnd = overlay.isDeleted && object.header.pointee.row != nil
    object.header.pointee.dropRow()
    if isReadToTheEnd { _ = reading.rows.loadRow(of: object) }
  }

  /// Handles an object that has unsaved changes and that another context has removed. Removes its
  /// unsaved links at both ends. Changed attributes stay: saves refuse them until the object is
  /// deleted here too or its changes are discarded.
  private func dropLinksOfVanished(_ overlay: ObjectOverlay) {
    for relationship in overlay.shape.columns where overlay.value(relationship.slot) != nil {
      let partner = linkRestorer.pairedPartner(overlay.reference, relationship)
      linkEditor.setColumn(overlay.reference, relationship, nil)
      if let partner { linkRestorer.restoreStored(partner.owner, partner.relationship) }
    }
    for relationship in overlay.shape.relationships {
      guard !relationship.isInColumn, let delta = overlay.delta(relationship.slot) else { continue }
      for target in delta.added.ordered { linkEditor.disconnect(overlay.reference, relationship, target) }
    }
    for slot in overlay.orders.map(\.slot) { overlay.setOrder(nil, slot) }
    overlay.unmark { slot, value in value.isNull && overlay.shape.isRelationship(slot) }
    if overlay.changesRow { return }
    overlay.baseVersion = nil
    let lastRow = overlay.keptBase
    refusal.refuseTransients(of: overlay)
    transientState.dropTransientsBefore(overlay)
    pending.dropIfUnchanged(overlay)
    guard pending[overlay.reference] == nil, let object = registry.identityMap.object(overlay.reference)
    else {
      return
    }
    reading.retirement.vanish(object, lastRow)
  }

  /// Removes the unsaved links of an object to removed objects. `rebase` of a removed object
  /// removes only the links that its own unsaved changes contain.
  func dropLinksToVanished(_ overlay: ObjectOverlay) {
    for relationship in overlay.shape.relationships {
      linkEditor.dropLinksToVanished(overlay.reference, relationship)
    }
  }
}

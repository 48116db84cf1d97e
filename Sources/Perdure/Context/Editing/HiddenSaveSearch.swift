// Finds the saves of other contexts that unsaved edits hide (HiddenSaves.swift).

internal import PerdurePredicates

/// Compares unsaved edits with newer states of the store, for undo. Makes saved values the base of
/// edits that replace them.
final class HiddenSaveSearch {
  private let graph: GraphSchema
  private let pending: PendingChanges
  private let viewState: ViewState
  private let rebase: PendingRebase
  private let recording: EditRecording

  init(
    viewState: ViewState, pending: PendingChanges, rebase: PendingRebase, recording: EditRecording
  ) {
    graph = viewState.graph
    self.viewState = viewState
    self.pending = pending
    self.rebase = rebase
    self.recording = recording
  }

  /// Records the places whose contents in a newer state are hidden by unsaved edits (HS1 to HS5).
  /// Called before the view advances. Does nothing for a context without an undo manager.
  ///
  /// - Complexity: for each object with unsaved edits, two reads of its version, and two of the row
  ///   if it was written. One read for each moved or removed member of an ordered relationship, and
  ///   for each new target of a one-to-one relationship. Two reads for each link that a deletion has
  ///   removed.
  func record(in newest: any StoreView) {
    guard let recorder = recording.recorder else { return }
    for overlay in pending.ordered.joined() {
      do {
        try recordPartners(of: overlay, in: newest, recorder)
        try recordLinks(of: overlay, in: newest, recorder)
        if overlay.isNew { continue }
        if overlay.isDeleted { try recordDeletion(of: overlay, in: newest, recorder) }
        try recordColumns(of: overlay, in: newest, recorder)
        try recordPositions(in: overlay, in: newest, recorder)
      } catch {
        viewState.noteReadFailure(error, overlay.reference)
      }
    }
  }

  /// Makes the saved value of a column the base of its unsaved change, because the program has
  /// chosen to replace the saved value. Otherwise the next save treats a value that equals the old
  /// base as unchanged. Other columns still conflict.
  func acceptSaved(_ slot: Int, of reference: ObjectReference) {
    guard let overlay = pending[reference], let kept = overlay.keptRow,
      let layouts = viewState.rows.layouts(ofEntity: overlay.shape.number)
    else { return }
    let saved = viewState.reading(reference, or: nil) {
      try viewState.readStoredRow(reference) { $0.value(slot) }
    }
    guard let saved else { return }
    overlay.keptBase = kept.replacing(layouts) { $0 == slot ? saved : nil }
  }

  private func isWritten(_ reference: ObjectReference, in newest: any StoreView) throws -> Bool {
    try viewState.view.version(of: reference) != newest.version(of: reference)
  }

  /// Records the columns of a deleted object that the newer state has changed (HS4).
  private func recordDeletion(
    of overlay: ObjectOverlay, in newest: any StoreView, _ recorder: EditRecorder
  ) throws {
    guard try isWritten(overlay.reference, in: newest),
      let shown = try rebase.columns(of: overlay, in: viewState.view),
      let store = try rebase.columns(of: overlay, in: newest)
    else { return }
    for (slot, old) in shown where store[slot] != old {
      recorder.hiddenSaves.insertDeletion(overlay.reference)
      recorder.hiddenSaves.insert(.column(overlay.reference, slot: slot), replaced: .value(old))
    }
  }

  private func recordColumns(
    of overlay: ObjectOverlay, in newest: any StoreView, _ recorder: EditRecorder
  ) throws {
    // Compares with the view, not with the row on which the changes are based. Before a column was
    // edited, the context may have shown a newer value than that row has.
    let view = viewState.view
    guard overlay.changesRow, try isWritten(overlay.reference, in: newest),
      let shown = try rebase.columns(of: overlay, in: view),
      let store = try rebase.columns(of: overlay, in: newest)
    else { return }
    for (slot, local) in overlay.changedColumns {
      guard let old = shown[slot], let saved = store[slot], local != old, saved != old else { continue }
      // The program has not changed the links of a deleted object: its delete rules have changed
      // them.
      let place = EditedPlace.column(overlay.reference, slot: slot)
      if case .reference(let target) = old, pending.isDeleted(target), saved == local {
        recorder.hiddenSaves.insert(link: place, ofDeleted: target)
      } else if saved == local, !overlay.isDeleted {
        continue
      }
      recorder.hiddenSaves.insert(place, replaced: .value(old))
    }
  }

  /// Records the columns of other objects that link to the unsaved target of a one-to-one
  /// relationship (HS2).
  private func recordPartners(
    of overlay: ObjectOverlay, in newest: any StoreView, _ recorder: EditRecorder
  ) throws {
    guard overlay.changesRow, !overlay.isDeleted else { return }
    for relationship in overlay.shape.columns where relationship.inverseIsToOne {
      guard let target = overlay.reference(relationship.slot), let index = relationship.index,
        let inverse = graph.inverse(of: relationship, at: target), inverse.form == .inverseToOne
      else { continue }
      var sources: [ObjectReference] = []
      try newest.appendReferences(under: target, in: index, to: &sources)
      for source in sources where source != overlay.reference {
        guard let slot = graph.inverse(of: inverse, at: source)?.slot, pending[source]?.value(slot) == nil
        else { continue }
        recorder.hiddenSaves.insert(.column(source, slot: slot), replaced: .value(.null))
      }
    }
  }

  /// Records the links that deletions have removed and that the newer state does not have (HS5).
  private func recordLinks(
    of overlay: ObjectOverlay, in newest: any StoreView, _ recorder: EditRecorder
  ) throws {
    guard overlay.hasDeltas else { return }
    let (owner, view) = (overlay.reference, viewState.view)
    for relationship in overlay.shape.relationships where !relationship.isInColumn {
      guard let index = relationship.index, let delta = overlay.delta(relationship.slot) else { continue }
      for target in delta.removed.ordered where overlay.isDeleted || pending.isDeleted(target) {
        guard try view.hasEntry(under: owner, target, in: index),
          try !newest.hasEntry(under: owner, target, in: index)
        else { continue }
        let inverse = graph.inverse(of: relationship, at: target)
        recorder.hiddenSaves.insert(
          link: relationship.canonicalEnd(owner, target, inverse: inverse),
          ofDeleted: overlay.isDeleted ? owner : target)
      }
    }
  }

  private func recordPositions(
    in overlay: ObjectOverlay, in newest: any StoreView, _ recorder: EditRecorder
  ) throws {
    guard overlay.hasOrders else { return }
    for relationship in overlay.shape.relationships {
      guard let order = relationship.order, let delta = overlay.order(relationship.slot) else { continue }
      let moved = delta.moved.map { ($0.member, $0.placement.stored, Optional($0.placement.key)) }
      let removed = delta.hidden.map { ($0.key, Optional($0.value), OrderKey?.none) }
      for (member, stored, key) in moved + removed {
        let saved = try newest.orderKey(of: member, under: overlay.reference, in: order)
        guard let saved, let stored, saved != stored, saved != key else { continue }
        recorder.hiddenSaves.insert(
          .position(of: member, in: overlay.reference, slot: relationship.slot), replaced: .key(stored))
      }
    }
  }
}

// Finds the saves of other contexts that unsaved edits hide (HiddenSaves.swift).

internal import PerdurePredicates

/// Compares unsaved edits with a newer state of the store, for undo.
final class HiddenSaveSearch {
  private let pending: PendingChanges
  private let viewState: ViewState
  private let rebase: PendingRebase
  private let recording: EditRecording

  init(_ reading: ContextReading, rebase: PendingRebase, recording: EditRecording) {
    pending = reading.pending
    viewState = reading.viewState
    self.rebase = rebase
    self.recording = recording
  }

  /// Records the places that unsaved edits and a newer state have changed to different contents.
  /// Called before the view advances. Does nothing for a context without an undo manager.
  ///
  /// - Complexity: for each object with unsaved edits, one read of its version, and two reads of the
  ///   row if it was written. One read for each moved member of an ordered relationship.
  func record(in newest: any StoreView) {
    guard let recorder = recording.recorder else { return }
    var hidden: [EditedPlace] = []
    for overlay in pending.ordered.joined() where !overlay.isNew {
      do {
        hidden += try columns(of: overlay, in: newest) + positions(in: overlay, in: newest)
      } catch {
        viewState.noteReadFailure(error, overlay.reference)
      }
    }
    recorder.noteHiddenSaves(at: hidden)
  }

  private func columns(
    of overlay: ObjectOverlay, in newest: any StoreView
  ) throws -> [EditedPlace] {
    guard overlay.changesRow, let version = overlay.baseVersion,
      try newest.version(of: overlay.reference) != version
    else { return [] }
    let base = try rebase.baseColumns(overlay)
    guard !base.isEmpty, let store = try rebase.columns(of: overlay, in: newest) else { return [] }
    return overlay.changedColumns.compactMap { slot, local in
      guard let base = base[slot], let saved = store[slot],
        ColumnComparison(base: base, local: local, store: saved) == .both
      else { return nil }
      return .column(overlay.reference, slot: slot)
    }
  }

  private func positions(
    in overlay: ObjectOverlay, in newest: any StoreView
  ) throws -> [EditedPlace] {
    guard overlay.hasOrders else { return [] }
    var hidden: [EditedPlace] = []
    for relationship in overlay.shape.relationships {
      guard let order = relationship.order, let delta = overlay.order(relationship.slot) else { continue }
      for (member, placement) in delta.moved {
        let key = try newest.orderKey(of: member, under: overlay.reference, in: order)
        guard let key, key != placement.stored, key != placement.key else { continue }
        hidden.append(.position(of: member, in: overlay.reference, slot: relationship.slot))
      }
    }
    return hidden
  }
}

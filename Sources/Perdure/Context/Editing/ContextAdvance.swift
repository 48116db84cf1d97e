// Advances of a context's view.
//
// An advance replaces the view and begins an epoch. It visits the objects with unsaved changes, and
// no others. At its next access, an instance compares the version of its row with the view, and
// becomes a fault only if the row has changed. Unsaved changes stay, and are shown over the newest
// row. If other contexts have changed the same columns, the unsaved changes keep the version on
// which they are based, until a refresh changes it. So a save detects conflicts with earlier saves
// of other contexts.

internal import PerdurePredicates

/// Moves a context to another state of its store.
final class ContextAdvance {
  private let viewState: ViewState
  private let pending: PendingChanges
  private let transientState: TransientState
  private let layerFollower: LayerFollower
  private let recording: EditRecording
  private let hiddenSaveSearch: HiddenSaveSearch
  private let linkEditor: LinkEditor
  private let rebase: PendingRebase

  init(
    _ reading: Shared<ContextReading>, recording: EditRecording, hiddenSaveSearch: HiddenSaveSearch,
    linkEditor: LinkEditor, rebase: PendingRebase
  ) {
    viewState = reading.viewState
    pending = reading.pending
    transientState = reading.transientState
    layerFollower = reading.layerFollower
    self.recording = recording
    self.hiddenSaveSearch = hiddenSaveSearch
    self.linkEditor = linkEditor
    self.rebase = rebase
  }

  /// Advances the view to the newest state of the store, unless it is pinned. Unsaved changes stay.
  func advance() { move(to: viewState.nextView()) }

  /// Advances the view to a state of the store, if it differs.
  func move(to newest: any StoreView) {
    guard newest.sequence != viewState.view.sequence else { return }
    show(newest)
  }

  /// Shows another state of the store. Unsaved changes stay.
  func show(_ newest: any StoreView) {
    recording.readUndoContents()
    hiddenSaveSearch.record(in: newest)
    recording.excludingFromUndo { showMerged(newest) }
  }

  private func showMerged(_ newest: any StoreView) {
    for overlay in pending.ordered.joined() where !overlay.isNew {
      if overlay.changesRow {
        rebase.unmarkReverted(overlay)
        rebase.keepBase(overlay, before: newest)
      }
      rebase.keepDeletion(overlay, before: newest)
    }
    viewState.view = newest
    viewState.beginEpoch()
    rebase.rebaseInsertions()
    linkEditor.findVanished()
    rebase.rebaseDeltas()
    // Delete rules must also be applied to objects that other contexts have connected with the
    // deleted ones in the meantime. The rules run at the end of the event or before a fetch. Their
    // changes belong to the undo group of the deletion (ReopenedGroups.swift).
    for overlay in pending.ordered.joined() where overlay.isDeleted { pending.propagateAgain(overlay) }
  }

  /// Shows a newer state of the store without a rebase. Expects that other contexts have changed no
  /// object that unsaved changes concern or link to.
  func showWithoutRebase(_ newest: any StoreView) {
    recording.readUndoContents()
    if let layer = layerFollower.contextLayer, layer.builder.base === viewState.view,
      newest.schema.rows === viewState.rows
    {
      layer.builder.move(to: newest)
    }
    viewState.view = newest
    viewState.beginEpoch()
  }

  /// Pins the context to a state, or unpins it.
  func pin(to token: QueryGenerationToken?) throws(PerdureError) {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    switch token?.state {
    case nil: viewState.isPinned = false
    case .current:
      viewState.refreshStore()
      move(to: viewState.store.view())
      viewState.isPinned = true
    case .view(let other, of: let origin):
      guard origin === viewState.store else {
        throw PerdureError(
          .storeOperation, "The state belongs to another store. Use a state of this context's store.")
      }
      guard other.sequence >= viewState.view.sequence || pending.isEmpty else {
        throw PerdureError(
          .storeOperation,
          "The context has unsaved changes, and an older state may lack their objects. Save them or roll back."
        )
      }
      move(to: other)
      viewState.isPinned = true
    }
  }
}

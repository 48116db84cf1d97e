// Makes a parent context the store of its child context. So a child runs the same code as other
// contexts.
//
//   view      the parent's state with the parent's unsaved changes, as a value (LayeredView)
//   commit    checks a change against that view as a store does, then applies it to the parent as
//             unsaved changes
//
// Ids come from the root store, as for all contexts.

internal import PerdurePredicates

// Unchecked: a child is used in its parent's isolation, and the parent and `newest` are accessed
// only there. In other isolations (QueryGenerationToken), stores are only compared by identity. The
// reference to the parent is weak, so the parent is not freed there.
package final class ParentStore: PersistentStore, @unchecked Sendable {
  package let schema: StoreSchema
  private let root: any PersistentStore
  private weak var parent: ManagedObjectContext?
  /// The last view that was returned.
  private var newest: LayeredView
  /// Reports the last commit to the observers of the parent; nil if there is nothing to report.
  private var report: (() -> Void)?

  package init(_ parent: ManagedObjectContext) {
    self.parent = parent
    root = parent.core.store
    schema = root.schema
    newest = Self.layeredView(parent.core, after: nil)
  }

  package var identifier: String { root.identifier }

  /// - Complexity: O(the parent's unsaved changes).
  package func view() -> any StoreView {
    if let core = parent?.core { newest = Self.layeredView(core, after: newest) }
    return newest
  }

  /// The parent's state, after the parent has applied waiting merges and delete rules.
  private static func layeredView(_ core: ContextCore, after before: LayeredView?) -> LayeredView {
    core.transientState.keepDropped()
    defer { core.transientState.releaseDropped() }
    core.checkOwner()
    core.queries.merging.mergeWaiting()
    core.editing.deleteRules.propagateDeletes()
    return core.reading.layerFollower.layeredView(after: before)
  }

  package func commit(_ change: StoreChange) throws -> any StoreView { try commit(change, []) }

  /// Applies a child's save to the parent context, completely or not at all. Calls no observer: an
  /// observer could edit the child, and the child drops its unsaved changes after the commit.
  /// `reportCommit` calls the observers afterwards.
  ///
  /// - Parameter transients: The transient values that the child has set.
  func commit(_ change: StoreChange, _ transients: [ChangedTransients]) throws -> any StoreView {
    let core = try parentCore()
    core.transientState.keepDropped()
    defer { core.transientState.releaseDropped() }
    core.editing.deleteRules.propagateDeletes()
    try judge(change, core)
    report = try core.operations.eventEnd.runSaveOfChild { try Self.take(change, transients, core) }
    newest = core.reading.layerFollower.layeredView(after: newest)
    return newest
  }

  /// Ends the event of the parent after a commit, and calls its observers.
  func reportCommit() {
    let report = report
    self.report = nil
    report?()
  }

  /// Makes a child's changes unsaved changes of the parent, after all checks.
  ///
  /// - Throws: The errors of the store; then nothing has changed.
  private static func take(
    _ change: StoreChange, _ transients: [ChangedTransients], _ core: ContextCore
  ) throws {
    let intake = core.saving.childIntake
    let changes = try intake.changes(change)
    try core.operations.reversal.run(.save) {
      intake.apply(changes, of: change, transients)
      // Makes the layer of the child's next view. The layer is cached, so `view()` does not read
      // the same data again.
      _ = try core.reading.layerFollower.currentLayer()
    }
  }

  package func check(_ change: StoreChange) throws {
    let core = try parentCore()
    _ = view()
    try judge(change, core)
  }

  package func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64> {
    try root.allocateIDs(entity: entity, count: count)
  }

  /// Does nothing: the parent does not belong to the child.
  package func close() throws {}

  private func parentCore() throws -> ContextCore {
    guard let core = parent?.core else {
      throw PerdureError(
        .saveFailed,
        "The parent of the context no longer exists, so its child cannot save. Keep the parent while the child is used."
      )
    }
    core.checkOwner()
    if core.activity.isPropagating || core.activity.isPlanning || core.activity.isValidating {
      throw PerdureError(
        .saveFailed, "The parent is validating or deleting. Save the child when that has ended.")
    }
    return core
  }

  // MARK: Checks

  /// - Throws: A conflict with the parent's state, or the error of a store that cannot be read.
  private func judge(_ change: StoreChange, _ core: ContextCore) throws {
    // After a failed read, the parent demands a rollback, and a rollback also discards the changes
    // of the child's save.
    try core.viewState.throwReadFailure()
    let now = core.reading.layerFollower.layeredView(after: newest)
    newest = now
    let failed = try change.preconditions.filter { try !holds($0, now, since: change.view) }
    if !failed.isEmpty { throw StoreConflict(failed: failed) }
    let duplicates = try change.duplicates(in: now)
    if !duplicates.isEmpty { throw StoreConflict(duplicates: duplicates) }
  }

  private func holds(
    _ precondition: Precondition, _ now: any StoreView, since before: any StoreView
  ) throws -> Bool {
    switch precondition {
    case .rowExists(let reference): return try now.version(of: reference) != nil
    case .rowAbsent(let reference): return try now.version(of: reference) == nil
    case .rowUnchanged(let reference, let version):
      return try now.withRow(reference) { row in
        guard let row else { return false }
        if row.version == version { return true }
        if now.schema.rows !== before.schema.rows { return false }
        // A save of the parent changes the versions of its rows, but not their bytes.
        return try before.withRow(reference) { seen in
          guard let seen, seen.version == version else { return false }
          return row.bytes.elementsEqual(seen.bytes)
        }
      }
    case .rangeUnchanged(let index, let range):
      if now.sequence == before.sequence { return true }
      return try entries(now, index, range) == entries(before, index, range)
    }
  }

  private func entries(
    _ view: any StoreView, _ index: StoreIndex, _ range: KeyRange
  ) throws -> [LayerEntry] {
    var found: [LayerEntry] = []
    try view.visitEntries(index, range, descending: false) { key, reference in
      found.append(LayerEntry(key: Array(key), reference: reference))
      return true
    }
    return found
  }
}

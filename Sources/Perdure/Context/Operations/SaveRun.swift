// Runs a save. If it conflicts with earlier saves of other contexts, merges those saves with the
// unsaved changes, and repeats the steps of the save.
//
//   MG1. Pure functions compare the conflicting objects with one newest state, object by object
//        (ObjectMerge, PropertyMergeRule). They change nothing. Conflicts that remain are thrown at
//        this point (MergeRound).
//   MG2. Then the context advances to that state and applies the decisions (MergeStep). The save
//        begins again with the delete rules, so hooks and validation see the values that will be
//        saved.
//   MG3. If the save fails for any reason, even a failed read (VR1), the context and its undo
//        groups are restored to their state before the first merge (PendingCopy). So a save that
//        fails changes nothing, and can be repeated. There is no restoration if some of several
//        stores have committed, or if a hook has rolled back or reset the context.
//   MG4. No lock is held meanwhile, so other contexts may save again. After `mergeRoundsMax`
//        rounds, the save throws.

internal import PerdurePredicates

/// Saves the changes of a context. Merges conflicting saves of other contexts, and restores the
/// context if the save fails.
final class SaveRun {
  @Shared private var reading: ContextReading
  private let refusal: ChangeRefusal
  private let rebase: PendingRebase
  private let mergeRules: MergeRules
  private let mergeApplication: MergeApplication
  private let saveHooks: SaveHookCaller
  private let reversal: EditReversal
  private let steps: SaveSteps
  private let activity: ContextActivity

  init(
    reading: Shared<ContextReading>, refusal: ChangeRefusal, rebase: PendingRebase,
    mergeRules: MergeRules, mergeApplication: MergeApplication, saveHooks: SaveHookCaller,
    reversal: EditReversal, steps: SaveSteps, activity: ContextActivity
  ) {
    _reading = reading
    self.refusal = refusal
    self.rebase = rebase
    self.mergeRules = mergeRules
    self.mergeApplication = mergeApplication
    self.saveHooks = saveHooks
    self.reversal = reversal
    self.steps = steps
    self.activity = activity
  }

  func save() throws(PerdureError) {
    // Runs at the end, because observers of the parent may edit or save this context.
    defer { (reading.viewState.store as? ParentStore)?.reportCommit() }
    reading.transientState.keepDropped()
    defer { reading.transientState.releaseDropped() }
    saveHooks.checkSaveIsPossible()
    activity.isSaving = true
    defer { activity.isSaving = false }
    try refusal.throwRefusedChanges()
    if !reading.pending.mergedObjects.isEmpty { reading.pending.mergedObjects = [:] }
    if let conflict = try steps.run(isFirst: true) { try merge(conflict) }
  }

  /// The maximum number of merges in one save (MG4).
  static let mergeRoundsMax = 32

  /// Merges and repeats a save that the store has refused.
  ///
  /// - Throws: The reason why the save failed. All changes are then pending as before the merge,
  ///   unless MG3 excludes the restoration.
  private func merge(_ first: StoreConflict) throws(PerdureError) {
    // An error here needs no restoration: nothing has changed yet (MG1).
    let round = try reversal.check(.save) { () throws(PerdureError) in try judge(first) }
    let before = reversal.copy()
    do {
      try mergeAndSave(round)
    } catch {
      // The earlier changes must not be restored if some of them are saved, or if a hook has rolled
      // back or reset the context.
      if error.code == .incompleteSave || !before.isRestorable {
        before.forget()
        throw error
      }
      // A failed read may have caused the error, so its error is thrown instead. The restored
      // changes do not depend on that read.
      let failure = reading.viewState.readFailure
      reversal.restore(before)
      if let failure { throw failure.ofReverted(.save) }
      throw error.isBrokenRule ? refusal(of: first, for: error) : error
    }
    before.forget()
  }

  private func mergeAndSave(_ first: MergeRound) throws(PerdureError) {
    var round = first
    for number in 1... {
      try mergeApplication.apply(round)
      guard let conflict = try steps.run(isFirst: false) else { return }
      if number == Self.mergeRoundsMax { throw .conflict(conflict, in: reading) }
      round = try judge(conflict)
    }
  }

  /// Decides about the conflicts (MG1).
  private func judge(_ conflict: StoreConflict) throws(PerdureError) -> MergeRound {
    if hasNoDetails(conflict) { throw .conflict(conflict, in: reading) }
    return try MergeRound(
      conflict, reading, rebase: rebase, mergeRules: mergeRules)
  }

  /// Whether a conflict has no details, so it cannot be merged.
  private func hasNoDetails(_ conflict: StoreConflict) -> Bool {
    conflict.failed.isEmpty && conflict.duplicates.isEmpty
  }

  /// The error if merged values violate a rule: the original conflict, with the rule as its cause.
  private func refusal(of conflict: StoreConflict, for broken: PerdureError) -> PerdureError {
    let found = PerdureError.conflict(conflict, in: reading)
    var error = PerdureError(
      found.code, "\(found.message) The merged values break a rule: \(broken.message)")
    error.conflicts = found.conflicts
    error.details = broken.details
    error.cause = broken
    return error
  }
}

extension PerdureError {
  /// Whether the error is a violation of rules of the model or of the program's classes.
  fileprivate var isBrokenRule: Bool { !details.isEmpty && (1550..<1700).contains(code.rawValue) }
}

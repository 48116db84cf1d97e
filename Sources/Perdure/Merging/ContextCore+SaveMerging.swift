// A save that conflicts with earlier saves of other contexts: those saves are merged with the
// unsaved changes, and the save is repeated.
//
//   M1. The conflicts are compared with one newest state, object by object, by pure functions
//       (ObjectMerge, PropertyMergeRule). Nothing has changed yet. All remaining conflicts are
//       thrown from there (MergeRound).
//   M2. Then the context advances to that state and applies the decisions (MergeStep). The save
//       begins again with the delete rules, so hooks and validation see the values that will be
//       saved.
//   M3. If the save fails for any reason, the context is restored to its state before the first try
//       (PendingCopy). So a save that fails changes nothing, and can be repeated.
//   M4. No lock is held meanwhile, so other contexts may save again. After some rounds the save
//       throws.

internal import PerdurePredicates

extension ContextCore {
  /// The maximum number of merges in one save (M4).
  static let mergeRoundsMax = 32

  /// Merges and repeats a save that the store has refused.
  ///
  /// - Throws: The reason why it cannot be merged; then all changes are pending as before.
  func saveMerging(_ first: StoreConflict) throws(PerdureError) {
    // An error here needs no restoration: nothing has changed yet (M1).
    let round = try judge(first)
    let before = PendingCopy(reading, eventHub, saving.stores)
    do {
      try mergeAndSave(round)
    } catch {
      if error.code == .incompleteSave {
        before.forget()
      } else {
        let news = editing.recording.excludingFromUndo { before.restore() }
        if eventHub.isObserved { eventHub.tell(news) }
      }
      throw error.isBrokenRule ? refusal(of: first, for: error) : error
    }
    before.forget()
  }

  private func mergeAndSave(_ first: MergeRound) throws(PerdureError) {
    var round = first
    for number in 1... {
      try takeOver(round)
      guard let conflict = try trySave(isFirst: false) else { return }
      if number == Self.mergeRoundsMax { throw .conflict(conflict, in: reading) }
      round = try judge(conflict)
    }
  }

  /// Decides about the conflicts (M1).
  private func judge(_ conflict: StoreConflict) throws(PerdureError) -> MergeRound {
    if isReadFailing(conflict) { throw .conflict(conflict, in: reading) }
    return try MergeRound(
      conflict, reading, rebase: editing.rebase, mergeRules: saving.mergeRules)
  }

  /// Applies the decisions (first half of M2).
  private func takeOver(_ round: MergeRound) throws(PerdureError) {
    moveOn(to: round.newest)
    try editing.recording.excludingFromUndo { () throws(PerdureError) in
      try saving.mergeApplication.take(round.steps)
    }
    for overlay in pending.ordered.joined() where overlay.changesRow && !overlay.isNew {
      editing.rebase.forgetSetBack(overlay)
    }
    editing.linkEditor.findVanished()
    editing.rebase.rebaseDeltas()
    try viewState.throwReadFailure()
  }

  /// Whether a conflict has no details, so it cannot be merged.
  private func isReadFailing(_ conflict: StoreConflict) -> Bool {
    conflict.failed.isEmpty && conflict.duplicates.isEmpty
  }

  /// The error if merged values violate a rule: the original conflict, with the rule as its cause.
  private func refusal(of conflict: StoreConflict, for broken: PerdureError) -> PerdureError {
    let found = PerdureError.conflict(conflict, in: reading)
    var error = PerdureError(
      found.code, "\(found.message) The merged values would break a rule: \(broken.message)")
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

extension ManagedObjectContext {
  /// The behaviour of `save()` when other contexts have saved meanwhile; `MergePolicy.error` unless
  /// it is set. The policy may name only entities and properties of the model; any other name stops
  /// the program.
  public var mergePolicy: MergePolicy {
    get { core.saving.mergeRules.mergePolicy }
    set {
      core.checkOwner()
      newValue.check(core.graph)
      core.saving.mergeRules.mergePolicy = newValue
    }
  }

  /// New objects that the last save merged into others, because a uniqueness constraint does not
  /// allow both. Maps the id of the merged object to the id of the one that has its values and
  /// links now.
  public var mergedObjectIDs: [ManagedObjectID: ManagedObjectID] {
    core.checkOwner()
    return Dictionary(
      uniqueKeysWithValues: core.pending.mergedObjects.keys.map {
        (core.graph.id(of: $0), core.graph.id(of: core.pending.survivor(of: $0)))
      })
  }
}

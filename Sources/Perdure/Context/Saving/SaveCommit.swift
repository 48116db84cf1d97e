// The commit of a save, the state after it, and the instances.
//
// After a save, the instances that the program retains show their saved rows. The bytes are those
// of the commit, so only the versions are read, in one request. If other contexts may have
// committed in between, the rows are read instead, also in one request.

internal import PerdurePredicates

/// Creates the commit of a save, and drops the saved changes.
final class SaveCommit {
  private let viewState: ViewState
  private let pending: PendingChanges
  @Shared private var reading: ContextReading
  private let hooks: ObjectHooks
  private let undoGroups: UndoGroups
  private let mergeRules: MergeRules
  private let ruleValidation: RuleValidation
  private let foreignSaves: ForeignSaves
  private let childIntake: ChildIntake
  private let activity: ContextActivity
  private let durability: Durability

  init(
    reading: Shared<ContextReading>, hooks: ObjectHooks, undoGroups: UndoGroups, mergeRules: MergeRules,
    ruleValidation: RuleValidation, foreignSaves: ForeignSaves, childIntake: ChildIntake,
    activity: ContextActivity, durability: Durability
  ) {
    viewState = reading.viewState
    pending = reading.pending
    _reading = reading
    self.hooks = hooks
    self.undoGroups = undoGroups
    self.mergeRules = mergeRules
    self.ruleValidation = ruleValidation
    self.foreignSaves = foreignSaves
    self.childIntake = childIntake
    self.activity = activity
    self.durability = durability
  }

  /// Plans the commit. If the plan has conflicts, returns it even if rules are violated.
  ///
  /// - Parameter refusals: The violations that the classes' validation has found.
  /// - Throws: The error of a failed read, or all violations.
  func plan(_ refusals: [PerdureError.Detail]) throws(PerdureError) -> SavePlan {
    activity.isPlanning = true
    defer { activity.isPlanning = false }
    var violations: [PerdureError.Detail] = []
    let changed = pending.ordered
    var plan = SavePlan(
      reading, mergeRules, durability: durability, count: changed.reduce(0) { $0 + $1.count })
    // Checks and writes one object after the other, so that each stays in the CPU cache in between.
    for overlay in changed.joined() {
      let count = violations.count
      ruleValidation.addViolations(overlay, to: &violations)
      // A rejected value may not fit the row format.
      if violations.count == count || overlay.fitsRow { plan.add(overlay) }
    }
    plan.watch(foreignSaves.watchedPreconditions)
    plan.finish()
    try viewState.throwReadFailure()
    if plan.conflict != nil { return plan }
    violations.addNew(refusals)
    if !violations.isEmpty { throw .validation(violations) }
    return plan
  }

  /// Commits a change, and moves the context to the state of the commit.
  ///
  /// - Throws: The failure of a store that has committed nothing; then nothing has changed.
  func commit(_ change: StoreChange) throws(PerdureError) -> CommitOutcome {
    viewState.statistics.commitRequestCount += 1
    do {
      let newest = try commitToStore(change)
      let isNext = newest.countsCommits && newest.sequence == viewState.view.sequence + 1
      follow(newest, isNext ? change.puts : nil)
      viewState.watched = [:]
      return .complete
    } catch let conflict as StoreConflict {
      return .refused(conflict)
    } catch let incomplete as IncompleteCommit {
      let failure = PerdureError.incomplete(incomplete, in: reading)
      follow(incomplete)
      return .incomplete(incomplete, failure)
    } catch {
      throw .refusal(error, in: reading)
    }
  }

  /// Moves the context to the state of the commit, and drops the saved changes.
  ///
  /// - Parameter rows: The saved rows, if the new view is the state right after the commit.
  func follow(_ newView: any StoreView, _ rows: WrittenRows?) {
    undoGroups.didSave(pending)
    viewState.view = newView
    undoGroups.didShow(newView)
    reading.layerFollower.dropLayer()
    viewState.vanished = []
    pending.eventStarts = [:]
    viewState.beginEpoch()
    showSavedRows(dropSaved(pending.removeAll()), rows)
    viewState.linksChanged()
  }

  /// Moves the context to the state of an incomplete commit. Drops the saved changes and keeps the
  /// others.
  private func follow(_ incomplete: IncompleteCommit) {
    undoGroups.didSave(pending) { self.isCommitted($0, by: incomplete) }
    viewState.view = incomplete.view
    undoGroups.didShow(incomplete.view)
    pending.eventStarts = pending.eventStarts.filter {
      !isCommitted($0.key, by: incomplete)
    }
    viewState.beginEpoch()
    let saved = pending.removeAll {
      isCommitted(ObjectReference(entity: $0, id: 0), by: incomplete)
    }
    showSavedRows(dropSaved(saved), nil)
    viewState.linksChanged()
  }

  /// Commits a change to the store. A parent context gets the transient values too.
  private func commitToStore(_ change: StoreChange) throws -> any StoreView {
    guard childIntake.changesTransientsOfParent, let parent = viewState.store as? ParentStore else {
      return try viewState.store.commit(change)
    }
    return try parent.commit(change, childIntake.changedTransients())
  }

  func isCommitted(_ reference: ObjectReference, by incomplete: IncompleteCommit) -> Bool {
    incomplete.committed.contains(reading.graph.place(ofEntity: reference.entityNumber))
  }

  /// Drops changes that were saved.
  ///
  /// - Returns: The instances that lack their saved rows.
  private func dropSaved(_ all: consuming [[ObjectOverlay]]) -> [SavedInstance] {
    var groups = all
    reading.transientState.forgetLinksBeforeInsertion(of: groups)
    var saved: [SavedInstance] = []
    for position in groups.indices {
      // Moves the array out, so that it is uniquely referenced and shrinks in place.
      var overlays: [ObjectOverlay] = []
      swap(&overlays, &groups[position])
      while let overlay = overlays.popLast() {
        if let instance = dropSaved(overlay) { saved.append(instance) }
      }
    }
    return saved
  }

  private func dropSaved(_ overlay: ObjectOverlay) -> SavedInstance? {
    reading.transientState.dropTransientsBefore(overlay)
    reading.transientState.commitTransientLinks(overlay)
    guard var object = overlay.object else { return nil }
    overlay.object = nil
    if overlay.isDeleted {
      if isKnownUniquelyReferenced(&object) {
        reading.retirement.retire(object)
      } else {
        reading.retirement.retireDeleted(object, overlay)
      }
      return nil
    }
    object.header.pointee.overlay = nil
    guard overlay.changesRow else { return nil }
    // If the row came from a save of another context, the hook for that row may not have been
    // called yet.
    let isHookDue = object.header.pointee.wakefulness.contains(.hookIsDue)
    object.header.pointee.dropRow()
    // With no other reference, the instance is freed when this function returns, and needs no row.
    if isKnownUniquelyReferenced(&object) { return nil }
    return SavedInstance(object: object, isHookDue: isHookDue)
  }

  /// Sets the rows of instances to their saved rows.
  ///
  /// - Parameter rows: The rows of the commit, if the view is the state right after it.
  private func showSavedRows(_ instances: [SavedInstance], _ rows: WrittenRows?) {
    if instances.isEmpty { return }
    do {
      if let rows { try reading.rows.takeRows(instances, rows) } else { try reading.rows.readRows(instances) }
    } catch {
      // Instances without a row report the error when they are used, or immediately if they are
      // `awake`.
    }
    for instance in instances where instance.object.isAwake && !instance.isHookDue {
      if reading.rows.loadRow(of: instance.object) { hooks.stayAwake(instance.object) }
    }
  }
}

/// An instance whose row was saved.
struct SavedInstance {
  let object: ManagedObject
  /// Whether the hook for its row before the save was not called (OH1 in ObjectHooks.swift).
  let isHookDue: Bool
}

/// The result of a commit.
enum CommitOutcome {
  case complete
  /// The store has refused the change because of saves of other contexts. Nothing has changed.
  case refused(StoreConflict)
  /// Only some of several stores have committed. The error is that of the save.
  case incomplete(IncompleteCommit, PerdureError)
}

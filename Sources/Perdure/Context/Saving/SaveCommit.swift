// The commit of a save, and the instances after it.
//
// After a save, the instances that the program retains show their saved rows. The bytes are those
// of the commit, so only the versions are read, in one request. If other contexts may have
// committed in between, the rows are read instead, also in one request.

internal import PerdurePredicates

/// Creates the commit of a save, and drops the saved changes.
final class SaveCommit {
  private let graph: GraphSchema
  private let viewState: ViewState
  private let pending: PendingChanges
  private let transientState: TransientState
  private let reading: ContextReading
  private let editing: ContextEditing
  private let mergeRules: MergeRules
  private let ruleValidation: RuleValidation
  private let foreignSaves: ForeignSaves
  private let childIntake: ChildIntake
  private let activity: ContextActivity
  let durability: Durability

  init(
    reading: ContextReading, editing: ContextEditing, mergeRules: MergeRules,
    ruleValidation: RuleValidation, foreignSaves: ForeignSaves, childIntake: ChildIntake,
    activity: ContextActivity, durability: Durability
  ) {
    graph = reading.graph
    viewState = reading.viewState
    pending = reading.pending
    transientState = reading.transientState
    self.reading = reading
    self.editing = editing
    self.mergeRules = mergeRules
    self.ruleValidation = ruleValidation
    self.foreignSaves = foreignSaves
    self.childIntake = childIntake
    self.activity = activity
    self.durability = durability
  }

  /// Plans the commit, unless a rule is violated.
  ///
  /// - Parameter refusals: The violations that the classes' validation has found.
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

  /// Commits a change to the store. A parent context gets the transient values too.
  func commitToStore(_ change: StoreChange) throws -> any StoreView {
    guard childIntake.changesTransientsOfParent, let parent = viewState.store as? ParentStore else {
      return try viewState.store.commit(change)
    }
    return try parent.commit(change, childIntake.changedTransients())
  }

  func isCommitted(_ reference: ObjectReference, by incomplete: IncompleteCommit) -> Bool {
    incomplete.committed.contains(graph.place(ofEntity: reference.entityNumber))
  }

  /// Drops changes that were saved.
  ///
  /// - Returns: The instances that lack their saved rows.
  func settle(_ all: consuming [[ObjectOverlay]]) -> [SavedInstance] {
    var groups = all
    var saved: [SavedInstance] = []
    for position in groups.indices {
      // Moves the array out, so that it is uniquely referenced and shrinks in place.
      var overlays: [ObjectOverlay] = []
      swap(&overlays, &groups[position])
      while let overlay = overlays.popLast() {
        if let instance = settle(overlay) { saved.append(instance) }
      }
    }
    return saved
  }

  func settle(_ overlay: ObjectOverlay) -> SavedInstance? {
    transientState.dropTransientsBefore(overlay)
    transientState.settleTransientLinks(overlay)
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
    // If another context has saved the row before, its hook has not been called yet.
    let isDrowsy = object.header.pointee.wakefulness.contains(.drowsy)
    object.header.pointee.dropRow()
    // With no other reference, the instance is freed at the end of this iteration and needs no row.
    if isKnownUniquelyReferenced(&object) { return nil }
    return SavedInstance(object: object, isDrowsy: isDrowsy)
  }

  /// Sets the rows of instances to their saved rows.
  ///
  /// - Parameter rows: The rows of the commit, if the view is the state right after it.
  func showSavedRows(_ instances: [SavedInstance], _ rows: WrittenRows?) {
    if instances.isEmpty { return }
    do {
      if let rows { try reading.rows.takeRows(instances, rows) } else { try reading.rows.readRows(instances) }
    } catch {
      // Instances without a row report the error when they are used, or immediately if they are
      // `awake`.
    }
    for instance in instances where instance.object.isAwake && !instance.isDrowsy {
      if reading.rows.loadRow(of: instance.object) { editing.hooks.stayAwake(instance.object) }
    }
  }
}

/// An instance whose row was saved.
struct SavedInstance {
  let object: ManagedObject
  /// Whether the hook for its row before the save was not called (W1 in ObjectHooks.swift).
  let isDrowsy: Bool
}

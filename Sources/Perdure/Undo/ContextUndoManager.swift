// The undo manager of a context: the public interface of undo. EditRecorder selects the group of
// each edit, UndoHistory has the stacks, and UndoApplication undoes a group.

/// Undoes and redoes edits of a context.
///
///     context.undoManager = ContextUndoManager()
///     context.undoGroup("Rename") { person.name = "Ada" }
///     try context.undo()  // the earlier name
///     try context.redo()  // "Ada"
///
/// An undo group contains all edits of one closure that was passed to `undoGroup`. The edits that
/// an event makes outside of such closures are another group. An event ends with
/// `processPendingChanges()`, a save, a `perform`, an undo, a redo, the end of such a closure, or
/// the save of a child context. In a hook or an observer, the end of a closure and the save of a
/// child do not end the event. The end of an event calls the observers of the context. An undo is
/// itself an unsaved edit of the context, and the next save validates it. An undo can revert edits
/// that were already saved.
///
/// An undo restores attributes (including composite and transient ones), links, and positions in
/// ordered relationships. It restores deleted objects with their ids, including those that delete
/// rules have deleted. If the program still retains an instance of such an object, that instance
/// represents the object again. A group consists of values and references, and does not keep
/// managed objects alive. But it retains earlier values of transient attributes of any type, except
/// managed objects.
///
/// A rollback removes the groups that were added after the last save, and restores the groups that
/// were undone after it. A reset removes all groups. Merges, refreshes and rollbacks cannot be
/// undone.
///
/// The manager belongs to one context and must be used in its isolation. By default a context has
/// no manager. Each edit then costs one additional test of a pointer.
public final class ContextUndoManager {
  var history: UndoHistory
  /// Undoes groups of the context; nil if the manager belongs to no context.
  private weak var context: UndoApplication?
  private var madeRecorder: EditRecorder?
  private let observers = ObserverList<ContextUndoManager>()
  /// The number of running operations during which no observer is called.
  private var reportsHeld = 0
  private var hasHeldReport = false

  /// Creates a manager for one context.
  ///
  /// - Parameters:
  ///   - levelsOfUndo: The maximum number of groups; 0 for no limit.
  ///   - byteLimit: The approximate maximum size of all groups in bytes; 0 for no limit. A larger
  ///     group is discarded.
  public init(levelsOfUndo: Int = 1000, byteLimit: Int = 64 << 20) {
    history = UndoHistory(levelsMax: max(0, levelsOfUndo), byteCountMax: max(0, byteLimit))
  }

  /// The maximum number of groups; 0 for no limit. If there are more, the oldest are removed.
  public var levelsOfUndo: Int {
    get { history.levelsMax }
    set { change { history.levelsMax = max(0, newValue) } }
  }

  /// The approximate maximum size of all groups in bytes; 0 for no limit. If they are larger, the
  /// oldest groups are removed.
  public var byteLimit: Int {
    get { history.byteCountMax }
    set { change { history.byteCountMax = max(0, newValue) } }
  }

  /// Whether there is a group to undo, including the group of the current event.
  public var canUndo: Bool {
    context != nil && (madeRecorder?.hasEventEdits == true || history.last(.undo) != nil)
  }

  /// Whether there is a group to redo. After the next edit that can be undone there is none.
  public var canRedo: Bool {
    context != nil && madeRecorder?.hasEventEdits != true && history.last(.redo) != nil
  }

  /// The number of groups that can be undone. The group of the current event does not count.
  public var undoCount: Int { history.count(.undo) }

  /// The number of groups that can be redone.
  public var redoCount: Int { history.count(.redo) }

  /// The name of the next group to undo; empty if there is no group or it has no name.
  public var undoActionName: String {
    if !canUndo { return "" }
    if let recorder = madeRecorder, recorder.hasEventEdits { return recorder.eventName }
    return history.last(.undo)?.name ?? ""
  }

  /// The name of the next group to redo; empty if there is no group or it has no name.
  public var redoActionName: String { canRedo ? history.last(.redo)?.name ?? "" : "" }

  /// Names the group of the running closure or of the current event. If the event has no edits,
  /// names the last group that can be undone, even if it was saved. Groups that can be redone keep
  /// their names.
  ///
  /// - Parameter name: The name for menus; empty for none.
  public func setActionName(_ name: String) {
    if madeRecorder?.setName(name) == true { return }
    change { history.setLastName(name) }
  }

  /// Undoes the last group; does nothing if there is none. Ends the event: observers of the context
  /// are called before the function returns or throws. A call inside of `undoGroup` or
  /// `withoutUndo`, or by a hook of a save, a deletion, a refresh or a merge, stops the program.
  ///
  /// - Parameter policy: How to treat values that were changed after the group's edits.
  /// - Throws: `PerdureError` 139003 with all `undoConflicts`, if the policy is `.refuse` and
  ///   values have changed; 134060 if the store could not be read; 134070 if the context shows a
  ///   state before its last save (`setQueryGeneration`). Then nothing is undone, and the group
  ///   stays, so `undo` can be called again. Exception: after 134060, the context demands a
  ///   rollback if it demanded one before the call, or if its hooks have saved during the call.
  /// - Complexity: O(k log n) for k changes in a store of n objects. If an object of the group does
  ///   not exist, also O(c) for c changes in all groups. If the group has inserted objects, or
  ///   another context has removed an object that the undo restores, also O(u) for u objects with
  ///   unsaved changes.
  public func undo(_ policy: UndoConflictPolicy = .refuse) throws(PerdureError) {
    try context?.revertLastGroup(.undo, policy)
  }

  /// Redoes the last undone group; does nothing if there is none. Ends the event as `undo` does.
  ///
  /// - Parameter policy: As for `undo`.
  /// - Throws: As `undo`.
  /// - Complexity: As `undo`.
  public func redo(_ policy: UndoConflictPolicy = .refuse) throws(PerdureError) {
    try context?.revertLastGroup(.redo, policy)
  }

  /// Removes all groups, including the group of the current event. The changes in the context stay.
  public func removeAllActions() {
    change {
      history.removeAll()
      madeRecorder?.forgetEdits()
    }
  }

  /// Calls a closure when `canUndo`, `canRedo` or an action name may have changed, so that the
  /// program can update its menus. Causes are the end of a group, a new name for a complete group,
  /// an undo, a redo, and a removal of groups.
  ///
  /// - Returns: The observation. The closure is called until the observation is cancelled or
  ///   released.
  public func observe(_ observer: @escaping (ContextUndoManager) -> Void) -> ContextObservation {
    observers.add(observer)
  }
}

@available(*, unavailable)
extension ContextUndoManager: Sendable {}

// MARK: - For the context

extension ContextUndoManager {
  /// The recorder of the context's edits. The manager must belong to a context.
  var recorder: EditRecorder {
    guard let madeRecorder else { preconditionFailure("The undo manager does not belong to a context.") }
    return madeRecorder
  }

  /// The number of the last complete group; 0 without a context.
  var lastGroupNumber: UInt64 { madeRecorder?.lastGroupNumber ?? 0 }

  /// The groups that can be undone or redone; the last one is the next.
  func groups(_ direction: UndoHistory.Direction) -> [UndoGroup] { history.groups(direction) }

  func attach(to other: UndoApplication, _ memory: UnsafeMutablePointer<ObjectMemory>) {
    if let context, context !== other {
      stop("The undo manager belongs to another context. Make one for each context.")
    }
    // After its context was freed, a manager may still have groups with objects of that context's
    // store.
    if context == nil, undoCount + redoCount > 0 || history.savedSequence > 0 {
      change { history.removeAll() }
    }
    context = other
    madeRecorder = EditRecorder(memory, lastGroupNumber: lastGroupNumber) { [unowned self] change in
      let count = undoCount + redoCount
      change(&history)
      // An edit is running, so the observers are called at the end of the event.
      if undoCount + redoCount != count { hasHeldReport = true }
    }
  }

  func detach() {
    abandon()
    change { history.removeAll() }
  }

  /// Detaches the manager from a context whose handle was freed. Its groups exist until the manager
  /// is freed or gets another context, but cannot be undone.
  func abandon() {
    context = nil
    madeRecorder = nil
  }

  /// Adds a group that has ended to the history, unless it has no changes.
  func complete(_ group: OpenUndoGroup, _ contents: ContentReader) {
    let complete = completed(group, contents)
    let savedPart = part(group.savedChanges(), of: group)
    if complete == nil, savedPart == nil { return }
    change { history.add(complete, savedPart: savedPart) }
  }

  private func completed(_ group: OpenUndoGroup, _ contents: ContentReader) -> UndoGroup? {
    group.readContents(contents)
    return part(group.changes(), of: group)
  }

  /// Changes of a group; nil if there are none.
  private func part(_ changes: [UndoGroup.Change], of group: OpenUndoGroup) -> UndoGroup? {
    if changes.isEmpty { return nil }
    let number = group.number ?? recorder.lastGroupNumber + 1
    group.number = number
    recorder.lastGroupNumber = max(recorder.lastGroupNumber, number)
    return UndoGroup(name: group.name, changes: changes, number: number)
  }

  /// Undoes or redoes the last group by `body`, and adds the group of the reverse edits to the
  /// other stack. If a read has failed, adds no group: the caller restores the groups.
  ///
  /// - Parameter body: Makes the changes. Returns the changes that earlier groups of the stack get.
  func revertLastGroup(
    _ direction: UndoHistory.Direction, _ contents: ContentReader, _ body: () -> [UndoGroup.Change]
  ) {
    guard let group = history.removeLast(direction) else { return }
    let recorder = recorder
    recorder.beginClosure(group.name)
    let deferred = body()
    // A hook may have detached the manager from the context.
    guard recorder === madeRecorder, let inverse = recorder.endClosure() else { return }
    let complete = completed(inverse, contents)
    if contents.hasFailed { return }
    change {
      history.addToDeletions(deferred, direction)
      guard let complete else { return }
      // If a hook has saved during `body`, `UndoHistory.saved` has neither of the two groups.
      history.put(complete, direction == .undo ? .redo : .undo, isSaved: inverse.isSaved)
    }
  }

  /// Marks the groups as saved.
  ///
  /// - Parameter isSaved: Whether the save has saved the changes of an object; nil for all.
  func didSave(_ contents: ContentReader, _ isSaved: ((ObjectReference) -> Bool)?) {
    change {
      madeRecorder?.didSave(contents, isSaved)
      if let isSaved { history.didSave(isSaved) } else { history.didSave() }
    }
  }

  /// Replaces new objects that a save has merged into others.
  func replace(_ merged: MergedReferences) {
    history.replace(merged)
    madeRecorder?.replace(merged)
  }

  func rollBack() {
    change {
      madeRecorder?.forgetEdits(keepsSaved: true)
      history.rollBack()
    }
  }

  /// The groups at one time.
  struct Copy {
    fileprivate let history: UndoHistory
    fileprivate let open: EditRecorder.Copy?
  }

  var copy: Copy { Copy(history: history, open: madeRecorder?.copy) }

  func restore(_ copy: Copy) {
    change {
      history.restore(copy.history)
      if let open = copy.open { madeRecorder?.restore(open) }
    }
  }

  private func change(_ body: () -> Void) {
    body()
    hasHeldReport = true
    callObservers()
  }

  /// The violations of the groups' invariants, for tests.
  var brokenInvariants: [String] {
    history.brokenInvariants + (madeRecorder?.brokenInvariants ?? [])
  }

  /// Delays the calls of observers: edits that an observer makes between the plan and the end of a
  /// save are lost.
  func holdReports() { reportsHeld += 1 }

  func releaseReports() {
    reportsHeld -= 1
    callObservers()
  }

  /// Calls the observers, if there are changes that were not reported to them.
  func callObservers() {
    guard reportsHeld == 0, hasHeldReport else { return }
    hasHeldReport = false
    observers.call(self)
  }
}

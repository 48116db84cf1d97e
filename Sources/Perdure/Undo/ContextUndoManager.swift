// The undo manager of a context: what programs use. The parts are EditRecorder (which group an edit
// belongs to), UndoHistory (the stacks) and ContextCore+Undo (how a group is taken back).

/// Takes back edits of a context, and makes them again.
///
///     context.undoManager = ContextUndoManager()
///     context.undoGroup("Rename") { person.name = "Ada" }
///     try context.undo()  // the earlier name
///     try context.redo()  // "Ada"
///
/// An undo group has all edits of one closure of `undoGroup`. Edits outside of such closures belong
/// to the group of their event, which ends with `processPendingChanges()`, a save, a `perform`, an
/// undo, and the next closure. An undo changes the context like any other edit: it is pending until
/// the next save, is validated by it, and can take back saved edits.
///
/// Values, links, positions in ordered relationships, composite and transient attributes are
/// restored, and objects with their ids: also those that delete rules have removed. An instance
/// that the program still holds is the object's instance again. A group holds values and references
/// and keeps no object alive. What a transient attribute of any type has held is kept, unless it is
/// a managed object.
///
/// A rollback removes the groups since the last save, and brings back those that were undone since.
/// A reset removes all groups. Merges, refreshes and rollbacks cannot be undone.
///
/// The manager belongs to one context and is used in its isolation. A context without one, which is
/// the default, pays for a test at each change.
public final class ContextUndoManager {
  var history: UndoHistory
  private(set) weak var context: ContextCore?
  private var madeRecorder: EditRecorder?
  private var lastNumber: UInt64 = 0
  /// Where the group belongs that takes edits of the event again.
  private var continued: UndoHistory.Direction?
  private let observers = ObserverList<ContextUndoManager>()

  /// A manager for one context.
  ///
  /// - Parameters:
  ///   - levelsOfUndo: How many groups are kept at most; 0 for any number.
  ///   - byteLimit: How many bytes the groups take at most, about; 0 for any number. A larger group
  ///     is not kept.
  public init(levelsOfUndo: Int = 1000, byteLimit: Int = 64 << 20) {
    history = UndoHistory(levelsMax: max(0, levelsOfUndo), byteCountMax: max(0, byteLimit))
  }

  /// How many groups are kept at most; 0 for any number. Beyond that the oldest are removed.
  public var levelsOfUndo: Int {
    get { history.levelsMax }
    set { change { history.levelsMax = max(0, newValue) } }
  }

  /// How many bytes the groups take at most, about; 0 for any number. Beyond that the oldest groups
  /// are removed.
  public var byteLimit: Int {
    get { history.byteCountMax }
    set { change { history.byteCountMax = max(0, newValue) } }
  }

  /// Whether `undo` has a group to take back, that of the current event included.
  public var canUndo: Bool {
    context != nil && (madeRecorder?.hasEventEdits == true || history.last(.undo) != nil)
  }

  /// Whether `redo` has a group. The next edit ends this.
  public var canRedo: Bool {
    context != nil && madeRecorder?.hasEventEdits != true && history.last(.redo) != nil
  }

  /// The number of groups that can be undone, without that of the current event.
  public var undoCount: Int { history.count(.undo) }

  /// The number of groups that can be redone.
  public var redoCount: Int { history.count(.redo) }

  /// The name of the group that `undo` takes back; empty if it has none.
  public var undoActionName: String {
    if let recorder = madeRecorder, recorder.hasEventEdits { return recorder.eventName }
    return history.last(.undo)?.name ?? ""
  }

  /// The name of the group that `redo` makes again; empty if it has none.
  public var redoActionName: String { canRedo ? history.last(.redo)?.name ?? "" : "" }

  /// Names the group of the current event or closure.
  public func setActionName(_ name: String) { madeRecorder?.setName(name) }

  /// Takes back the last group; does nothing if there is none.
  ///
  /// - Parameter policy: What to do about values that have changed since the group.
  /// - Throws: `PerdureError`. With `.refuse`: 139003 with all `undoConflicts`. 134060 if a row
  ///   could not be read. Nothing is changed then, and the group stays.
  /// - Complexity: O(k log n) for k changes in a store of n objects.
  public func undo(_ policy: UndoConflictPolicy = .refuse) throws(PerdureError) {
    try context?.takeBack(.undo, policy)
  }

  /// Makes the last undone group again; does nothing if there is none.
  ///
  /// - Parameter policy: As for `undo`.
  /// - Throws: As `undo`.
  /// - Complexity: As `undo`.
  public func redo(_ policy: UndoConflictPolicy = .refuse) throws(PerdureError) {
    try context?.takeBack(.redo, policy)
  }

  /// Forgets all groups, and the edits of the current event. The context keeps its changes.
  public func removeAllActions() {
    change {
      continued = nil
      history.removeAll()
      madeRecorder?.forgetEdits()
    }
  }

  /// Calls a closure whenever `canUndo`, `canRedo` or a name may have changed: after a group has
  /// ended, after an undo or a redo, and after groups were removed. For menus.
  ///
  /// - Returns: What keeps the observer. It ends with that.
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
    guard let madeRecorder else { preconditionFailure("The undo manager belongs to no context.") }
    return madeRecorder
  }

  /// The number of the last group that was completed; it grows with each.
  var lastGroupNumber: UInt64 { lastNumber }

  func attach(to core: ContextCore) {
    if let context, context !== core {
      stop("The undo manager belongs to another context. Make one for each context.")
    }
    context = core
    madeRecorder = EditRecorder(core.memory)
  }

  func detach() {
    abandon()
    change { history.removeAll() }
  }

  /// The context ends. The groups stay until the manager ends, and cannot be undone.
  func abandon() {
    context = nil
    madeRecorder = nil
  }

  /// A group has ended.
  func complete(_ group: OpenUndoGroup, _ core: ContextCore) {
    let direction = continued
    continued = nil
    let complete = completed(group, core)
    if complete == nil, direction == nil { return }
    change {
      guard let complete else { return }
      if let direction {
        history.put(complete, direction)
      } else {
        history.add(complete, isSaved: group.isSaved)
      }
    }
  }

  private func completed(_ group: OpenUndoGroup, _ core: ContextCore) -> UndoGroup? {
    group.settle(core)
    let changes = group.changes()
    if changes.isEmpty { return nil }
    lastNumber += 1
    return UndoGroup(name: group.name, changes: changes, number: lastNumber)
  }

  /// Edits of the event belong to the last group from now on, if a save has not ended it.
  func continueLastGroup() {
    guard let direction = history.lastDirection, let group = history.removeLast(direction) else { return }
    continued = direction
    recorder.continueInEvent(group)
  }

  /// Takes back the last group, and keeps what takes that back.
  func takeBack(_ direction: UndoHistory.Direction, _ core: ContextCore, _ body: () -> Void) {
    guard let group = history.removeLast(direction) else { return }
    recorder.beginClosure(group.name)
    body()
    guard let inverse = recorder.endClosure() else { return }
    let complete = completed(inverse, core)
    change {
      if let complete { history.put(complete, direction == .undo ? .redo : .undo) }
    }
  }

  func didSave() {
    change {
      madeRecorder?.didSave()
      history.didSave()
    }
  }

  func rollBack() {
    change {
      continued = nil
      madeRecorder?.forgetEdits(keepsSaved: true)
      history.rollBack()
    }
  }

  private func change(_ body: () -> Void) {
    body()
    observers.call(self)
  }
}

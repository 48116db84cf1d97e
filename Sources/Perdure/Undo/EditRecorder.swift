// Which undo group an edit belongs to.
//
// Every edit of a context names the place that it is about to change. While the context has an undo
// manager, the edit goes to one open group:
//
//   1. that of the running closure of `undoGroup`, which cannot be interrupted;
//   2. that of the task whose asynchronous closure is running, where there is one;
//   3. that of the event, which begins with the first edit that belongs to no other group.
//
// Edits inside `withoutUndo`, and those of merges, refreshes and rollbacks, belong to no group. The
// open groups know the places that they change (`OpenUndoGroup.seal`), and do not count these edits
// as their own.
//
// Invariants:
//   ER1. `ObjectMemory.recordingGroup` is a number that no other interval between two changes of
//        the group has, or 0 while the group differs from task to task. An overlay that has the
//        number and a slot has reported it to the recorder (`ObjectOverlay.record`).

internal import PerdurePredicates

/// Takes the edits of a context, for its undo manager.
final class EditRecorder {
  private let memory: UnsafeMutablePointer<ObjectMemory>
  private var lastInterval: UInt32 = 0
  // Not checked for exclusivity at run time: each edit accesses them several times, and no access
  // lasts longer than an assignment.
  @exclusivity(unchecked) private var eventGroup: OpenUndoGroup?
  /// The group of the running closure, and how many closures are running.
  @exclusivity(unchecked) private var closureGroup: OpenUndoGroup?
  private var closureDepth = 0
  /// The groups of asynchronous closures, by their tokens.
  @exclusivity(unchecked) private var taskGroups: [ObjectIdentifier: OpenUndoGroup] = [:]
  @exclusivity(unchecked) private var exclusionDepth = 0

  init(_ memory: UnsafeMutablePointer<ObjectMemory>) {
    self.memory = memory
    beginInterval()
  }

  /// Whether the group differs from task to task.
  var hasTaskGroups: Bool { !taskGroups.isEmpty }

  /// Whether a closure of the current task is running.
  var isInGroup: Bool { closureDepth > 0 || taskGroup != nil }

  var hasEventEdits: Bool { eventGroup?.isEmpty == false }

  var eventName: String { eventGroup?.name ?? "" }

  // MARK: Edits

  /// Notes that a place is about to be edited.
  ///
  /// - Parameter before: What the place holds.
  func note(_ place: EditedPlace, _ before: () -> EditedContent) {
    let group = currentGroup()
    // Usually no other group is open: the event ends when a closure begins. But an observer of the
    // manager may edit the context then.
    if !taskGroups.isEmpty || exclusionDepth > 0 || closureGroup != nil && eventGroup != nil {
      for other in openGroups where other !== group { other.seal(place, before) }
    }
    group?.note(place, before)
  }

  /// Whether the current group has inserted an object (UG3 in UndoGroup.swift).
  func hasInserted(_ reference: ObjectReference) -> Bool {
    taskGroups.isEmpty && currentGroup()?.hasInserted(reference) == true
  }

  private var openGroups: [OpenUndoGroup] {
    var groups = Array(taskGroups.values)
    if let eventGroup { groups.append(eventGroup) }
    if let closureGroup, !groups.contains(where: { $0 === closureGroup }) { groups.append(closureGroup) }
    return groups
  }

  private var taskGroup: OpenUndoGroup? {
    if taskGroups.isEmpty { return nil }
    var token = UndoTask.token
    while let current = token {
      if let group = taskGroups[ObjectIdentifier(current)] { return group }
      token = current.outer
    }
    return nil
  }

  private func currentGroup() -> OpenUndoGroup? {
    if exclusionDepth > 0 { return nil }
    if let group = closureGroup ?? taskGroup { return group }
    if let eventGroup { return eventGroup }
    let group = OpenUndoGroup(name: "")
    eventGroup = group
    return group
  }

  /// ER1.
  private func beginInterval() {
    lastInterval &+= 1
    if lastInterval == 0 { lastInterval = 1 }
    memory.pointee.recordingGroup = taskGroups.isEmpty ? lastInterval : 0
  }

  // MARK: Groups

  func beginClosure(_ name: String) {
    closureDepth += 1
    guard closureDepth == 1 else { return }
    closureGroup = taskGroup ?? OpenUndoGroup(name: name)
    beginInterval()
  }

  /// - Returns: The group that has ended; nil if the closure belongs to another group.
  func endClosure() -> OpenUndoGroup? {
    // The closure has begun before the recorder was there.
    guard closureDepth > 0 else { return nil }
    closureDepth -= 1
    guard closureDepth == 0, let group = closureGroup else { return nil }
    closureGroup = nil
    beginInterval()
    return group === taskGroup ? nil : group
  }

  /// The task must have no group of this context yet.
  func beginTask(_ name: String, _ token: UndoTask) {
    taskGroups[ObjectIdentifier(token)] = OpenUndoGroup(name: name)
    beginInterval()
  }

  func endTask(_ token: UndoTask) -> OpenUndoGroup? {
    let group = taskGroups.removeValue(forKey: ObjectIdentifier(token))
    beginInterval()
    return group
  }

  /// The group of the event, which ends.
  func endEvent() -> OpenUndoGroup? {
    guard let group = eventGroup else { return nil }
    eventGroup = nil
    beginInterval()
    return group
  }

  /// Edits of the event belong to an earlier group from now on.
  func continueInEvent(_ group: UndoGroup) {
    eventGroup = OpenUndoGroup(continuing: group)
    beginInterval()
  }

  /// The name of the group that the current edits belong to.
  func setName(_ name: String) { currentGroup()?.name = name }

  // MARK: Exclusion

  func beginExclusion() {
    exclusionDepth += 1
    beginInterval()
  }

  func endExclusion() {
    exclusionDepth -= 1
    beginInterval()
  }

  // MARK: The context moves

  /// Called before the context moves to another state of the store.
  func settle(_ reader: some EditedContentReader) {
    for group in openGroups { group.settle(reader) }
    beginInterval()
  }

  /// Forgets the edits of the open groups.
  ///
  /// - Parameter keepsSaved: Whether groups with edits that a save has saved are left as they are:
  ///   a rollback has taken back their other edits, so that nothing has changed there.
  func forgetEdits(keepsSaved: Bool = false) {
    let kept = { (group: OpenUndoGroup) in keepsSaved && group.isSaved }
    eventGroup = nil
    taskGroups = taskGroups.mapValues { kept($0) ? $0 : OpenUndoGroup(name: $0.name) }
    if let group = closureGroup, !kept(group) {
      closureGroup = taskGroup ?? OpenUndoGroup(name: group.name)
    }
    beginInterval()
  }

  /// A save has succeeded, with the edits of groups that are still open.
  func didSave() {
    for group in openGroups where !group.isEmpty { group.isSaved = true }
  }

  /// An object without links has another reference now.
  func rename(_ old: ObjectReference, _ new: ObjectReference) {
    for group in openGroups { group.rename(old, new) }
  }
}

/// The task of an asynchronous closure of `undoGroup`.
final class UndoTask: Sendable {
  /// That of the innermost closure of the current task.
  @TaskLocal static var token: UndoTask?

  /// The one around it.
  let outer = UndoTask.token
}

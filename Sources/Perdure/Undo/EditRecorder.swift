// Selects the undo group of each edit.
//
// Each edit of a context reports the place that it will change. If the context has an undo manager,
// the edit belongs to one open group:
//
//   1. the group of the running closure of `undoGroup`, if the closure is synchronous;
//   2. otherwise the group of the current task, if an asynchronous closure is running in it;
//   3. otherwise the group of the event. It begins with the first edit outside of closures.
//
// Changes by delete rules that are applied again, after a merge, belong to the group that has
// deleted the object (ReopenedGroups.swift). Changes by the hooks of a save belong to the groups of
// their objects (HookGroups.swift).
//
// Edits inside `withoutUndo`, and those of merges, refreshes and rollbacks, do not belong to any
// group. Before such an edit, an open group that has changed the place reads the content of the
// place (`OpenUndoGroup.seal`).
//
// Invariants:
//   ER1. An interval is the time between two changes of the current group or of the recorder.
//        `ObjectMemory.recordingGroup` is the number of the interval, or 0 while tasks have groups
//        of their own. No two intervals of a context have the same number, even if they belong to
//        different recorders. If an overlay has this number and a slot is marked in it, the overlay
//        has already reported the slot (`ObjectOverlay.record`).

internal import PerdurePredicates

/// Records the edits of a context for its undo manager.
final class EditRecorder {
  private let memory: UnsafeMutablePointer<ObjectMemory>
  // The exclusivity of accesses to these properties is not checked at run time. Each edit accesses
  // them several times, and no access lasts longer than an assignment.
  @exclusivity(unchecked) private var eventGroup: OpenUndoGroup?
  /// The group of the running closure, and the number of nested closures.
  @exclusivity(unchecked) private var closureGroup: OpenUndoGroup?
  private var closureDepth = 0
  /// The groups of asynchronous closures, by their tokens.
  @exclusivity(unchecked) private var taskGroups: [ObjectIdentifier: OpenUndoGroup] = [:]
  @exclusivity(unchecked) private var exclusionDepth = 0

  /// The places whose unsaved edits hide saves of other contexts.
  @exclusivity(unchecked) var hiddenSaves = HiddenSaves()

  /// The deleted object whose delete rules are applied again; nil if there is none.
  @exclusivity(unchecked) private var deletion: ObjectReference?
  private let reopenedGroups: ReopenedGroups
  /// Selects the groups of edits; nil unless the hooks of a save are called.
  @exclusivity(unchecked) private var hookGroups: HookGroups?
  /// The number of the last complete group. A later group has a greater number.
  var lastGroupNumber: UInt64
  /// Changes the completed groups.
  private let changeHistory: (_ change: (inout UndoHistory) -> Void) -> Void

  init(
    _ memory: UnsafeMutablePointer<ObjectMemory>, lastGroupNumber: UInt64,
    changeHistory: @escaping (_ change: (inout UndoHistory) -> Void) -> Void
  ) {
    self.memory = memory
    self.lastGroupNumber = lastGroupNumber
    self.changeHistory = changeHistory
    reopenedGroups = ReopenedGroups(changeHistory: changeHistory)
  }

  /// Whether the group of an edit depends on the current task.
  var hasTaskGroups: Bool { !taskGroups.isEmpty }

  /// Whether the current code runs in a closure of `undoGroup`.
  var isInGroup: Bool { closureDepth > 0 || taskGroup != nil }

  /// Whether the event has edits outside of closures. Its group begins with the first one.
  var hasEventEdits: Bool { eventGroup != nil }

  var eventName: String { eventGroup?.name ?? "" }

  // MARK: Edits

  /// Records that an edit will change a place.
  ///
  /// - Parameters:
  ///   - isSpread: Whether the edit moves a member only to make space for other members.
  ///   - before: Reads the current content of the place.
  func note(_ place: EditedPlace, isSpread: Bool = false, _ before: () -> EditedContent) {
    if let groups = groupsOfHook(place) {
      for other in openGroups + reopenedGroups.open where !groups.contains(where: { $0 === other }) {
        other.seal(place, before)
      }
      for group in groups { group.note(place, isSpread: isSpread, before) }
      return
    }
    let group = currentGroup()
    sealOthers(group, place, isOverlap: group != nil && deletion == nil && !isSpread, before)
    group?.note(place, isSpread: isSpread, before)
  }

  /// Records the insertion of an object.
  ///
  /// - Returns: Whether the current group has inserted it (UG3 in OpenUndoGroup.swift).
  func noteInsertion(_ reference: ObjectReference) -> Bool {
    if let groups = groupsOfHook(.object(reference)) {
      for group in groups { group.noteInsertion(reference) }
      return false
    }
    let group = currentGroup()
    sealOthers(group, .object(reference), isOverlap: group != nil) { .absent }
    group?.noteInsertion(reference)
    return group?.hasInserted(reference) == true
  }

  /// The groups of an edit by a hook of a save; nil for other edits.
  private func groupsOfHook(_ place: EditedPlace) -> [OpenUndoGroup]? {
    guard let hookGroups, exclusionDepth == 0, deletion == nil else { return nil }
    return hookGroups.groups(of: place)
  }

  private func sealOthers(
    _ group: OpenUndoGroup?, _ place: EditedPlace, isOverlap: Bool, _ before: () -> EditedContent
  ) {
    // Usually no other group is open, because the group of the event ends when a closure begins.
    // But an observer of the manager may edit the context at that time.
    if !taskGroups.isEmpty || exclusionDepth > 0 || deletion != nil
      || closureGroup != nil && eventGroup != nil
    {
      for other in openGroups + reopenedGroups.open where other !== group {
        other.seal(place, overlap: isOverlap ? lastGroupNumber : nil, before)
      }
    }
  }

  /// The open groups. The group of a task occurs twice if it is also the group of the running
  /// closure.
  private var openGroups: [OpenUndoGroup] {
    var groups = Array(taskGroups.values)
    if let eventGroup { groups.append(eventGroup) }
    if let closureGroup { groups.append(closureGroup) }
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
    if let deletion { return reopenedGroups.group(ofDeleted: deletion, among: openGroups) }
    if let group = closureGroup ?? taskGroup { return group }
    if let eventGroup { return eventGroup }
    let group = OpenUndoGroup(name: "")
    eventGroup = group
    return group
  }

  /// Whether the changes of delete rules belong to the group of an earlier deletion.
  var isApplyingRulesAgain: Bool { deletion != nil }

  /// Whether edits are recorded as edits of the program. False during an exclusion, and while
  /// delete rules are applied again.
  var recordsNewEdits: Bool { exclusionDepth == 0 && deletion == nil }

  /// Runs a closure that applies the delete rules of an object again. Its changes belong to the
  /// group that has deleted the object, also inside `withoutUndo`.
  func applyRulesAgain(ofDeleted reference: ObjectReference, _ body: () -> Void) {
    let outer = (deletion, exclusionDepth)
    (deletion, exclusionDepth) = (reference, 0)
    beginInterval()
    body()
    (deletion, exclusionDepth) = outer
    beginInterval()
  }

  /// Begins to call the hooks of a save (HookGroups.swift).
  func beginHooks(_ reader: some EditedContentReader) {
    readContents(reader)
    hookGroups = HookGroups(reopenedGroups) { [unowned self] in openGroups }
  }

  /// Runs the hook of an object, if the hooks of a save are called.
  func callHook(of reference: ObjectReference, _ hook: () -> Void) {
    guard let hookGroups else { return hook() }
    let outer = hookGroups.object
    hookGroups.object = reference
    beginInterval()
    hook()
    hookGroups.object = outer
    beginInterval()
  }

  func endHooks(_ reader: some EditedContentReader) {
    hookGroups = nil
    if isAttached { closeReopenedGroups(reader) }
  }

  /// Completes the groups to which delete rules or hooks have added changes.
  func closeReopenedGroups(_ reader: some EditedContentReader) {
    // The groups stay open until the last hook has returned.
    if hookGroups != nil { return }
    if reopenedGroups.open.isEmpty { return reopenedGroups.forget() }
    readContents(reader)
    reopenedGroups.close(before: openGroups)
  }

  /// Replaces the recorded values of a deleted object by those that another context has saved since
  /// the deletion. Called after a commit, while the context still has the deletion. The undo of the
  /// deletion then restores the saved values.
  ///
  /// - Parameter saved: The columns of the stored row.
  func acceptSaved(_ saved: [Int: Value], ofDeleted reference: ObjectReference) {
    guard let group = reopenedGroups.group(ofDeleted: reference, among: openGroups) else { return }
    group.replaceValues(ofRemoved: reference) { slot, value in
      guard let new = saved[slot],
        hiddenSaves.hasReplaced(.value(value), at: .column(reference, slot: slot))
      else { return value }
      return new
    }
  }

  /// Notes that a link did not exist before the deletion of an object, because another context has
  /// removed the link too (HS5).
  func acceptRemoved(_ link: EditedPlace, ofDeleted reference: ObjectReference) {
    reopenedGroups.group(ofDeleted: reference, among: openGroups)?.noteAbsentBefore(link)
  }

  /// Completes the groups that `acceptSaved` and `acceptRemoved` have changed.
  func closeAccepted() {
    if reopenedGroups.open.isEmpty {
      reopenedGroups.forget()
    } else {
      reopenedGroups.close(before: openGroups)
    }
  }

  /// The violations of the open groups' invariants, for tests.
  var brokenInvariants: [String] {
    (openGroups + reopenedGroups.open).flatMap(\.brokenInvariants)
  }

  /// Whether the recorder is that of its context. A hook may have replaced the undo manager.
  private var isAttached: Bool {
    memory.pointee.recorder?.toOpaque() == Unmanaged.passUnretained(self).toOpaque()
  }

  /// Begins a new interval (ER1). Does nothing if the context has another recorder.
  func beginInterval() {
    guard isAttached else { return }
    memory.pointee.beginRecordingInterval(hasNumber: taskGroups.isEmpty)
  }

  // MARK: Groups

  func beginClosure(_ name: String) {
    closureDepth += 1
    guard closureDepth == 1 else { return }
    closureGroup = taskGroup ?? OpenUndoGroup(name: name)
    beginInterval()
  }

  /// - Returns: The group that has ended; nil if the closure belongs to an outer group, which stays
  ///   open.
  func endClosure() -> OpenUndoGroup? {
    // If the context got its recorder after the closure began, no group ends.
    guard closureDepth > 0 else { return nil }
    closureDepth -= 1
    guard closureDepth == 0, let group = closureGroup else { return nil }
    closureGroup = nil
    beginInterval()
    return group === taskGroup ? nil : group
  }

  /// Begins the group of an asynchronous closure. No outer closure of the task may have a group.
  func beginTask(_ name: String, _ token: UndoTask) {
    taskGroups[ObjectIdentifier(token)] = OpenUndoGroup(name: name)
    beginInterval()
  }

  func endTask(_ token: UndoTask) -> OpenUndoGroup? {
    let group = taskGroups.removeValue(forKey: ObjectIdentifier(token))
    beginInterval()
    return group
  }

  /// Ends the group of the event, and returns it.
  func endEvent() -> OpenUndoGroup? {
    guard let group = eventGroup else { return nil }
    eventGroup = nil
    beginInterval()
    return group
  }

  /// Names the group of the running closure. Outside of closures, names the group of the event, if
  /// it has edits.
  ///
  /// - Returns: False if there is no such group.
  func setName(_ name: String) -> Bool {
    let group = closureGroup ?? taskGroup ?? eventGroup
    group?.name = name
    return group != nil
  }

  // MARK: Exclusion

  /// Whether edits of the current code cannot be undone.
  var isExcluding: Bool { exclusionDepth > 0 }

  func beginExclusion() {
    exclusionDepth += 1
    beginInterval()
  }

  func endExclusion() {
    exclusionDepth -= 1
    beginInterval()
  }

  // MARK: Saves, rollbacks and other states of the store

  /// Reads the contents that open groups have not read yet.
  func readContents(_ reader: some EditedContentReader) {
    for group in openGroups + reopenedGroups.open { group.readContents(reader) }
    beginInterval()
  }

  /// Removes the edits from the open groups.
  ///
  /// - Parameter keepsSaved: Whether groups keep the edits that were saved. A rollback has reverted
  ///   the others.
  func forgetEdits(keepsSaved: Bool = false) {
    let kept = { (group: OpenUndoGroup) in
      guard keepsSaved, group.isSaved else { return false }
      group.rollBack()
      return true
    }
    eventGroup = nil
    hiddenSaves.removeAll()
    reopenedGroups.forget()
    // Later edits of a hook that has called a rollback or a reset count as edits of the event.
    hookGroups = nil
    taskGroups = taskGroups.mapValues { kept($0) ? $0 : OpenUndoGroup(name: $0.name) }
    if let group = closureGroup, !kept(group) {
      closureGroup = taskGroup ?? OpenUndoGroup(name: group.name)
    }
    beginInterval()
  }

  /// The open groups with their edits at one time.
  struct Copy {
    fileprivate let (event, closure): (OpenUndoGroup?, OpenUndoGroup?)
    fileprivate let tasks: [ObjectIdentifier: OpenUndoGroup]
    fileprivate let edits: [(group: OpenUndoGroup, copy: OpenUndoGroup.Copy)]
    fileprivate let hiddenSaves: HiddenSaves
  }

  var copy: Copy {
    Copy(
      event: eventGroup, closure: closureGroup, tasks: taskGroups,
      edits: openGroups.map { ($0, $0.copy) }, hiddenSaves: hiddenSaves)
  }

  /// Restores the open groups. The same closures must be running as at the time of the copy.
  func restore(_ copy: Copy) {
    (eventGroup, closureGroup, taskGroups) = (copy.event, copy.closure, copy.tasks)
    for (group, edits) in copy.edits { group.restore(edits) }
    hiddenSaves = copy.hiddenSaves
    beginInterval()
  }

  /// Marks the open groups that have edits as saved, after a save.
  ///
  /// - Parameter isSaved: Whether the save has saved the changes of an object; nil for all.
  func didSave(_ reader: some EditedContentReader, _ isSaved: ((ObjectReference) -> Bool)?) {
    if let isSaved { hiddenSaves.removeAll(of: isSaved) } else { hiddenSaves.removeAll() }
    for group in openGroups { group.didSave(reader, isSaved) }
    beginInterval()
  }

  /// Replaces new objects that a save has merged into others, in the open groups.
  func replace(_ merged: MergedReferences) {
    for group in openGroups { group.replace(merged) }
  }

  /// Replaces the reference of a new object without links. `hiddenSaves` is unchanged, because it
  /// contains only stored objects.
  func rename(_ change: ReferenceChange) {
    for group in openGroups { group.rename(change) }
    reopenedGroups.rename(change)
    hookGroups?.reset()
    changeHistory { $0.rename(change) }
  }
}

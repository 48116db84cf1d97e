// Random edits, undos, redos and saves in one context, while another context and children of the
// context save too. The model has every delete rule, ordered and one-to-one relationships and
// derived values. After a redo, the content of the context must equal the content before the undo.
// After a refusal, it must equal the content before the call. After a save, it must equal the
// content of a new context.

import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Random undo with delete rules, children and another context")
struct RandomUndoRulesTests {
  @Test(
    "Undo and redo restore the earlier content, keep saves of other contexts and report all changes",
    arguments: ConflictCauses.allCases)
  func random(_ causes: ConflictCauses) throws {
    var random = SeededGenerator.forTest("random undo with delete rules, \(causes)").derived("\(causes)")
    let stepCount = 80
    try UndoRulesHooks.$areOn.withValue(causes.areHooksOn) {
      for number in 0..<LongRun.count(6, of: stepCount) {
        let title = "PERDURE_SEED=\(random.origin), \(causes), run \(number)"
        let isWhole = try expectSteps(stepCount, &random) {
          try UndoRulesRun(UndoRulesDesk(title, $0, hasTransients: causes.areOthersSaving), causes)
        }
        guard isWhole else { return }
      }
    }
  }
}

private final class UndoRulesRun: SteppedRun {
  /// A value of a property of an object.
  private struct PropertyValue: Hashable {
    let object: String
    let property: String
    let value: String
  }

  let desk: UndoRulesDesk
  private let causes: ConflictCauses
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let manager = ContextUndoManager()
  private let other: ManagedObjectContext
  /// The content of the context after the last step.
  private var content = UndoRulesContent()
  /// Whether a save has merged objects with the same unique value. Then later undos can conflict.
  private var canConflict = false
  private let childManager = ContextUndoManager()
  private var lastingChild: ManagedObjectContext?
  private var observation: ContextObservation?
  /// The objects that the observer of the context has received.
  private var reported: Set<String> = []
  /// The values that edits of the context have set at some time.
  private var ownValues: Set<PropertyValue> = []
  /// The values that the other context has set, if no save and no undo of the context has replaced
  /// them.
  private var othersValues: Set<PropertyValue> = []

  init(_ desk: UndoRulesDesk, _ causes: ConflictCauses) throws {
    (self.desk, self.causes) = (desk, causes)
    container = try PersistentContainer(
      name: "UndoRules", classes: [UndoCrate.self, UndoLabel.self, UndoParcel.self],
      description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    context.undoManager = manager
    other = container.newContext()
    observation = context.observe { [unowned self] event in
      if event.kind == .willSave { return }
      let objects = event.insertedObjects.union(event.updatedObjects).union(event.deletedObjects)
      for object in objects.union(event.refreshedObjects) { reported.insert(self.desk.name(object)) }
    }
  }

  var random: SeededGenerator {
    get { desk.random }
    set { desk.random = newValue }
  }

  var failure: StepFailure? { desk.failure }

  func step() {
    do {
      let before = content
      let isEdit = try makeStep()
      content = desk.content(context)
      if isEdit { ownValues.formUnion(values(setSince: before, content)) }
      let broken = manager.brokenInvariants + childManager.brokenInvariants
      desk.expect(broken.isEmpty, "\(broken)")
    } catch {
      desk.expect(false, "\(error)")
    }
  }

  /// - Returns: Whether the step may have made edits that an undo manager records, in the context
  ///   or in a child.
  private func makeStep() throws -> Bool {
    if causes.areOthersSaving, desk.random.chance(25) { return try makeStepOfOthers() }
    switch desk.roll(87) {
    case 0..<34:
      try edit()
      return true
    case 34..<58: try takeBack(.undo)
    case 58..<70: try takeBack(.redo)
    case 70..<74: refreshAll()
    case 74..<81: try save()
    case 81..<83:
      try editInChild()
      return true
    case 83..<85:
      desk.note("rolls back")
      context.rollback()
    default: desk.held.removeAll { _ in desk.random.chance(50) }
    }
    return false
  }

  /// A step that can make an undo conflict.
  ///
  /// - Returns: Whether a child has edited objects.
  private func makeStepOfOthers() throws -> Bool {
    switch desk.roll(14) {
    case 0..<4:
      desk.note("edits without undo")
      try context.withoutUndo { try desk.edit(context) }
    case 4..<6:
      guard let object = try desk.pick(ManagedObject.self, context) else { return false }
      let mergesChanges = desk.random.chance(60)
      desk.note("refreshes \(desk.name(object)), merges changes: \(mergesChanges)")
      context.refresh(object, mergeChanges: mergesChanges)
    case 6..<8:
      for _ in 0...desk.roll(4) where !desk.hasFailed { try editInLastingChild() }
      return true
    default: try saveOther()
    }
    return false
  }

  private func refreshAll() {
    desk.note("refreshes all")
    context.refreshAllObjects()
  }

  // MARK: Edits

  private func edit() throws {
    if desk.random.chance(85) {
      desk.note("a group begins")
      try context.undoGroup("group") { for _ in 0...desk.roll(4) { try desk.edit(context) } }
    } else {
      desk.note("an event begins")
      for _ in 0...desk.roll(3) { try desk.edit(context) }
      context.processPendingChanges()
    }
  }

  private func values(setSince before: UndoRulesContent, _ after: UndoRulesContent) -> [PropertyValue] {
    after.objects.flatMap { object, values in
      values.filter { before.objects[object]?[$0.key] != $0.value }
        .map { PropertyValue(object: object, property: $0.key, value: $0.value) }
    }
  }

  /// The save of a child is one group of its parent.
  private func editInChild() throws {
    desk.note("gets a child")
    let child = context.newChildContext()
    for _ in 0...desk.roll(3) { try desk.edit(child) }
    do {
      try child.save()
      desk.note("the child is saved")
    } catch {
      desk.note("the child is not saved: \(error.code)")
    }
  }

  /// A step of a child with an undo manager. The child is used again after edits of its parent.
  private func editInLastingChild() throws {
    let child = lastingChild ?? context.newChildContext()
    lastingChild = child
    child.undoManager = childManager
    switch desk.roll(10) {
    case 0..<4:
      desk.note("the child edits")
      try child.undoGroup("group") { for _ in 0...desk.roll(3) { try desk.edit(child) } }
    case 4..<7: takeBackInChild(desk.roll(3) == 0 ? .redo : .undo, child)
    case 7:
      desk.note("the child refreshes all")
      child.refreshAllObjects()
    case 8:
      desk.note("the child rolls back")
      child.rollback()
    default: saveLastingChild(child)
    }
    _ = desk.content(child)
  }

  private func takeBackInChild(_ direction: UndoHistory.Direction, _ child: ManagedObjectContext) {
    let before = desk.content(child)
    let policy = randomPolicy()
    desk.note("\(direction) in the child, \(policy)")
    do throws(PerdureError) {
      direction == .undo ? try child.undo(policy) : try child.redo(policy)
    } catch {
      checkRefusal(error, policy)
      let difference = before.difference(desk.content(child))
      desk.expect(difference.isEmpty, "a refused \(direction) changes the child: \(difference)")
    }
  }

  private func saveLastingChild(_ child: ManagedObjectContext) {
    child.mergePolicy =
      [.error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump][desk.roll(3)]
    desk.note("the child saves, \(child.mergePolicy)")
    do {
      try child.save()
      child.refreshAllObjects()
      let difference = desk.content(child).withoutTransients.withoutRemovedCrates.difference(
        desk.content(context).withoutTransients.withoutRemovedCrates)
      desk.expect(difference.isEmpty, "the child and its parent differ after a save: \(difference)")
    } catch {
      desk.note("  refused: \(error.code)")
      if desk.random.chance(50) { child.rollback() }
    }
  }

  // MARK: Undo and redo

  private func randomPolicy() -> UndoConflictPolicy { [.refuse, .keepCurrent, .overwrite][desk.roll(3)] }

  private func count(_ direction: UndoHistory.Direction) -> Int {
    direction == .undo ? manager.undoCount : manager.redoCount
  }

  private func call(
    _ direction: UndoHistory.Direction, _ policy: UndoConflictPolicy = .refuse
  ) throws(PerdureError) {
    direction == .undo ? try context.undo(policy) : try context.redo(policy)
  }

  /// The inserted, updated and deleted objects of the context.
  private var changes: [Set<String>] {
    [context.insertedObjects, context.updatedObjects, context.deletedObjects]
      .map { Set($0.map { desk.name($0) }) }
  }

  private func takeBack(_ direction: UndoHistory.Direction) throws {
    let before = content
    let policy = causes.areOthersSaving ? randomPolicy() : .refuse
    let counts = (manager.undoCount, manager.redoCount)
    desk.note("\(direction) of \(counts), \(policy)")
    context.processPendingChanges()
    let old = changes
    reported = []
    do throws(PerdureError) {
      try call(direction, policy)
    } catch {
      checkRefusal(error, policy)
      let difference = before.difference(desk.content(context))
      desk.expect(difference.isEmpty, "a refused \(direction) changes \(difference)")
      return desk.expect(
        counts == (manager.undoCount, manager.redoCount), "a refused \(direction) changes the counts")
    }
    let after = desk.content(context)
    desk.note("  " + before.difference(after))
    let silent = before.changedObjects(after).subtracting(reported)
      .intersection(before.withoutRemovedCrates.changedObjects(after.withoutRemovedCrates))
    desk.expect(silent.isEmpty, "changes of \(silent) were not reported")
    if direction == .undo, policy != .overwrite { checkOthersValues(before, after) }
    // With `.overwrite`, the call may replace values that the other context has set.
    if policy == .overwrite {
      othersValues = othersValues.filter { after.objects[$0.object]?[$0.property] == $0.value }
    }
    if (direction == .undo ? counts.0 : counts.1) == 0 {
      return desk.expect(before == after, "an undo of nothing changes \(before.difference(after))")
    }
    if policy != .keepCurrent, desk.random.chance(40) {
      try takeBackAgain(direction, policy, counts, before: before, after: after, changes: old)
    }
  }

  private func checkRefusal(_ error: PerdureError, _ policy: UndoConflictPolicy) {
    desk.note("  refused: \(error.undoConflicts)")
    desk.expect(error.code == .undoConflict && policy == .refuse, "\(error)")
    desk.expect(!error.undoConflicts.isEmpty, "a refusal without conflicts")
    desk.expect(causes.areOthersSaving || canConflict, "conflicts without a cause: \(error.undoConflicts)")
  }

  /// Checks that values of the other context that were shown before are still shown. Skips values
  /// that an edit of the context has also set at some time.
  private func checkOthersValues(_ before: UndoRulesContent, _ after: UndoRulesContent) {
    for value in othersValues where !ownValues.contains(value) {
      guard before.objects[value.object]?[value.property] == value.value,
        let values = after.objects[value.object],
        !value.value.hasPrefix("#") || after.objects[value.value] != nil
      else { continue }
      desk.expect(
        values[value.property] == value.value, "the saved \(value) is \(values[value.property] ?? "absent")")
    }
  }

  /// Checks that the opposite call restores the content before the first call. Then checks that a
  /// repeated call restores the content after the first call.
  private func takeBackAgain(
    _ direction: UndoHistory.Direction, _ policy: UndoConflictPolicy, _ counts: (Int, Int),
    before: UndoRulesContent, after: UndoRulesContent, changes old: [Set<String>]
  ) throws {
    let opposite: UndoHistory.Direction = direction == .undo ? .redo : .undo
    if count(opposite) == (direction == .undo ? counts.1 : counts.0) {
      return desk.expect(before == after, "\(direction) without a group changes \(before.difference(after))")
    }
    desk.note("  \(opposite)")
    do throws(PerdureError) {
      try call(opposite)
    } catch {
      return desk.expect(
        causes.areOthersSaving && !error.undoConflicts.isEmpty, "\(opposite) is refused: \(error)")
    }
    // Fewer updated objects are right: an undo drops edits that have set a stored value again.
    let added = zip(changes, old).map { $0.subtracting($1) }
    desk.expect(
      added.allSatisfy(\.isEmpty) || causes != .none, "\(opposite) after \(direction) adds changes: \(added)")
    // Whether references to removed crates are shown depends on how the crates were removed.
    let restored = before.withoutRemovedCrates.difference(desk.content(context).withoutRemovedCrates)
    desk.expect(restored.isEmpty, "\(opposite) after \(direction) does not restore \(restored)")
    try call(direction, policy)
    let repeated = after.withoutRemovedCrates.difference(desk.content(context).withoutRemovedCrates)
    desk.expect(repeated.isEmpty, "the second \(direction) differs from the first in \(repeated)")
  }

  // MARK: Saves

  private func saveOther() throws {
    other.refreshAllObjects()
    desk.note("the other context edits")
    let before = desk.content(other)
    for _ in 0...desk.roll(3) { try desk.edit(other) }
    do {
      try other.save()
      desk.note("the other context is saved")
      noteOthersValues(before, desk.content(other))
    } catch {
      desk.note("the other context is not saved: \(error.code)")
      other.rollback()
    }
    if desk.random.chance(50) { refreshAll() }
  }

  /// Notes the values of properties with one value that the other context has changed. The previous
  /// parcel is the other end of `next`, and another object can get it.
  private func noteOthersValues(_ before: UndoRulesContent, _ after: UndoRulesContent) {
    let properties: Set = [
      "name", "count", "weight", "size", "crate", "owner", "next", "follows", "mainLabel",
    ]
    for value in values(setSince: before, after)
    where before.objects[value.object] != nil && properties.contains(value.property) {
      othersValues = othersValues.filter { $0.object != value.object || $0.property != value.property }
      othersValues.insert(value)
    }
  }

  private func save() throws {
    context.mergePolicy = desk.random.pick([
      .error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback,
    ])
    desk.note("saves, \(context.mergePolicy)")
    let before = content
    let undoCount = manager.undoCount
    do {
      try context.save()
    } catch {
      desk.note("  refused: \(error.code) \(error.message)")
      let difference = before.difference(desk.content(context))
      desk.expect(difference.isEmpty || causes.areHooksOn, "a refused save changes \(difference)")
      desk.expect(undoCount <= manager.undoCount, "a refused save removes undo groups")
      if causes.areOthersSaving, desk.random.chance(50) {
        desk.note("  rolls back")
        context.rollback()
      }
      return
    }
    desk.expect(!context.hasChanges || causes.areHooksOn, "the context has changes after a save")
    context.refreshAllObjects()
    let saved = desk.content(context)
    canConflict = canConflict || saved != before
    othersValues = othersValues.filter {
      saved.objects[$0.object].map { [value = $0] in $0[value.property] == value.value } ?? true
    }
    let difference = saved.withoutTransients.difference(
      desk.content(container.newContext()).withoutTransients)
    desk.expect(difference.isEmpty, "a new context differs after a save: \(difference)")
  }
}

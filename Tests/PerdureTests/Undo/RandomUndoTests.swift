// One context on a random model makes random edits, and undoes and redoes them at random. The test
// compares it with plain values that were copied at the end of each group. Children of the context
// save groups into it, and another context saves changes of other objects.

import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Random undo and redo compared with plain values")
struct RandomUndoTests {
  @Test(
    "Undo and redo restore every object, value, link and position, across saves and rollbacks",
    arguments: StoreKind.allCases)
  func random(_ kind: StoreKind) throws {
    var random = SeededGenerator.forTest("random undo")
    let stepCount = 120
    for _ in 0..<LongRun.count(kind == .engine ? 20 : 10, of: stepCount) {
      let world = try UndoWorld(kind, SeededGenerator(seed: random.next()))
      for _ in 0..<stepCount where !world.run.hasFailed { world.step() }
      if world.run.hasFailed { return }
    }
  }
}

private final class UndoWorld {
  /// The states before and after a group.
  private struct Group {
    let before: PartState
    let after: PartState
  }

  private struct Stacks {
    var undo: [Group] = []
    var redo: [Group] = []
  }

  let run: RandomRun
  private let directory: TemporaryDirectory
  private let container: PersistentContainer
  private let kind: StoreKind
  private let editor: PartEditor
  /// A context that changes other objects.
  private let other: PartEditor
  private var othersStored: PartState
  private let manager = ContextUndoManager(levelsOfUndo: 0, byteLimit: 0)
  private var stored: PartState
  private var stacks = Stacks()
  private var savedStacks = Stacks()

  init(_ kind: StoreKind, _ random: SeededGenerator) throws {
    var random = random
    var model = RandomModel(&random, rules: [.cascade])
    if random.chance(50) { model.order(&random) }
    run = RandomRun(model, random)
    self.kind = kind
    directory = try TemporaryDirectory()
    container = try kind.container(model, in: directory)
    stored = PartState(model)
    editor = PartEditor(run, "context", container.newContext(), 0, stored)
    editor.context.undoManager = manager
    editor.context.automaticallyMergesChangesFromParent = run.random.chance(50)
    othersStored = stored
    other = PartEditor(run, "another", container.newContext(), 1, stored)
  }

  private var context: ManagedObjectContext { editor.context }

  func step() {
    do {
      try makeStep()
      try run.check(
        Showing(
          context: context, name: "the context", shown: { [self.editor.state, self.othersStored] },
          stored: { [self.stored, self.othersStored] }))
      checkCounts()
    } catch {
      run.expect(false, "\(error)")
    }
  }

  private func makeStep() throws {
    switch Int.random(in: 0..<100, using: &run.random) {
    case 0..<36: try edit(Int.random(in: 1...4, using: &run.random))
    case 36..<56: try takeBack(.undo)
    case 56..<73: try takeBack(.redo)
    case 73..<83: try save()
    case 83..<86: rollBack()
    case 86..<87: reset()
    case 87..<91: try editInChild()
    case 91..<95: try saveOther()
    case 95..<97:
      run.note("refreshes all")
      context.refreshAllObjects()
    default: editor.held.removeAll { _ in run.random.chance(50) }
    }
  }

  private func edit(_ count: Int) throws {
    let before = editor.state
    let undoCount = manager.undoCount
    run.note("a group begins")
    if run.random.chance(70) {
      try context.undoGroup("group") { for _ in 0..<count { try editor.edit() } }
    } else {
      for _ in 0..<count { try editor.edit() }
      context.processPendingChanges()
    }
    let made = manager.undoCount - undoCount
    run.note("the edits made \(made) groups")
    if made == 0 { return run.expect(editor.state.difference(before) == nil, "edits recorded no group") }
    // New edits remove the groups that could be redone.
    stacks.redo = []
    if made == 1 {
      stacks.undo.append(Group(before: before, after: editor.state))
    } else {
      // Outside of a closure, a deletion processes pending changes, which ends the group of the
      // event (`PartEditor`). The states between these groups are unknown, so all of them are
      // undone.
      for _ in 0..<made { try context.undo() }
      manager.removeAllActions()
      stacks = Stacks()
      savedStacks = Stacks()
      editor.state = before
    }
  }

  private func takeBack(_ direction: UndoHistory.Direction) throws {
    let group = direction == .undo ? stacks.undo.popLast() : stacks.redo.popLast()
    run.note("\(direction) of \(group == nil ? "nothing" : "a group")")
    direction == .undo ? try context.undo() : try context.redo()
    guard let group else { return }
    editor.state = settled(direction == .undo ? group.before : group.after)
    if direction == .undo { stacks.redo.append(group) } else { stacks.undo.append(group) }
  }

  /// An earlier or later state after the saves since then. A stored object that the state lacks is
  /// a pending deletion; a deleted object that is not stored does not exist.
  private func settled(_ state: PartState) -> PartState {
    var state = state
    state.graph.objects = state.graph.objects.filter {
      !$0.value.isDeleted || stored.graph.objects[$0.key] != nil
    }
    for (number, object) in stored.graph.objects where state.graph.objects[number] == nil {
      state.graph.objects[number] = GraphTwin.Object(entity: object.entity, isDeleted: true)
    }
    return state
  }

  private func save() throws {
    let violations = editor.state.graph.violations
    do {
      try context.save()
    } catch {
      run.note("is not saved")
      run.expect(!error.details.isEmpty && !violations.isEmpty, "refused with \(error)")
      return
    }
    run.note("is saved")
    run.expect(violations.isEmpty, "saved in spite of \(violations)")
    editor.state.save()
    stored = editor.state
    savedStacks = stacks
    run.noteSaved(stored)
    let states = [stored, othersStored]
    try run.check(
      Showing(
        context: container.newContext(), name: "a fresh one", shown: { states }, stored: { states }))
  }

  /// A child's save is one group.
  private func editInChild() throws {
    guard kind != .joined, !editor.state.hasDeletions else { return }
    run.note("gets a child")
    let child = PartEditor(run, "child", context.newChildContext(), 0, editor.state)
    let before = editor.state
    for _ in 0..<Int.random(in: 1...4, using: &run.random) { try child.edit() }
    do {
      try child.context.save()
    } catch {
      return run.note("the child is not saved")
    }
    run.note("the child is saved")
    editor.state = child.state
    let undoCount = stacks.undo.count
    if manager.undoCount == undoCount, editor.state.difference(before) == nil { return }
    stacks.redo = []
    stacks.undo.append(Group(before: before, after: editor.state))
  }

  /// Saves changes in another context, to objects that the undo groups never contain.
  private func saveOther() throws {
    run.note("another context saves")
    for _ in 0..<3 { try other.edit() }
    do {
      try other.context.save()
      other.state.save()
    } catch {
      other.context.rollback()
      other.revert(to: othersStored)
    }
    othersStored = other.state
    run.noteSaved(othersStored)
    if context.automaticallyMergesChangesFromParent {
      context.processPendingChanges()
    } else {
      context.refreshAllObjects()
    }
  }

  private func rollBack() {
    run.note("rolls back")
    context.rollback()
    editor.revert(to: stored)
    stacks = savedStacks
  }

  private func reset() {
    run.note("is reset")
    context.reset()
    editor.held = []
    editor.revert(to: stored)
    stacks = Stacks()
    savedStacks = Stacks()
  }

  private func checkCounts() {
    run.expect(
      manager.undoCount == stacks.undo.count && manager.redoCount == stacks.redo.count,
      "the manager has \(manager.undoCount) undo and \(manager.redoCount) redo groups, not \(stacks.undo.count) and \(stacks.redo.count)"
    )
  }
}

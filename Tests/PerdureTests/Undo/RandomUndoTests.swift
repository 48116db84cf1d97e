// One context on a random model makes random edits, and undoes and redoes them at random. The test
// compares it with plain values that were copied at the end of each group. The objects of the
// context are in two parts without links between them. Therefore the groups of two tasks can
// overlap, and each can be undone alone. Children of the context save groups into it, and another
// context saves changes of objects of a third part.

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

/// The two parts of the objects of a context.
private struct Halves {
  var states: [PartState]

  /// The pending deletions of both parts.
  var hasDeletions: Bool { states.contains { $0.hasDeletions } }

  func isEqual(to other: Halves) -> Bool {
    zip(states, other.states).allSatisfy { $0.difference($1) == nil }
  }
}

/// Thrown by the closures of groups that fail.
private struct ClosureFailure: Error {}

private final class UndoWorld {
  /// The state of a part before and after a group.
  private struct Change {
    let before: PartState
    let after: PartState
  }

  /// The changes of a group by part. A group of one task contains one part.
  private typealias Group = [Int: Change]

  private struct Stacks {
    var undo: [Group] = []
    var redo: [Group] = []
  }

  let run: RandomRun
  private let directory: TemporaryDirectory
  private let container: PersistentContainer
  private let kind: StoreKind
  private let context: ManagedObjectContext
  /// The editors of the context, one for each part.
  private let editors: [PartEditor]
  /// The editor of another context. It changes other objects.
  private let other: PartEditor
  private var othersStored: PartState
  private let manager = ContextUndoManager(levelsOfUndo: 0, byteLimit: 0)
  private var stored: Halves
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
    context = container.newContext()
    let empty = PartState(model)
    stored = Halves(states: [empty, empty])
    editors = [
      PartEditor(run, "context", context, 0, empty), PartEditor(run, "context", context, 1, empty),
    ]
    context.undoManager = manager
    context.automaticallyMergesChangesFromParent = run.random.chance(50)
    othersStored = empty
    other = PartEditor(run, "another", container.newContext(), 2, empty)
  }

  private var halves: Halves {
    get { Halves(states: editors.map(\.state)) }
    set { for (editor, state) in zip(editors, newValue.states) { editor.state = state } }
  }

  func step() {
    do {
      try makeStep()
      try run.check(
        Showing(
          context: context, name: "the context", shown: { self.halves.states + [self.othersStored] },
          stored: { self.stored.states + [self.othersStored] }))
      checkCounts()
      run.expect(manager.brokenInvariants.isEmpty, "\(manager.brokenInvariants)")
    } catch {
      run.expect(false, "\(error)")
    }
  }

  private func makeStep() throws {
    switch Int.random(in: 0..<100, using: &run.random) {
    case 0..<28: try edit(Int.random(in: 1...4, using: &run.random))
    case 28..<36: try editInTasks()
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
    default: for editor in editors { editor.held.removeAll { _ in run.random.chance(50) } }
    }
  }

  // MARK: Groups

  private func edit(_ count: Int) throws {
    let before = halves
    let undoCount = manager.undoCount
    run.note("a group begins")
    if run.random.chance(70) {
      try editInClosure(count)
    } else {
      for _ in 0..<count { try makeEdit() }
      context.processPendingChanges()
    }
    let made = manager.undoCount - undoCount
    run.note("the edits made \(made) groups")
    if made == 0 { return run.expect(halves.isEqual(to: before), "edits recorded no group") }
    // New edits remove the groups that could be redone.
    stacks.redo = []
    if made == 1 {
      stacks.undo.append(group(since: before))
    } else {
      // Outside of a closure, a deletion processes pending changes, which ends the group of the
      // event (`PartEditor`). The states between these groups are unknown, so all of them are
      // undone.
      for _ in 0..<made { try context.undo() }
      manager.removeAllActions()
      stacks = Stacks()
      savedStacks = Stacks()
      halves = before
    }
  }

  private func makeEdit() throws { try run.random.pick(editors).edit() }

  private func group(since before: Halves) -> Group {
    Dictionary(
      uniqueKeysWithValues: zip(before.states, halves.states).enumerated().map { part, states in
        (part, Change(before: states.0, after: states.1))
      })
  }

  /// Edits in a closure of a group. A part of the edits may be in an inner closure, and the outer
  /// one may throw at its end.
  private func editInClosure(_ count: Int) throws {
    let innerCount = run.random.chance(40) ? Int.random(in: 0...count, using: &run.random) : 0
    let fails = run.random.chance(20)
    do {
      try context.undoGroup("group") {
        for _ in innerCount..<count { try makeEdit() }
        if innerCount > 0 {
          run.note("an inner group begins")
          try context.undoGroup("inner") { for _ in 0..<innerCount { try makeEdit() } }
        }
        if fails { throw ClosureFailure() }
      }
    } catch is ClosureFailure {
      run.note("the closure of the group throws")
    }
  }

  /// Groups of two tasks overlap. Each task edits another part. The tasks take turns by their
  /// tokens, so that the test is the same in each run.
  private func editInTasks() throws {
    run.note("two tasks begin groups")
    let before = halves.states
    var tasks: [(part: Int, token: UndoTask)] = []
    for part in editors.indices.shuffled(using: &run.random) {
      tasks.append((part, try #require(context.core.editing.undoGroups.beginTask("task \(part)"))))
    }
    while !tasks.isEmpty {
      let place = run.random.pick(tasks.indices)
      let (part, token) = tasks[place]
      if run.random.chance(70) {
        run.note("task \(part)")
        try UndoTask.$token.withValue(token) { try editors[part].edit() }
      } else {
        tasks.remove(at: place)
        endTask(part, token, before[part])
      }
    }
  }

  private func endTask(_ part: Int, _ token: UndoTask, _ before: PartState) {
    let undoCount = manager.undoCount
    context.core.operations.eventEnd.endTask(token)
    let made = manager.undoCount - undoCount
    run.note("task \(part) ends with \(made) groups")
    let after = editors[part].state
    if made == 0 { return run.expect(after.difference(before) == nil, "edits of a task recorded no group") }
    run.expect(made == 1, "the end of a task made \(made) groups")
    stacks.redo = []
    stacks.undo.append([part: Change(before: before, after: after)])
  }

  private func takeBack(_ direction: UndoHistory.Direction) throws {
    let group = direction == .undo ? stacks.undo.popLast() : stacks.redo.popLast()
    run.note("\(direction) of \(group == nil ? "nothing" : "a group")")
    direction == .undo ? try context.undo() : try context.redo()
    guard let group else { return }
    for (part, change) in group {
      editors[part].state = stateAfter(direction == .undo ? change.before : change.after, part)
    }
    if direction == .undo { stacks.redo.append(group) } else { stacks.undo.append(group) }
  }

  /// Adapts an earlier or later state of a part to the stored state. A stored object that the state
  /// lacks becomes a pending deletion. A deleted object that is not stored is removed.
  private func stateAfter(_ state: PartState, _ part: Int) -> PartState {
    let stored = stored.states[part].graph.objects
    var state = state
    state.graph.objects = state.graph.objects.filter { !$0.value.isDeleted || stored[$0.key] != nil }
    for (number, object) in stored where state.graph.objects[number] == nil {
      state.graph.objects[number] = GraphTwin.Object(entity: object.entity, isDeleted: true)
    }
    return state
  }

  // MARK: Saves

  private func save() throws {
    let violations = editors.flatMap { $0.state.graph.violations }
    do {
      try context.save()
    } catch {
      run.note("is not saved")
      run.expect(!error.details.isEmpty && !violations.isEmpty, "refused with \(error)")
      return
    }
    run.note("is saved")
    run.expect(violations.isEmpty, "saved in spite of \(violations)")
    for editor in editors { editor.state.save() }
    stored = halves
    savedStacks = stacks
    for state in stored.states { run.noteSaved(state) }
    let states = stored.states + [othersStored]
    try run.check(
      Showing(
        context: container.newContext(), name: "a fresh one", shown: { states }, stored: { states }))
  }

  /// A child's save is one group.
  private func editInChild() throws {
    guard kind != .joined, !halves.hasDeletions else { return }
    run.note("gets a child")
    let part = run.random.pick(editors.indices)
    let before = halves
    let child = PartEditor(run, "child", context.newChildContext(), part, before.states[part])
    for _ in 0..<Int.random(in: 1...4, using: &run.random) { try child.edit() }
    do {
      try child.context.save()
    } catch {
      return run.note("the child is not saved")
    }
    run.note("the child is saved")
    editors[part].state = child.state
    if manager.undoCount == stacks.undo.count, halves.isEqual(to: before) { return }
    stacks.redo = []
    stacks.undo.append(group(since: before))
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
    halves = stored
    stacks = savedStacks
  }

  private func reset() {
    run.note("is reset")
    context.reset()
    for editor in editors { editor.held = [] }
    halves = stored
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

import PerdureTestSupport
import Testing

@testable import Perdure

/// An undo manager with the rules of Foundation's undo manager: a new action removes the actions to
/// redo, unless an undo or a redo is running.
@MainActor private final class ActionStack: UndoActionStack {
  private enum Mode { case idle, undoing, redoing }

  private var mode = Mode.idle
  private var undoActions: [(action: GroupAction, name: String)] = []
  private var redoActions: [(action: GroupAction, name: String)] = []
  private var waiting: [@MainActor () -> Void] = []

  var undoNames: [String] { undoActions.map(\.name) }
  var redoNames: [String] { redoActions.map(\.name) }

  func add(_ action: GroupAction, name: String) {
    switch mode {
    case .undoing: redoActions.append((action, name))
    case .redoing: undoActions.append((action, name))
    case .idle:
      undoActions.append((action, name))
      redoActions = []
    }
  }

  func remove(_ action: GroupAction) {
    undoActions.removeAll { $0.action === action }
    redoActions.removeAll { $0.action === action }
  }

  func callAfterward(_ body: @escaping @MainActor () -> Void) { waiting.append(body) }

  func undo() { run(.undoing, undoActions.popLast()?.action) }

  func redo() { run(.redoing, redoActions.popLast()?.action) }

  private func run(_ mode: Mode, _ action: GroupAction?) {
    self.mode = mode
    action?.perform()
    self.mode = .idle
    let bodies = waiting
    waiting = []
    for body in bodies { body() }
  }
}

@MainActor @Suite("Actions of undo groups in an undo manager with Foundation's rules")
struct GroupActionsTests {
  private let scene: UndoScene
  private let volume: UndoVolume
  private let stack = ActionStack()
  private let actions: GroupActions
  private let failures = Failures()

  private final class Failures {
    var errors: [PerdureError] = []
  }

  init() throws {
    scene = try UndoScene()
    volume = try scene.volume("0")
    actions = GroupActions(of: scene.manager, on: stack) { [failures] in failures.errors.append($0) }
  }

  private func edit(_ title: String) {
    scene.context.undoGroup(title) { volume.title = title }
  }

  private func names(_ direction: UndoHistory.Direction) -> [String] {
    scene.manager.groups(direction).map(\.name)
  }

  @Test("A save adds no action, even after an undo")
  func saves() throws {
    edit("A")
    try scene.context.save()
    #expect(stack.undoNames == ["A"])
    edit("B")
    stack.undo()
    try scene.context.save()
    #expect(stack.undoNames == ["A"] && stack.redoNames == ["B"])
    stack.redo()
    #expect(volume.title == "B" && stack.undoNames == ["A", "B"])
  }

  @Test("A rollback removes the actions of discarded groups, and adds those of restored groups")
  func rollback() throws {
    edit("A")
    try scene.context.save()
    edit("B")
    scene.context.rollback()
    #expect(stack.undoNames == ["A"])
    stack.undo()
    #expect(volume.title == "0" && stack.redoNames == ["A"])
    scene.context.rollback()
    #expect(volume.title == "A" && stack.undoNames == ["A"] && stack.redoNames == [])
  }

  @Test("A refused undo keeps its action")
  func refused() throws {
    edit("A")
    edit("B")
    scene.context.withoutUndo { volume.title = "other" }
    stack.undo()
    #expect(failures.errors.map(\.code) == [.undoConflict])
    #expect(volume.title == "other" && stack.undoNames == ["A", "B"] && stack.redoNames == [])
  }

  @Test("A group that the context undoes directly has no action, and the actions to redo are removed")
  func direct() throws {
    for title in ["A", "B", "C"] { edit(title) }
    stack.undo()
    #expect(stack.redoNames == ["C"])
    try scene.context.undo()
    #expect(stack.undoNames == ["A"] && stack.redoNames == [] && names(.redo) == ["C", "B"])
    try scene.context.redo()
    #expect(stack.undoNames == ["A", "B"])
  }

  @Test("Groups before a registration have no action, and cancelling the registration removes its actions")
  func limits() {
    edit("A")
    let second = ActionStack()
    let later = GroupActions(of: scene.manager, on: second) { _ in }
    edit("B")
    #expect(second.undoNames == ["B"] && stack.undoNames == ["A", "B"])
    later.cancel()
    edit("C")
    #expect(second.undoNames == [] && stack.undoNames == ["A", "B", "C"])
    scene.manager.removeAllActions()
    #expect(stack.undoNames == [])
  }

  @Test("After random edits, saves and undos, each group that can be undone has one action")
  func random() throws {
    var random = SeededGenerator.forTest("group actions")
    for step in 0..<400 {
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<35: edit("\(step)")
      case 35..<55: stack.undo()
      case 55..<70: stack.redo()
      case 70..<80: try scene.context.save()
      case 80..<85: scene.context.rollback()
      case 85..<90: _ = undoConflicts { () throws(PerdureError) in try scene.context.undo() }
      case 90..<94: _ = undoConflicts { () throws(PerdureError) in try scene.context.redo() }
      case 94..<96: scene.context.withoutUndo { volume.title = "apart \(step)" }
      case 96..<98: volume.pages += 1
      default: scene.manager.levelsOfUndo = Int.random(in: 1...6, using: &random)
      }
      #expect(stack.undoNames == names(.undo))
      #expect(names(.redo).suffix(stack.redoNames.count) == stack.redoNames[...])
    }
  }
}

import Perdure
import Testing

/// Lets two tasks run in turns.
private actor Turns {
  private var turn = 0
  private var waiting: [Int: CheckedContinuation<Void, Never>] = [:]

  func reach(_ number: Int) async {
    if turn >= number { return }
    await withCheckedContinuation { waiting[number] = $0 }
  }

  func begin(_ number: Int) {
    turn = number
    for reached in waiting.keys.filter({ $0 <= number }) { waiting.removeValue(forKey: reached)?.resume() }
  }
}

/// A context of the main actor with two objects.
@MainActor private final class Desk {
  let scene: UndoScene
  let first: UndoVolume
  let second: UndoVolume

  init() throws {
    scene = try UndoScene()
    first = try scene.volume("One")
    second = try scene.volume("Other")
  }

  var context: ManagedObjectContext { scene.context }
  var manager: ContextUndoManager { scene.manager }

  func group(_ name: String, _ body: @MainActor (Desk) async throws -> Void) async rethrows {
    try await context.undoGroup(name) { try await body(self) }
  }
}

@MainActor @Suite("Undo groups of asynchronous closures")
struct UndoTaskTests {
  private let desk: Desk
  private let turns = Turns()

  init() throws { desk = try Desk() }

  @Test("Two closures can overlap, and each group has the edits of its own task")
  func overlapping() async throws {
    async let one: Void = desk.group("First") { [turns] desk in
      desk.first.title = "A"
      await turns.begin(1)
      await turns.reach(2)
      desk.first.pages = 1
    }
    async let two: Void = desk.group("Second") { [turns] desk in
      await turns.reach(1)
      desk.second.title = "B"
      await turns.begin(2)
      await turns.reach(4)
      desk.second.pages = 2
    }
    await one
    desk.first.note = "event"
    await turns.begin(4)
    await two
    // The end of the second closure has ended the event, which has a group too.
    #expect(desk.manager.undoCount == 3 && desk.manager.canUndo)
    try desk.context.undo()
    #expect(desk.first.note == nil && desk.second.title == "B")
    try desk.context.undo()
    #expect(desk.second.title == "Other" && desk.second.pages == 0 && desk.first.title == "A")
    try desk.context.undo()
    #expect(desk.first.title == "One" && desk.first.pages == 0 && !desk.manager.canUndo)
    for _ in 0..<3 { try desk.context.redo() }
    #expect(desk.first.title == "A" && desk.first.pages == 1)
    #expect(desk.second.title == "B" && desk.second.pages == 2 && desk.first.note == "event")
  }

  @Test("Edits of other tasks while the closure is suspended belong to the event or their closure")
  func others() async throws {
    async let group: Void = desk.group("Group") { [turns] desk in
      desk.first.title = "A"
      await turns.begin(1)
      await turns.reach(2)
      desk.context.delete(desk.first)
    }
    await turns.reach(1)
    desk.second.title = "B"
    desk.context.undoGroup("Closure") { desk.second.pages = 3 }
    await turns.begin(2)
    await group
    #expect(desk.manager.undoActionName == "Group")
    try desk.context.undo()
    #expect(!desk.first.isDeleted && desk.first.title == "One" && desk.second.title == "B")
    #expect(desk.manager.undoActionName == "Closure")
    try desk.context.undo()
    try desk.context.undo()
    #expect(desk.second.title == "Other" && desk.second.pages == 0)
  }

  @Test("If two closures change one property, the undo of each restores the value before its own edit")
  func sameProperty() async throws {
    async let one: Void = desk.group("First") { [turns] desk in
      desk.first.title = "A"
      await turns.begin(1)
      await turns.reach(2)
    }
    async let two: Void = desk.group("Second") { [turns] desk in
      await turns.reach(1)
      desk.first.title = "B"
      await turns.begin(2)
      await turns.reach(3)
    }
    await one
    await turns.begin(3)
    await two
    #expect(desk.manager.undoActionName == "Second")
    try desk.context.undo()
    #expect(desk.first.title == "A")
    try desk.context.undo()
    #expect(desk.first.title == "One")
  }

  @Test("If the closure whose edit was replaced ends last, its undo is a conflict")
  func replaced() async throws {
    async let one: Void = desk.group("First") { [turns] desk in
      desk.first.title = "A"
      await turns.begin(1)
      await turns.reach(2)
    }
    await turns.reach(1)
    desk.context.undoGroup("Second") { desk.first.title = "B" }
    await turns.begin(2)
    await one
    #expect(desk.manager.undoActionName == "First")
    #expect(throws: PerdureError.self) { try desk.context.undo() }
    #expect(desk.first.title == "B")
  }

  @Test("Edits before an asynchronous closure belong to the event, which ends when the closure begins")
  func before() async throws {
    desk.first.title = "A"
    desk.context.delete(desk.second)
    await desk.group("Group") { desk in
      await Task.yield()
      desk.first.pages = 1
    }
    #expect(desk.manager.undoCount == 2 && desk.manager.undoActionName == "Group")
    try desk.context.undo()
    #expect(desk.first.pages == 0 && desk.first.title == "A" && desk.second.isDeleted)
    try desk.context.undo()
    #expect(desk.first.title == "One" && !desk.second.isDeleted)
  }

  @Test("A closure and a save inside an asynchronous closure belong to its group")
  func nested() async throws {
    try await desk.group("Outer") { desk in
      desk.context.undoGroup("Inner") { desk.first.title = "A" }
      await Task.yield()
      try desk.context.save()
      await desk.group("Inner") { desk in
        await Task.yield()
        desk.second.title = "B"
      }
    }
    #expect(desk.manager.undoCount == 1 && desk.manager.undoActionName == "Outer")
    try desk.context.undo()
    #expect(desk.first.title == "One" && desk.second.title == "Other")
  }

  @Test("A group of one context does not have the edits of another context")
  func twoContexts() async throws {
    let other = desk.scene.container.newContext()
    other.undoManager = ContextUndoManager()
    await desk.group("Here") { desk in
      await other.undoGroup("There") { @MainActor in
        await Task.yield()
        desk.first.title = "A"
        UndoVolume(context: other).title = "New"
      }
    }
    #expect(desk.manager.undoActionName == "Here" && other.undoManager?.undoActionName == "There")
    try desk.context.undo()
    try other.undo()
    #expect(desk.first.title == "One" && !other.hasChanges)
  }

  @Test("If two running closures change one property in turns, the group of each records the property")
  func sameInterval() async throws {
    async let one: Void = desk.group("First") { [turns] desk in
      await turns.begin(1)
      await turns.reach(2)
      desk.first.title = "A"
      await turns.begin(3)
      await turns.reach(4)
    }
    async let two: Void = desk.group("Second") { [turns] desk in
      await turns.reach(1)
      await turns.begin(2)
      await turns.reach(3)
      desk.first.title = "B"
      await turns.begin(4)
      await turns.reach(5)
    }
    await one
    await turns.begin(5)
    await two
    #expect(desk.manager.undoActionName == "Second")
    try desk.context.undo()
    #expect(desk.first.title == "A")
    try desk.context.undo()
    #expect(desk.first.title == "One")
  }

  @Test("A name that is set inside an asynchronous closure names the closure's group, not the event's")
  func name() async throws {
    async let group: Void = desk.group("Group") { [turns] desk in
      await turns.begin(1)
      await turns.reach(2)
      desk.manager.setActionName("Renamed")
      desk.first.pages = 1
      desk.context.undoGroup("Inner") { desk.manager.setActionName("Renamed again") }
    }
    await turns.reach(1)
    desk.second.title = "B"
    desk.context.processPendingChanges()
    desk.second.pages = 2
    await turns.begin(2)
    await group
    // The end of the closure has ended the event after its group.
    #expect(desk.manager.undoCount == 3 && desk.manager.undoActionName == "")
    try desk.context.undo()
    #expect(desk.manager.undoActionName == "Renamed again")
  }

  @Test("A closure inside an asynchronous closure does not end the group of the event")
  func nestedDuringEvent() async throws {
    async let group: Void = desk.group("Group") { [turns] desk in
      await turns.begin(1)
      await turns.reach(2)
      desk.context.undoGroup("Inner") { desk.first.pages = 1 }
      await turns.begin(3)
      await turns.reach(4)
    }
    await turns.reach(1)
    desk.second.title = "B"
    await turns.begin(2)
    await turns.reach(3)
    desk.second.pages = 2
    await turns.begin(4)
    await group
    #expect(desk.manager.undoCount == 2)
    try desk.context.undo()
    #expect(desk.second.title == "Other" && desk.second.pages == 0 && desk.first.pages == 1)
  }

  @Test("After an asynchronous closure, delete rules are again applied only at the end of an event")
  func rulesAfterwards() async throws {
    let shelf = try desk.scene.shelf("a")
    let volume = shelf.volumes[0]
    await desk.group("Group") { desk in desk.first.pages = 1 }
    desk.context.delete(shelf)
    #expect(!volume.isDeleted)
    desk.context.processPendingChanges()
    #expect(volume.isDeleted)
  }

  @Test("The cascade of a deletion before an asynchronous closure does not belong to the closure's group")
  func cascadeBefore() async throws {
    let shelf = try desk.scene.shelf("a")
    desk.context.delete(shelf)
    await desk.group("Group") { desk in desk.first.pages = 1 }
    #expect(desk.manager.undoCount == 2)
    try desk.context.undo()
    #expect(desk.first.pages == 0 && shelf.isDeleted)
    try desk.context.undo()
    #expect(shelf.volumes.map(\.title) == ["a"] && !desk.manager.canUndo)
  }

  @Test("A closure that deletes an object also deletes members that another context has added meanwhile")
  func addedElsewhere() async throws {
    let shelf = try desk.scene.shelf("a")
    try await desk.group("Group") { desk in
      desk.context.delete(shelf)
      try desk.scene.changeElsewhere { other in
        let same = try #require(try other.existingObject(with: shelf.objectID) as? UndoShelf)
        let added = UndoVolume(context: other)
        added.title = "b"
        same.volumes.append(added)
      }
    }
    #expect(desk.manager.undoCount == 1)
    try desk.context.undo()
    #expect(shelf.volumes.map(\.title) == ["a", "b"] && !desk.manager.canUndo)
  }

  @Test("The cascade of a closure's deletion belongs to its group, even if another closure runs meanwhile")
  func cascade() async throws {
    let shelf = try desk.scene.shelf("a")
    let id = shelf.objectID
    async let group: Void = desk.group("Group") { [turns] desk in
      desk.context.delete(try desk.context.existingObject(with: id))
      await turns.begin(1)
      await turns.reach(2)
    }
    await turns.reach(1)
    desk.context.undoGroup("Closure") { desk.second.pages = 3 }
    await turns.begin(2)
    try await group
    #expect(desk.manager.undoCount == 2 && desk.manager.undoActionName == "Group")
    try desk.context.undo()
    #expect(shelf.volumes.map(\.title) == ["a"] && desk.second.pages == 3)
  }
}

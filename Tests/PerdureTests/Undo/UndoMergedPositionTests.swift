// Positions of new objects that a save merges into others with the same unique value.

import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Board: ManagedObject {
  @Relationship(inverse: "boards") var pins: OrderedToMany<Pin>
  @Relationship(inverse: nil) var favourites: OrderedToMany<Pin>
}

@Entity private final class Pin: ManagedObject {
  @Attribute(.unique) var code: String?
  @Relationship(inverse: "pins") var boards: ToMany<Board>
  @Relationship(inverse: "pin") var notes: OrderedToMany<Note>
}

@Entity private final class Note: ManagedObject {
  @Relationship(inverse: "notes") var pin: Pin?
}

@Suite("Positions of new objects that a save merges into others")
struct UndoMergedPositionTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let board: Board
  private let stored: Pin
  private let others: [Pin]

  init() throws {
    container = try PersistentContainer(
      name: "Boards", classes: [Board.self, Pin.self, Note.self], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    (board, stored) = (Board(context: context), Pin(context: context))
    stored.code = "x"
    others = [Pin(context: context), Pin(context: context)]
    for other in others {
      board.pins.append(other)
      board.favourites.append(other)
    }
    try context.save()
    context.undoManager = ContextUndoManager()
    context.mergePolicy = .mergeByPropertyObjectTrump
  }

  private func saved() throws -> Board {
    try #require(try container.newContext().existingObject(with: board.objectID) as? Board)
  }

  @Test("A merged object keeps the position of the new one, and an undo removes it", arguments: [0, 1, 2])
  func position(_ position: Int) throws {
    context.undoGroup("Insert") {
      let new = Pin(context: context)
      new.code = "x"
      board.pins.insert(new, at: position)
      board.favourites.insert(new, at: position)
    }
    try context.save()
    #expect(context.mergedObjectIDs.count == 1)
    var expected = others.map(\.objectID)
    expected.insert(stored.objectID, at: position)
    #expect(board.pins.map(\.objectID) == expected && board.favourites.map(\.objectID) == expected)
    let saved = try saved()
    #expect(saved.pins.map(\.objectID) == expected && saved.favourites.map(\.objectID) == expected)
    try context.undo()
    #expect(board.pins.array == others && board.favourites.array == others && !stored.isDeleted)
    try context.save()
    #expect(try self.saved().pins.map(\.objectID) == others.map(\.objectID))
  }

  @Test("An object that was a member before a merge keeps its own position")
  func member() throws {
    context.withoutUndo { board.pins.append(stored) }
    try context.save()
    let new = Pin(context: context)
    new.code = "x"
    board.pins.insert(new, at: 0)
    try context.save()
    #expect(board.pins.map(\.objectID) == (others + [stored]).map(\.objectID))
  }

  @Test("The members of a merged new object come after those of the stored object")
  func ownMembers() throws {
    let notes = [Note(context: context), Note(context: context), Note(context: context)]
    stored.notes.append(notes[0])
    try context.save()
    let new = Pin(context: context)
    new.code = "x"
    new.notes.append(notes[1])
    new.notes.insert(notes[2], at: 0)
    try context.save()
    #expect(stored.notes.array == [notes[0], notes[2], notes[1]])
  }
}

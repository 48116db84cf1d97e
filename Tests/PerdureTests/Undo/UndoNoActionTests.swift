// A deletion with the rule .noAction keeps the links of other objects to the deleted object. These
// tests undo such deletions.

import Perdure
import Testing

@Entity private final class Harbour: ManagedObject {
  @Relationship(inverse: "home", deleteRule: .noAction) var boats: ToMany<Boat>
  @Relationship(inverse: "winter", deleteRule: .noAction) var guests: ToMany<Boat>
  @Attribute(derived: "boats.@count") private(set) var boatCount: Int
}

@Entity private final class Boat: ManagedObject {
  @Relationship(inverse: "boats") var home: Harbour?
  @Relationship(inverse: "guests", deleteRule: .deny) var winter: Harbour?
}

@Suite("Undo of deletions with the rule .noAction")
struct UndoNoActionTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let manager = ContextUndoManager()
  private let (harbour, other): (Harbour, Harbour)
  private let boat: Boat

  init() throws {
    container = try PersistentContainer(
      name: "Harbours", classes: [Harbour.self, Boat.self], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    (harbour, other) = (Harbour(context: context), Harbour(context: context))
    boat = Boat(context: context)
  }

  private func save(home: Harbour?, winter: Harbour? = nil) throws {
    (boat.home, boat.winter) = (home, winter)
    try context.save()
    context.undoManager = manager
  }

  @Test("After both ends of a kept link are deleted and saved, undoing both deletions restores the link")
  func keptByOwner() throws {
    try save(home: nil, winter: harbour)
    context.undoGroup("Delete the harbour") { context.delete(harbour) }
    context.undoGroup("Delete the boat") { context.delete(boat) }
    try context.save()
    try context.undo()
    #expect(boat.winter == nil && !boat.isDeleted)
    try context.undo()
    #expect(boat.winter === harbour && Array(harbour.guests) == [boat])
  }

  /// The objects that observers receive during `body`.
  private func reported(_ body: () throws -> Void) rethrows -> Set<ManagedObjectID> {
    var reported: Set<ManagedObjectID> = []
    let observation = context.observe { event in
      guard event.kind == .objectsDidChange else { return }
      reported.formUnion(event.updatedObjects.union(event.refreshedObjects).map(\.objectID))
    }
    try body()
    withExtendedLifetime(observation) {}
    return reported
  }

  @Test(
    "The undo and the redo of a saved deletion report the objects whose references appear and disappear",
    arguments: [false, true])
  func reportedReferences(hasOtherChanges: Bool) throws {
    try save(home: harbour)
    context.undoGroup("Delete") { context.delete(harbour) }
    try context.save()
    if hasOtherChanges { context.withoutUndo { boat.winter = other } }
    context.processPendingChanges()
    let shown = try reported { try context.undo() }
    #expect(boat.home === harbour && shown.contains(boat.objectID))
    let hidden = try reported { try context.redo() }
    #expect(boat.home !== harbour || harbour.isDeleted)
    #expect(hidden.contains(boat.objectID))
  }

  @Test("The redo of an insertion reports an unsaved reference that appears, after others deleted the object")
  func unsavedReference() throws {
    try save(home: nil)
    let inserted = context.undoGroup("Insert") { Harbour(context: context) }
    try context.save()
    context.withoutUndo { boat.home = inserted }
    try context.undo()
    let elsewhere = container.newContext()
    elsewhere.delete(elsewhere.object(with: inserted.objectID))
    try elsewhere.save()
    context.refreshAllObjects()
    #expect(boat.home == nil)
    let shown = try reported { try context.redo() }
    #expect(boat.home?.objectID == inserted.objectID && shown.contains(boat.objectID))
    let hidden = try reported { try context.undo() }
    #expect(boat.home == nil && hidden.contains(boat.objectID))
    #expect(try context.fetch(FetchRequest<Harbour>(where: { $0.boatCount == 1 })).isEmpty)
    try context.save()
    try context.redo()
    #expect(boat.home?.objectID == inserted.objectID)
  }

  @Test("The undo of a deletion does not restore a link for which an earlier undo kept another saved value")
  func keptByPolicy() throws {
    try save(home: harbour)
    let third = Harbour(context: context)
    try context.save()
    manager.removeAllActions()
    context.undoGroup("Delete") { context.delete(harbour) }
    context.undoGroup("Move") { boat.home = other }
    try context.save()
    let elsewhere = container.newContext()
    let theirs = try #require(try elsewhere.existingObject(with: boat.objectID) as? Boat)
    theirs.home = try #require(try elsewhere.existingObject(with: third.objectID) as? Harbour)
    try elsewhere.save()
    context.refreshAllObjects()
    #expect(throws: PerdureError.self) { try context.undo() }
    try context.undo(.keepCurrent)
    #expect(boat.home === third)
    try context.undo()
    #expect(boat.home === third && harbour.boats.isEmpty && Array(third.boats) == [boat])
  }

  @Test(
    "The undo of a saved deletion does not restore a link that was changed after the save",
    arguments: [false, true])
  func changedSince(_ isRepeated: Bool) throws {
    try save(home: harbour)
    context.undoGroup("Delete") { context.delete(harbour) }
    try context.save()
    context.withoutUndo { boat.home = other }
    for _ in 0..<(isRepeated ? 2 : 1) {
      try context.undo()
      #expect(boat.home === other && Array(other.boats) == [boat] && harbour.boats.isEmpty)
      if isRepeated { try context.redo() }
    }
  }

  @Test("If a child's undo restores an object, links that the parent has changed since are not restored")
  func insertedByChild() throws {
    try save(home: harbour)
    let child = context.newChildContext()
    let undoing = ContextUndoManager()
    child.undoManager = undoing
    child.delete(try child.existingObject(with: harbour.objectID))
    try child.save()
    try context.save()
    boat.home = other
    try undoing.undo()
    try child.save()
    let again = try #require(try context.existingObject(with: harbour.objectID) as? Harbour)
    #expect(boat.home === other && Array(other.boats) == [boat] && again.boats.isEmpty)
  }

  @Test(
    "An edit of a reference whose target was deleted before the first group can be undone and redone",
    arguments: [false, true])
  func deletedBefore(_ isSaved: Bool) throws {
    boat.home = harbour
    try context.save()
    context.delete(harbour)
    try context.save()
    #expect(boat.home?.isDeleted == true)
    context.undoManager = manager
    context.undoGroup("Move") { boat.home = other }
    if isSaved { try context.save() }
    try context.undo()
    #expect(boat.home == nil && other.boats.isEmpty)
    try context.redo()
    #expect(boat.home === other && Array(other.boats) == [boat])
    try context.undo()
    #expect(boat.home == nil && other.boats.isEmpty)
    try context.save()
    let fresh = try #require(try container.newContext().existingObject(with: boat.objectID) as? Boat)
    #expect(fresh.home == nil)
  }
}

import Perdure
import PerdureTestSupport
import Testing

@Suite("Undo of an insertion that others have connected with objects of a cascade")
struct UndoCascadeConflictTests {
  private let scene: UndoScene
  private var context: ManagedObjectContext { scene.context }

  init() throws { scene = try UndoScene() }

  /// Inserts a shelf in a group, and connects a volume in another context or outside of groups.
  private func connected(isSaved: Bool) throws -> (UndoShelf, UndoVolume) {
    let volume = try scene.volume("One")
    let shelf = context.undoGroup("Insert") { UndoShelf(context: context) }
    if isSaved {
      try context.save()
      try scene.changeElsewhere { other in
        let theirs = try #require(try other.existingObject(with: shelf.objectID) as? UndoShelf)
        theirs.volumes.append(try undoVolume(volume.objectID, other))
      }
    } else {
      context.withoutUndo { shelf.volumes.append(volume) }
    }
    return (shelf, volume)
  }

  @Test("The conflict names both objects", arguments: [false, true])
  func message(_ isSaved: Bool) throws {
    let (shelf, volume) = try connected(isSaved: isSaved)
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(
      found.map(\.description) == [
        "\(volume.objectID) shelf: the object was connected with \(shelf.objectID) after the group, and is deleted with it"
      ])
    #expect(!shelf.isDeleted && volume.shelf === shelf)
  }

  @Test(
    "The policy overwrite deletes the connected object, and a redo restores both", arguments: [false, true])
  func overwrite(_ isSaved: Bool) throws {
    let (shelf, volume) = try connected(isSaved: isSaved)
    try context.undo(.overwrite)
    #expect((shelf.isDeleted || shelf.managedObjectContext == nil) && volume.isDeleted)
    try context.redo()
    #expect(!volume.isDeleted && volume.shelf === shelf && shelf.volumes.objectIDs == [volume.objectID])
    try context.undo(.overwrite)
    try context.save()
    #expect(try context.count(for: UndoVolume.fetchRequest()) == 0)
    #expect(try context.count(for: UndoShelf.fetchRequest()) == 0)
    try context.redo()
    #expect(!volume.isDeleted && volume.shelf === shelf && volume.title == "One")
    try context.save()
    let fresh = try undoVolume(volume.objectID, scene.container.newContext())
    #expect(fresh.shelf?.objectID == shelf.objectID)
  }

  @Test("The policy keepCurrent keeps both objects, and drops the group", arguments: [false, true])
  func keep(_ isSaved: Bool) throws {
    let (shelf, volume) = try connected(isSaved: isSaved)
    try context.undo(.keepCurrent)
    #expect(!shelf.isDeleted && volume.shelf === shelf && scene.manager.undoCount == 0)
  }
}

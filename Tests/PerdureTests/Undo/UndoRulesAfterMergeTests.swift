import Testing

@testable import Perdure

@Suite("Undo of deletions whose delete rules are applied again after a merge")
struct UndoRulesAfterMergeTests {
  private func addElsewhere(_ shelf: UndoShelf, _ scene: UndoScene) throws {
    let other = scene.container.newContext()
    let new = UndoVolume(context: other)
    new.title = "new"
    new.shelf = try #require(try other.existingObject(with: shelf.objectID) as? UndoShelf)
    try other.save()
  }

  @Test("A deletion can be undone after another context has added a member", arguments: [false, true])
  func addedMember(_ endsEvent: Bool) throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    context.undoGroup("Delete") { context.delete(shelf) }
    try addElsewhere(shelf, scene)
    context.refreshAllObjects()
    if endsEvent { context.processPendingChanges() }
    #expect(scene.manager.undoCount == 1 && scene.manager.undoActionName == "Delete")
    try context.undo()
    #expect(shelf.volumes.map(\.title).sorted() == ["a", "new"])
    try context.save()
    #expect(try scene.container.newContext().count(for: FetchRequest<UndoVolume>()) == 2)
  }

  @Test("Observers are called when a group is removed because delete rules have made it too large")
  func tooLarge() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    context.undoGroup("Delete") { context.delete(shelf) }
    scene.manager.byteLimit = scene.manager.groups(.undo).reduce(100) { $0 + $1.byteCount }
    var reported: [Bool] = []
    let observation = scene.manager.observe { reported.append($0.canUndo) }
    try addElsewhere(shelf, scene)
    context.refreshAllObjects()
    context.processPendingChanges()
    #expect(!scene.manager.canUndo && reported.last == false)
    withExtendedLifetime(observation) {}
  }

  @Test("Groups to redo stay when a merge makes a delete rule delete another object")
  func redo() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    let volume = try scene.volume("One")
    context.undoGroup("Delete") { context.delete(shelf) }
    context.undoGroup("Rename") { volume.title = "Two" }
    try context.undo()
    try addElsewhere(shelf, scene)
    context.refreshAllObjects()
    context.processPendingChanges()
    #expect(scene.manager.redoActionName == "Rename")
  }

  @Test("If the save of a deletion also deletes a member that another context added, there is one group")
  func savedByPolicy() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    context.mergePolicy = .mergeByPropertyObjectTrump
    context.undoGroup("Delete") { context.delete(shelf) }
    try addElsewhere(shelf, scene)
    try context.save()
    #expect(scene.manager.undoCount == 1)
    try context.undo()
    #expect(shelf.volumes.map(\.title).sorted() == ["a", "new"])
  }

  @Test("After another context adds a member to an object whose insertion was undone, a redo restores both")
  func undoneInsertion() throws {
    let scene = try UndoScene()
    let context = scene.context
    let shelf = context.undoGroup("Insert") { UndoShelf(context: context) }
    try context.save()
    try context.undo()
    try addElsewhere(shelf, scene)
    context.refreshAllObjects()
    context.processPendingChanges()
    #expect(scene.manager.undoCount == 0 && scene.manager.redoActionName == "Insert")
    try context.redo()
    #expect(!shelf.isDeleted && shelf.volumes.map(\.title) == ["new"])
    try context.save()
  }

  @Test("The redo of a deletion also deletes a member that another context has added")
  func redoneDeletion() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    context.undoGroup("Delete") { context.delete(shelf) }
    try addElsewhere(shelf, scene)
    context.refreshAllObjects()
    try context.undo()
    try context.redo()
    try context.save()
    #expect(try scene.container.newContext().count(for: FetchRequest<UndoVolume>()) == 0)
    try context.undo()
    #expect(shelf.volumes.map(\.title).sorted() == ["a", "new"])
  }

  @Test(
    "A link that another context has made to a deleted object exists after the undo of the deletion",
    arguments: [false, true])
  func nullified(_ isExcluded: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let later = try scene.volume("Two")
    context.undoGroup("Delete") { context.delete(volume) }
    let other = scene.container.newContext()
    let theirs = try other.existingObject(with: volume.objectID)
    try other.existingObject(with: later.objectID).setValue(theirs, forKey: "prequel")
    try other.save()
    if isExcluded {
      context.withoutUndo { context.refreshAllObjects() }
    } else {
      context.refreshAllObjects()
      context.processPendingChanges()
    }
    #expect(later.prequel == nil && scene.manager.undoCount == 1)
    try context.undo()
    #expect(!volume.isDeleted && later.prequel === volume && volume.sequel === later)
    #expect(!context.hasChanges)
  }

  @Test("A rollback removes the group of a deletion to which a merge has added changes")
  func rolledBack() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    context.undoGroup("Delete") { context.delete(shelf) }
    try addElsewhere(shelf, scene)
    context.refreshAllObjects()
    context.processPendingChanges()
    context.rollback()
    #expect(!scene.manager.canUndo && !scene.manager.canRedo)
    #expect(shelf.volumes.map(\.title).sorted() == ["a", "new"])
  }

  @Test("If a merge applies the delete rules of a deletion in withoutUndo, their changes cannot be undone")
  func excludedDeletion() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    context.withoutUndo { context.delete(shelf) }
    try addElsewhere(shelf, scene)
    context.refreshAllObjects()
    context.processPendingChanges()
    #expect(!scene.manager.canUndo)
    try context.save()
    #expect(try scene.container.newContext().count(for: FetchRequest<UndoVolume>()) == 0)
  }

  @Test(
    "A group that is open during a merge contains the changes by the delete rules", arguments: [false, true])
  func openGroup(_ isEvent: Bool) throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    if isEvent {
      context.delete(shelf)
      try addElsewhere(shelf, scene)
      context.refreshAllObjects()
    } else {
      try context.undoGroup("Delete") {
        context.delete(shelf)
        #expect(try context.count(for: FetchRequest<UndoVolume>()) == 0)
        try addElsewhere(shelf, scene)
        context.refreshAllObjects()
      }
    }
    try context.undo()
    #expect(!scene.manager.canUndo && shelf.volumes.map(\.title).sorted() == ["a", "new"])
    #expect(!context.hasChanges)
  }

  @Test(
    "Later groups are undone before the deletion to which a merge has added changes",
    arguments: [false, true], [false, true])
  func laterGroup(_ isEvent: Bool, _ isSaved: Bool) throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    let volume = try scene.volume("One")
    context.undoGroup("Delete") { context.delete(shelf) }
    context.withoutUndo { volume.title = "Three" }
    if isEvent { volume.title = "Two" } else { context.undoGroup("Rename") { volume.title = "Two" } }
    try addElsewhere(shelf, scene)
    let other = scene.container.newContext()
    let theirs = try other.existingObject(with: shelf.objectID)
    try other.existingObject(with: volume.objectID).setValue(theirs, forKey: "shelf")
    try other.save()
    context.refreshAllObjects()
    context.processPendingChanges()
    #expect(volume.isDeleted && scene.manager.undoCount == 2)
    if isSaved {
      context.mergePolicy = .mergeByPropertyObjectTrump
      try context.save()
    }
    try context.undo()
    try context.undo()
    #expect(shelf.volumes.map(\.title).sorted() == ["Three", "a", "new"])
    try context.redo()
    try context.redo()
    try context.save()
    #expect(try scene.container.newContext().count(for: FetchRequest<UndoVolume>()) == 0)
  }
}

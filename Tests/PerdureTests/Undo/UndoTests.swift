import Perdure
import Testing

@Suite("Undo of edits")
struct UndoTests {
  @Test("An undo restores a value, also after a save, and a redo sets it again")
  func value() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Rename") { volume.title = "Two" }
    #expect(scene.manager.canUndo && !scene.manager.canRedo)
    #expect(scene.manager.undoActionName == "Rename")
    try context.undo()
    #expect(volume.title == "One" && scene.manager.redoActionName == "Rename")
    #expect(!scene.manager.canUndo && scene.manager.canRedo)
    try context.redo()
    #expect(volume.title == "Two")
    try context.save()
    try context.undo()
    #expect(volume.title == "One" && context.hasChanges)
    try context.save()
    try context.redo()
    #expect(volume.title == "Two")
  }

  @Test("A group has the edits of its closure and of the closures inside it")
  func nested() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    volume.pages = 1
    context.undoGroup("Outer") {
      volume.title = "Two"
      context.undoGroup("Inner") { volume.pages = 2 }
      volume.note = "n"
    }
    volume.pages = 3
    #expect(scene.manager.undoCount == 2 && scene.manager.canUndo)
    #expect(scene.manager.undoActionName == "")
    try context.undo()
    #expect(volume.pages == 2 && scene.manager.undoActionName == "Outer")
    try context.undo()
    #expect(volume.title == "One" && volume.pages == 1 && volume.note == nil)
    try context.undo()
    #expect(volume.pages == 0 && !scene.manager.canUndo)
    for _ in 0..<3 { try context.redo() }
    #expect(volume.title == "Two" && volume.pages == 3 && volume.note == "n")
  }

  @Test("Edits outside of closures belong to the group of their event")
  func events() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    volume.title = "Two"
    volume.pages = 2
    scene.manager.setActionName("Edit")
    context.processPendingChanges()
    volume.title = "Three"
    try context.save()
    volume.title = "Four"
    #expect(scene.manager.undoCount == 2)
    try context.undo()
    #expect(volume.title == "Three")
    try context.undo()
    #expect(volume.title == "Two" && scene.manager.undoActionName == "Edit")
    try context.undo()
    #expect(volume.title == "One" && volume.pages == 0)
  }

  @Test("A name that is set after the end of an event or a closure belongs to the last group")
  func lateName() throws {
    let scene = try UndoScene()
    let (context, manager, volume) = (scene.context, scene.manager, try scene.volume("One"))
    manager.setActionName("Nothing")
    volume.title = "Two"
    context.processPendingChanges()
    var names: [String] = []
    let observation = manager.observe { names.append($0.undoActionName) }
    manager.setActionName("First")
    #expect(names == ["First"] && manager.undoActionName == "First" && manager.undoCount == 1)
    withExtendedLifetime(observation) {}
    context.undoGroup("Second") { volume.pages = 2 }
    manager.setActionName("Pages")
    #expect(manager.undoActionName == "Pages")
    volume.pages = 3
    #expect(manager.undoActionName == "")
    manager.setActionName("Third")
    #expect(manager.undoActionName == "Third")
    try context.undo()
    #expect(manager.undoActionName == "Pages" && manager.redoActionName == "Third")
    manager.setActionName("Pages again")
    #expect(manager.undoActionName == "Pages again" && manager.redoActionName == "Third")
    #expect(manager.canRedo)
    try context.undo()
    #expect(manager.redoActionName == "Pages again" && manager.undoActionName == "First")
    try context.undo()
    manager.setActionName("Lost")
    #expect(manager.undoActionName == "" && manager.redoActionName == "First")
    volume.title = "Three"
    #expect(manager.undoActionName == "")
  }

  @Test("A rollback keeps the name that a saved group got after the save")
  func lateNameOfSavedGroup() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    volume.title = "Two"
    try context.save()
    scene.manager.setActionName("Rename")
    volume.title = "Three"
    context.rollback()
    #expect(scene.manager.undoActionName == "Rename" && scene.manager.undoCount == 1)
    try context.undo()
    #expect(volume.title == "One" && scene.manager.redoActionName == "Rename")
  }

  @Test("If a closure throws, its edits stay and are one group")
  func throwing() throws {
    struct Refusal: Error {}
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    #expect(throws: Refusal.self) {
      try context.undoGroup("Try") { () throws(Refusal) in
        volume.title = "Two"
        throw Refusal()
      }
    }
    #expect(volume.title == "Two" && scene.manager.undoActionName == "Try")
    try context.undo()
    #expect(volume.title == "One")
  }

  @Test("New edits remove the groups to redo, and edits without effect make no group")
  func redoEnds() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("A") { volume.title = "Two" }
    try context.undo()
    context.undoGroup("Nothing") {
      volume.title = "Two"
      volume.title = "One"
    }
    #expect(scene.manager.canRedo && !scene.manager.canUndo)
    volume.pages = 5
    #expect(!scene.manager.canRedo && scene.manager.canUndo)
    try context.redo()
    #expect(volume.title == "One")
    context.processPendingChanges()
    #expect(scene.manager.redoCount == 0)
  }

  @Test("Composite and transient attributes are restored, including objects that are values")
  func attributes() throws {
    final class Thing {}
    let scene = try UndoScene()
    let (context, volume, thing) = (scene.context, try scene.volume("One"), Thing())
    let other = try scene.volume("Other")
    volume.mood = "calm"
    volume.companion = other
    context.processPendingChanges()
    context.undoGroup("All") {
      volume.format = VolumeFormat(width: 10, height: 20)
      volume.format.height = 30
      volume.mood = "wild"
      volume.companion = thing
    }
    try context.save()
    try context.undo()
    #expect(volume.format == VolumeFormat() && volume.mood == "calm" && volume.companion === other)
    try context.redo()
    #expect(volume.format == VolumeFormat(width: 10, height: 30) && volume.mood == "wild")
    #expect(volume.companion === thing)
    for _ in 0..<2 { try context.undo() }
    #expect(volume.mood == nil && volume.companion == nil)
  }

  @Test("An undo of a deletion restores id, instance, links, positions and the objects of a cascade")
  func deletion() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b", "c"))
    let (second, id) = (shelf.volumes[1], shelf.volumes[1].objectID)
    let mark = UndoMark(context: context)
    mark.favourite = second
    second.marks.insert(mark)
    second.mood = "calm"
    second.sequel = shelf.volumes[0]
    try context.save()
    scene.manager.removeAllActions()

    for savesAfterDeletion in [false, true] {
      context.undoGroup("Delete") { context.delete(shelf) }
      #expect(try context.count(for: FetchRequest<UndoVolume>()) == 0)
      if savesAfterDeletion {
        try context.save()
        #expect(second.managedObjectContext == nil)
        #expect(try scene.container.newContext().count(for: FetchRequest<UndoShelf>()) == 0)
      }
      try context.undo()
      #expect(shelf.managedObjectContext === context && second.managedObjectContext === context)
      #expect(shelf.volumes.map(\.title) == ["a", "b", "c"] && shelf.volumes[1] === second)
      #expect(second.objectID == id && second.sequel === shelf.volumes[0])
      #expect(mark.favourite === second && second.marks.map(\.objectID) == [mark.objectID])
      #expect(shelf.volumeCount == 3 && (savesAfterDeletion || second.mood == "calm"))
      try context.save()
      let other = scene.container.newContext()
      let saved = try #require(try other.existingObject(with: id) as? UndoVolume)
      #expect(saved.shelf?.volumes.map(\.title) == ["a", "b", "c"])
      #expect(saved.marks.first?.favourite === saved && saved.sequel?.title == "a")
    }
  }

  @Test("An undo removes an inserted object, and a redo restores the same instance")
  func insertion() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    var made: UndoVolume?
    context.undoGroup("Insert") {
      let volume = UndoVolume(context: context)
      volume.title = "b"
      shelf.volumes.insert(volume, at: 0)
      made = volume
    }
    let volume = try #require(made)
    let id = volume.objectID
    try context.undo()
    #expect(shelf.volumes.map(\.title) == ["a"] && volume.managedObjectContext == nil)
    #expect(try context.count(for: FetchRequest<UndoVolume>()) == 1)
    try context.redo()
    #expect(shelf.volumes.map(\.title) == ["b", "a"] && shelf.volumes[0] === volume)
    #expect(volume.isInserted && volume.objectID == id)
    try context.save()
    try context.undo()
    #expect(volume.isDeleted && shelf.volumes.map(\.title) == ["a"])
    try context.save()
    #expect(try scene.container.newContext().count(for: FetchRequest<UndoVolume>()) == 1)
    try context.redo()
    #expect(shelf.volumes.map(\.title) == ["b", "a"] && volume.objectID == id)
    try context.save()
    #expect(try scene.container.newContext().count(for: FetchRequest<UndoVolume>()) == 2)
  }

  @Test("An undo of an insertion does not delete earlier objects")
  func insertedOwner() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("a"))
    context.undoGroup("Shelve") {
      let shelf = UndoShelf(context: context)
      shelf.volumes.append(volume)
    }
    try context.save()
    try context.undo()
    try context.save()
    #expect(volume.shelf == nil && volume.managedObjectContext === context)
    #expect(try scene.container.newContext().count(for: FetchRequest<UndoShelf>()) == 0)
    try context.redo()
    #expect(volume.shelf?.volumes.map(\.title) == ["a"])
  }

  @Test("Insertions and moves in an ordered relationship are undone and redone, also with new order keys")
  func moves() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b"))
    var states = [shelf.volumes.map(\.title)]
    for number in 0..<150 {
      var titles = shelf.volumes.map(\.title)
      let place = number % 3 == 2 ? 1 : titles.count / 2
      if number % 5 == 4 {
        // The last member moves forward, or the first one moves back.
        let source = number % 2 == 0 ? titles.count - 1 : 0
        context.undoGroup("Move") { shelf.volumes.move(from: source, to: place) }
        titles.insert(titles.remove(at: source), at: place)
      } else {
        context.undoGroup("Insert") {
          let volume = UndoVolume(context: context)
          volume.title = "\(number)"
          shelf.volumes.insert(volume, at: place)
        }
        titles.insert("\(number)", at: place)
      }
      #expect(shelf.volumes.map(\.title) == titles)
      states.append(titles)
      if number % 50 == 0 { try context.save() }
    }
    for state in states.dropLast().reversed() {
      try context.undo()
      #expect(shelf.volumes.map(\.title) == state)
    }
    for state in states.dropFirst() {
      try context.redo()
      #expect(shelf.volumes.map(\.title) == state)
    }
  }

  @Test("Edits in withoutUndo belong to no group, even inside a closure that makes a group")
  func withoutUndo() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Edit") {
      volume.title = "Two"
      context.withoutUndo { volume.pages = 7 }
      volume.note = "n"
    }
    context.withoutUndo { volume.pages = 8 }
    #expect(scene.manager.undoCount == 1)
    try context.undo()
    #expect(volume.title == "One" && volume.note == nil && volume.pages == 8)
    #expect(!scene.manager.canUndo)
  }

  @Test("Without a manager, closures run and nothing can be undone")
  func off() async throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoManager = nil
    context.undoGroup("Edit") { volume.title = "Two" }
    context.withoutUndo { volume.pages = 7 }
    await context.undoGroup("Async") {
      await Task.yield()
      volume.note = "n"
    }
    try context.undo()
    try context.redo()
    #expect(volume.title == "Two" && volume.pages == 7 && volume.note == "n")
    #expect(!scene.manager.canUndo && scene.manager.undoActionName == "")
  }

  @Test("A manager that is set while there are unsaved changes undoes only later edits")
  func setLater() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoManager = nil
    volume.title = "Two"
    let made = UndoVolume(context: context)
    context.undoManager = scene.manager
    context.undoGroup("Edit") {
      volume.title = "Three"
      made.title = "New"
      context.delete(made)
    }
    try context.undo()
    #expect(volume.title == "Two" && made.title == "" && made.isInserted)
    #expect(!scene.manager.canUndo)
  }

  @Test("A save that fails ends the group, and a later undo undoes the group")
  func failedSave() throws {
    let scene = try UndoScene()
    let context = scene.context
    let first = UndoMark(context: context)
    first.label = "x"
    try context.save()
    let second = UndoMark(context: context)
    second.label = "x"
    #expect(throws: PerdureError.self) { try context.save() }
    #expect(scene.manager.undoCount == 2)
    try context.undo()
    try context.save()
    #expect(try context.count(for: FetchRequest<UndoMark>()) == 1)
  }

  @Test("A child's save is one group of its parent, and the child has its own groups")
  func child() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    let child = context.newChildContext()
    child.undoManager = ContextUndoManager()
    let inner = try #require(try child.existingObject(with: shelf.objectID) as? UndoShelf)
    child.undoGroup("One") { inner.name = "n" }
    child.undoGroup("Two") { inner.volumes[0].title = "b" }
    child.undoGroup("Three") { inner.volumes.append(UndoVolume(context: child)) }
    try child.undo()
    try child.save()
    #expect(scene.manager.undoCount == 1 && shelf.name == "n" && shelf.volumes[0].title == "b")
    try child.redo()
    try child.save()
    #expect(scene.manager.undoCount == 2 && shelf.volumes.count == 2)
    try context.undo()
    #expect(shelf.volumes.count == 1 && shelf.name == "n")
    try context.undo()
    #expect(shelf.name == "" && shelf.volumes[0].title == "a")
    try context.redo()
    #expect(shelf.name == "n" && shelf.volumes[0].title == "b")
  }

  @Test("If a child restores an object that its parent has deleted, the child's save is one group")
  func restoredByChild() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let child = context.newChildContext()
    child.mergePolicy = .mergeByPropertyObjectTrump
    try child.existingObject(with: volume.objectID).setValue("Two", forKey: "title")
    context.undoGroup("Delete") { context.delete(volume) }
    try child.save()
    #expect(!volume.isDeleted && volume.title == "Two" && scene.manager.undoCount == 2)
    try context.undo()
    #expect(volume.isDeleted)
    try context.redo()
    #expect(!volume.isDeleted && volume.title == "Two")
    for _ in 0..<2 { try context.undo() }
    #expect(!volume.isDeleted && volume.title == "One" && !scene.manager.canUndo)
    try context.save()
  }

  @Test("The undo of an insertion also removes links to the object that were made in withoutUndo")
  func linksOutsideOfGroups() throws {
    let scene = try UndoScene()
    let context = scene.context
    let mark = UndoMark(context: context)
    try context.save()
    scene.manager.removeAllActions()
    let volume = context.undoGroup("Insert") { UndoVolume(context: context) }
    context.withoutUndo { mark.favourite = volume }
    try context.undo()
    #expect(mark.favourite == nil && volume.isDeleted)
    try context.redo()
    #expect(mark.favourite === volume)
    try context.undo()
    try context.save()
    #expect(mark.favourite == nil)
  }
}

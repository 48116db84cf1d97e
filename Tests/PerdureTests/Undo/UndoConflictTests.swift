import Perdure
import PerdurePredicates
import Testing

@Suite("Undo after changes of other contexts")
struct UndoConflictTests {
  @Test("A value that another context has saved since the group is a conflict with three values")
  func value() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Edit") {
      volume.title = "Two"
      volume.pages = 2
    }
    try context.save()
    try scene.changeElsewhere { try undoVolume(volume.objectID, $0).title = "Three" }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.property) == ["title"] && found.map(\.objectID) == [volume.objectID])
    #expect(found.map(\.before) == [.string("One")] && found.map(\.after) == [.string("Two")])
    #expect(found.map(\.current) == [.string("Three")])
    #expect(volume.title == "Three" && volume.pages == 2 && scene.manager.undoCount == 1)
    try context.undo(.keepCurrent)
    #expect(volume.title == "Three" && volume.pages == 0 && scene.manager.undoCount == 0)
    try context.redo()
    #expect(volume.title == "Three" && volume.pages == 2)
  }

  @Test("`overwrite` replaces values that another context has saved, and a redo restores them")
  func overwrite() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Edit") { volume.title = "Two" }
    try context.save()
    try scene.changeElsewhere { try undoVolume(volume.objectID, $0).title = "Three" }
    try context.undo(.overwrite)
    #expect(volume.title == "One")
    try context.redo()
    #expect(volume.title == "Three")
  }

  @Test("A value that another context has changed back is no conflict, nor is a change of another property")
  func same() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Edit") { volume.title = "Two" }
    try context.save()
    try scene.changeElsewhere {
      let other = try undoVolume(volume.objectID, $0)
      (other.title, other.pages) = ("One", 9)
    }
    try context.undo()
    #expect(volume.title == "One" && volume.pages == 9)
  }

  @Test("An object that another context has deleted is one conflict, and is not restored")
  func deleted() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let (other, id) = (try scene.volume("Other"), volume.objectID)
    context.undoGroup("Edit") {
      volume.title = "Two"
      volume.pages = 2
      other.title = "Changed"
    }
    try context.save()
    try scene.changeElsewhere { $0.delete(try undoVolume(id, $0)) }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.objectID) == [id] && found.map(\.property) == [""])
    #expect(found.map(\.before) == [.bool(true)] && found.map(\.current) == [.bool(false)])
    #expect(other.title == "Changed")
    try context.undo(.overwrite)
    #expect(other.title == "Other")
    try context.save()
    #expect(try context.count(for: FetchRequest<UndoVolume>()) == 1)
  }

  @Test("Changes by another context to an inserted object are conflicts of the undo")
  func insertedAndChanged() throws {
    let scene = try UndoScene()
    let context = scene.context
    let volume = context.undoGroup("Insert") { UndoVolume(context: context) }
    try context.save()
    try scene.changeElsewhere { try undoVolume(volume.objectID, $0).title = "Theirs" }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.property) == ["title"] && found.map(\.before) == [.null])
    #expect(found.map(\.after) == [.string("")] && found.map(\.current) == [.string("Theirs")])
    try context.undo(.keepCurrent)
    #expect(!volume.isDeleted && volume.title == "Theirs")
  }

  @Test("A link to an object that another context has deleted is a conflict, and is not restored")
  func lostTarget() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    let volume = shelf.volumes[0]
    context.undoGroup("Take out") { volume.shelf = nil }
    try context.save()
    try scene.changeElsewhere { $0.delete(try $0.existingObject(with: shelf.objectID)) }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.property) == ["shelf"] && found.map(\.current) == [.null])
    try context.undo(.overwrite)
    #expect(volume.shelf == nil)
    try context.save()
  }

  @Test("A member that another context moved is a conflict with the member's id; a removed link is none")
  func members() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b", "c"))
    let (volume, mark) = (shelf.volumes[0], UndoMark(context: context))
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Mark and move") {
      mark.volumes.insert(volume)
      shelf.volumes.move(volume, to: 2)
    }
    try context.save()
    try scene.changeElsewhere {
      let theirs = try undoVolume(volume.objectID, $0)
      theirs.marks.removeAll()
      theirs.shelf?.volumes.move(theirs, to: 1)
    }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.property) == ["volumes"] && found[0].member == volume.objectID)
    #expect(shelf.volumes.map(\.title) == ["b", "a", "c"])
    try context.undo(.keepCurrent)
    #expect(shelf.volumes.map(\.title) == ["b", "a", "c"] && mark.volumes.isEmpty)
  }

  @Test("A later edit of the same property in withoutUndo is a conflict of the group")
  func excluded() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Edit") {
      volume.title = "Two"
      context.withoutUndo { volume.title = "Three" }
    }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.after) == [.string("Two")] && found.map(\.current) == [.string("Three")])
    #expect(volume.title == "Three")
  }

  @Test("A value that a merge policy has saved is a conflict if the group has set another value")
  func policy() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.mergePolicy = .mergeByPropertyStoreTrump
    context.undoGroup("Edit") {
      volume.title = "Two"
      volume.pages = 2
    }
    let other = scene.container.newContext()
    try undoVolume(volume.objectID, other).title = "Three"
    try other.save()
    try context.save()
    #expect(volume.title == "Three" && volume.pages == 2)
    #expect(undoConflicts { () throws(PerdureError) in try context.undo() }.map(\.property) == ["title"])
  }

  @Test("An automatic merge keeps the groups of a context, and an open group does not contain merged changes")
  func merging() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.automaticallyMergesChangesFromParent = true
    volume.pages = 2
    let other = scene.container.newContext()
    try undoVolume(volume.objectID, other).title = "Theirs"
    try other.save()
    context.processPendingChanges()
    #expect(volume.title == "Theirs")
    try context.undo()
    #expect(volume.title == "Theirs" && volume.pages == 0)
  }

  @Test("A later edit is a conflict if another context has deleted the object that an earlier group inserted")
  func insertedAndDeleted() throws {
    let scene = try UndoScene()
    let context = scene.context
    let volume = context.undoGroup("Insert") { UndoVolume(context: context) }
    context.undoGroup("Rename") { volume.title = "Two" }
    try context.save()
    try scene.changeElsewhere { $0.delete(try undoVolume(volume.objectID, $0)) }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.property) == [""] && found[0].current == .bool(false))
    try context.undo(.overwrite)
    try context.undo()
    #expect(!scene.manager.canUndo)
    try context.save()
  }

  @Test("A member that withoutUndo has added again at another position is a conflict of its removal")
  func addedAgain() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b"))
    let volume = shelf.volumes[0]
    context.undoGroup("Remove") {
      shelf.volumes.remove(volume)
      context.withoutUndo { shelf.volumes.append(volume) }
    }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.property) == ["volumes"] && found[0].member == volume.objectID)
    #expect(found[0].after == .null)
    try context.undo(.overwrite)
    #expect(shelf.volumes.map(\.title) == ["a", "b"])
  }

  @Test("An instance of another context in a transient attribute is restored, and is not a conflict")
  func foreignInstance() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let other = scene.container.newContext()
    let foreign = try undoVolume(volume.objectID, other)
    context.undoGroup("Set") { volume.companion = foreign }
    context.undoGroup("Clear") { volume.companion = nil }
    try context.undo()
    #expect(volume.companion === foreign)
    try context.undo()
    #expect(volume.companion == nil)
    try context.redo()
    #expect(volume.companion === foreign)
  }

  @Test("A group does not retain an instance of another context, and restores nil after its release")
  func releasedForeignInstance() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    weak var released: UndoVolume?
    try {
      let other = scene.container.newContext()
      let foreign = try undoVolume(volume.objectID, other)
      released = foreign
      context.undoGroup("Set") { volume.companion = foreign }
      context.undoGroup("Clear") { volume.companion = nil }
    }()
    #expect(released == nil)
    try context.undo()
    #expect(volume.companion == nil)
  }

  @Test("The move of a member that another context has deleted is not a conflict")
  func movedAndDeleted() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b", "c"))
    let volume = shelf.volumes[0]
    context.undoGroup("Move") {
      shelf.volumes.move(volume, to: 2)
      shelf.name = "moved"
    }
    try context.save()
    try scene.changeElsewhere { $0.delete(try undoVolume(volume.objectID, $0)) }
    try context.undo()
    #expect(shelf.volumes.map(\.title) == ["b", "c"] && shelf.name == "")
    try context.save()
  }

  @Test("If keepCurrent keeps an inserted object, the links to it stay at both ends")
  func keptTargets() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let mark = UndoMark(context: context)
    try context.save()
    scene.manager.removeAllActions()
    let (newVolume, newMark) = context.undoGroup("Insert") {
      let (newVolume, newMark) = (UndoVolume(context: context), UndoMark(context: context))
      (mark.favourite, volume.sequel) = (newVolume, newVolume)
      mark.volumes.insert(newVolume)
      volume.marks.insert(newMark)
      return (newVolume, newMark)
    }
    try context.save()
    try scene.changeElsewhere {
      try undoVolume(newVolume.objectID, $0).title = "Theirs"
      try $0.existingObject(with: newMark.objectID).setValue("theirs", forKey: "label")
    }
    try context.undo(.keepCurrent)
    #expect(mark.favourite === newVolume && volume.sequel === newVolume)
    #expect(mark.volumes.contains(newVolume) && volume.marks.contains(newMark))
    try context.save()
  }
}

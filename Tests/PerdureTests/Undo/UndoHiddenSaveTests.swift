// Undo of an unsaved edit that hides a value that another context has saved.

import Perdure
import PerdureModel
import PerdurePredicates
import Testing

@Suite("Undo of unsaved edits that hide saves of other contexts")
struct UndoHiddenSaveTests {
  /// Saves a title in another context, and merges the save: the unsaved title stays.
  private func saveElsewhere(_ title: String, of volume: UndoVolume, in scene: UndoScene) throws {
    try scene.changeElsewhere { try undoVolume(volume.objectID, $0).title = title }
  }

  @Test("The undo of an unsaved edit conflicts with another context's save that the edit hides")
  func event() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    volume.title = "Mine"
    try saveElsewhere("Theirs", of: volume, in: scene)
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.property) == ["title"] && found.map(\.before) == [.string("One")])
    #expect(found.map(\.after) == [.string("Mine")] && found.map(\.current) == [.string("Theirs")])
    #expect(volume.title == "Mine" && scene.manager.undoCount == 1)
    try context.undo(.keepCurrent)
    #expect(volume.title == "Mine" && scene.manager.undoCount == 0)
  }

  @Test("The undo of a group conflicts with a save that another context made during the group's closure")
  func closure() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    try context.undoGroup("Edit") {
      volume.title = "Mine"
      try saveElsewhere("Theirs", of: volume, in: scene)
      volume.title = "Mine again"
    }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.before) == [.string("One")] && found.map(\.current) == [.string("Theirs")])
    try context.undo(.overwrite)
    #expect(volume.title == "One")
    try context.save()
    #expect(try undoVolume(volume.objectID, scene.container.newContext()).title == "One")
  }

  @Test("An edit after the hidden save can be undone, and only the earlier edit conflicts")
  func laterEdit() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Before") { volume.title = "Mine" }
    try saveElsewhere("Theirs", of: volume, in: scene)
    context.undoGroup("After") { volume.title = "Mine again" }
    try context.undo()
    #expect(volume.title == "Mine")
    try context.redo()
    try context.undo()
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.after) == [.string("Mine")] && found.map(\.current) == [.string("Theirs")])
    try context.undo(.overwrite)
    #expect(volume.title == "One")
    try context.redo()
    #expect(volume.title == "Mine")
  }

  @Test("An undo that restores an unsaved value over a hidden save is no conflict")
  func unsavedBefore() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("First") { volume.title = "Mine" }
    context.undoGroup("Second") { volume.title = "Mine again" }
    try saveElsewhere("Theirs", of: volume, in: scene)
    try context.undo()
    #expect(volume.title == "Mine")
    try context.redo()
    try context.undo()
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.before) == [.string("One")] && found.map(\.current) == [.string("Theirs")])
  }

  @Test("After an overwrite of a hidden save, earlier groups can be undone without conflicts")
  func overwritten() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("First") { volume.title = "Two" }
    try context.save()
    context.undoGroup("Second") { volume.title = "Mine" }
    try saveElsewhere("Theirs", of: volume, in: scene)
    #expect(undoConflicts { () throws(PerdureError) in try context.undo() }.count == 1)
    try context.undo(.overwrite)
    try context.undo()
    #expect(volume.title == "One")
    try context.redo()
    try context.redo()
    #expect(volume.title == "Mine")
  }

  @Test("The undo of a new edit has no conflict if an earlier edit that hid a save was discarded")
  func discarded() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("First") { volume.title = "Mine" }
    try saveElsewhere("Theirs", of: volume, in: scene)
    context.refresh(volume, mergeChanges: false)
    context.undoGroup("Second") { volume.title = "Mine again" }
    try context.undo()
    #expect(volume.title == "Theirs")
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.after) == [.string("Mine")] && found.map(\.current) == [.string("Theirs")])
  }

  @Test("A save of another property, and one of an object without unsaved edits, are no conflicts")
  func otherProperty() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let other = try scene.volume("Other")
    volume.title = "Mine"
    try scene.changeElsewhere {
      try undoVolume(volume.objectID, $0).pages = 9
      try undoVolume(other.objectID, $0).title = "Theirs"
    }
    try context.undo()
    #expect(volume.title == "One" && volume.pages == 9 && other.title == "Theirs")
    #expect(!context.hasChanges)
  }

  @Test("After a save, the undo of an edit that has hidden another save restores the earlier value")
  func saved() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    volume.title = "Mine"
    try saveElsewhere("Theirs", of: volume, in: scene)
    try context.save()
    try context.undo()
    #expect(volume.title == "One")
    try context.redo()
    #expect(volume.title == "Mine")
  }

  @Test("After a failed save, the undo of an edit still conflicts with the save that the edit hides")
  func failedSave() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let mark = UndoMark(context: context)
    mark.label = "Taken"
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Edit") { volume.title = "Mine" }
    try saveElsewhere("Theirs", of: volume, in: scene)
    let duplicate = UndoMark(context: context)
    duplicate.label = "Taken"
    #expect(throws: PerdureError.self) { try context.save() }
    try context.undo()
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.current) == [.string("Theirs")])
  }

  @Test("An edit hides a save also if the context advances without a merge of the object")
  func withoutMerge() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let other = try scene.volume("Other")
    volume.title = "Mine"
    let writing = scene.container.newContext()
    try undoVolume(volume.objectID, writing).title = "Theirs"
    try writing.save()
    context.refresh(other, mergeChanges: true)
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.current) == [.string("Theirs")])
    #expect(volume.title == "Mine")
  }

  @Test("Undo conflicts with a newer save of a property, even if another property has an older unsaved edit")
  func shownAboveOlderBase() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let other = try scene.volume("Other")
    let writing = scene.container.newContext()
    let theirs = try undoVolume(volume.objectID, writing)
    func saveElsewhere(_ change: () -> Void) throws {
      change()
      try writing.save()
      context.refresh(other, mergeChanges: true)
    }
    context.withoutUndo { volume.pages = 1 }
    try saveElsewhere { (theirs.pages, theirs.title) = (2, "Two") }
    #expect(volume.title == "Two" && volume.pages == 1)
    volume.title = "Mine"
    try saveElsewhere { theirs.title = "Three" }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.before) == [.string("Two")] && found.map(\.current) == [.string("Three")])
  }

  @Test("An undo that restores a value has no conflict if another context has saved the same value")
  func sameValue() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("First") { volume.title = "Two" }
    context.undoGroup("Second") { volume.title = "Three" }
    try saveElsewhere("Two", of: volume, in: scene)
    try context.undo()
    #expect(volume.title == "Two")
    let writing = scene.container.newContext()
    #expect(try undoVolume(volume.objectID, writing).title == "Two")
  }

  @Test("The undo of an edit and a deletion conflicts with a save that the edit hides")
  func deleted() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Edit and delete") {
      volume.title = "Mine"
      context.delete(volume)
    }
    try saveElsewhere("Theirs", of: volume, in: scene)
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.property) == ["title"] && found.map(\.current) == [.string("Theirs")])
    #expect(volume.isDeleted)
    try context.undo(.keepCurrent)
    #expect(!volume.isDeleted)
  }

  @Test(
    "The undo of an unsaved edit of a to-one relationship conflicts with a saved target that the edit hides")
  func reference() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    let (mine, theirs) = (UndoShelf(context: context), UndoShelf(context: context))
    try context.save()
    scene.manager.removeAllActions()
    let volume = shelf.volumes[0]
    volume.shelf = mine
    try scene.changeElsewhere {
      try undoVolume(volume.objectID, $0).shelf =
        try $0.existingObject(with: theirs.objectID) as? UndoShelf
    }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.property).contains("shelf"))
    #expect(found.first { $0.property == "shelf" }?.current == .objectID(theirs.objectID.uri))
    #expect(volume.shelf === mine)
  }

  @Test("The undo of an unsaved move conflicts with a saved position that the move hides")
  func position() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b", "c", "d"))
    let volume = shelf.volumes[0]
    shelf.volumes.move(volume, to: 3)
    try scene.changeElsewhere {
      let theirs = try undoVolume(volume.objectID, $0)
      theirs.shelf?.volumes.move(theirs, to: 1)
    }
    #expect(shelf.volumes.map(\.title) == ["b", "c", "d", "a"])
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.property) == ["volumes"] && found.map(\.member) == [volume.objectID])
    #expect(shelf.volumes.map(\.title) == ["b", "c", "d", "a"])
  }

  @Test("The undo of a child context's unsaved edit conflicts with a later edit of the parent context")
  func child() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let child = context.newChildContext()
    child.undoManager = ContextUndoManager()
    let edited = try undoVolume(volume.objectID, child)
    edited.title = "Mine"
    volume.title = "Parent's"
    child.refreshAllObjects()
    let found = undoConflicts { () throws(PerdureError) in try child.undo() }
    #expect(found.map(\.current) == [.string("Parent's")])
    try child.undo(.overwrite)
    #expect(edited.title == "One" && volume.title == "Parent's")
  }

  @Test("After a rollback, a hidden save is no conflict: an earlier edit that was saved can be undone")
  func rolledBack() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Saved") { volume.title = "Two" }
    try context.save()
    volume.title = "Mine"
    try saveElsewhere("Theirs", of: volume, in: scene)
    context.rollback()
    #expect(volume.title == "Theirs")
    try saveElsewhere("Two", of: volume, in: scene)
    try context.undo()
    #expect(volume.title == "One")
  }

  @Test("The undo of a group restores a value that was merged during the group, if no edit hid it")
  func setBackBeforeMerge() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    try context.undoGroup("Edit") {
      volume.title = "Mine"
      volume.title = "One"
      try saveElsewhere("Theirs", of: volume, in: scene)
      #expect(volume.title == "Theirs")
      volume.title = "Mine again"
    }
    try context.undo()
    #expect(volume.title == "Theirs")
  }

  @Test("The undo of an event that edits again after a discard conflicts with the save that was hidden")
  func discardedInGroup() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    volume.title = "Mine"
    try saveElsewhere("Theirs", of: volume, in: scene)
    context.refresh(volume, mergeChanges: false)
    volume.title = "Mine again"
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.before) == [.string("One")] && found.map(\.current) == [.string("Theirs")])
  }

  @Test("A save after an overwrite keeps the restored value, also without a merge of the object")
  func overwrittenWithoutMerge() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let other = try scene.volume("Other")
    volume.title = "Mine"
    volume.pages = 1
    let writing = scene.container.newContext()
    let theirs = try undoVolume(volume.objectID, writing)
    (theirs.title, theirs.note) = ("Theirs", "n")
    try writing.save()
    context.refresh(other, mergeChanges: true)
    try context.undo(.overwrite)
    #expect(volume.title == "One" && volume.pages == 0)
    try context.save()
    let saved = try undoVolume(volume.objectID, scene.container.newContext())
    #expect(saved.title == "One" && saved.pages == 0 && saved.note == "n")
  }

  @Test("If an undo overwrites one property, the save still conflicts about another property")
  func otherConflict() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let other = try scene.volume("Other")
    context.undoGroup("Note") { volume.note = "mine" }
    context.undoGroup("Title") { volume.title = "Mine" }
    let writing = scene.container.newContext()
    let theirs = try undoVolume(volume.objectID, writing)
    (theirs.title, theirs.note) = ("Theirs", "theirs")
    try writing.save()
    context.refresh(other, mergeChanges: true)
    try context.undo(.overwrite)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .mergeConflict)
    #expect(volume.title == "One" && volume.note == "mine")
  }

  @Test("After an undo that overwrites another conflict, the next undo still conflicts with a hidden save")
  func overwrittenElsewhere() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("First") { volume.title = "Mine" }
    try saveElsewhere("Theirs", of: volume, in: scene)
    context.undoGroup("Second") { volume.title = "Mine again" }
    context.withoutUndo { volume.title = "Excluded" }
    try context.undo(.overwrite)
    #expect(volume.title == "Mine")
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.current) == [.string("Theirs")])
  }

  @Test(
    "A hidden save is no conflict after the edit that hid it was discarded and the old value was saved again")
  func savedAgain() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Saved") { volume.title = "Two" }
    try context.save()
    context.undoGroup("Unsaved") { volume.title = "Mine" }
    try saveElsewhere("Theirs", of: volume, in: scene)
    context.refresh(volume, mergeChanges: false)
    try saveElsewhere("Two", of: volume, in: scene)
    try context.undo()
    try context.undo()
    #expect(volume.title == "One")
  }

  @Test("A hidden save of an object that another context has deleted later is no conflict")
  func deletedLater() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let id = volume.objectID
    context.undoGroup("Edit and delete") {
      volume.title = "Mine"
      context.delete(volume)
    }
    try saveElsewhere("Theirs", of: volume, in: scene)
    try scene.changeElsewhere { $0.delete(try $0.existingObject(with: id)) }
    try context.undo()
    #expect(!volume.isDeleted && volume.title == "One")
  }

  @Test("Two contexts that set the same value have no conflict, for texts and for numbers")
  func sameEdit() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    (volume.title, volume.pages) = ("Two", 2)
    try scene.changeElsewhere {
      let theirs = try undoVolume(volume.objectID, $0)
      (theirs.title, theirs.pages) = ("Two", 2)
    }
    try context.undo()
    #expect(volume.title == "One" && volume.pages == 0)
  }

  @Test(
    "The undo of an unsaved one-to-one link conflicts with a saved link that the unsaved link hides",
    arguments: [false, true])
  func partner(inserts: Bool) throws {
    let scene = try UndoScene()
    let (context, first) = (scene.context, try scene.volume("first"))
    let (second, target) = (try scene.volume("second"), try scene.volume("target"))
    context.undoGroup("Link") {
      let source = inserts ? UndoVolume(context: context) : first
      source.sequel = target
    }
    try scene.changeElsewhere {
      try undoVolume(second.objectID, $0).sequel = try undoVolume(target.objectID, $0)
    }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.property) == ["prequel"] && found.map(\.objectID) == [target.objectID])
    #expect(found.map(\.current) == [.objectID(second.objectID.uri)])
    try context.undo(.overwrite)
    #expect(target.prequel == nil && second.sequel == nil)
  }
}

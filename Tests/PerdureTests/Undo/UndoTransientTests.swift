import Perdure
import Testing

/// A value without `==`.
private struct Sketch { var strokes: [() -> Int] = [] }

@Entity private final class Sheet: ManagedObject {
  var name: String = ""
  @Attribute(.transient) var sketch: Sketch?
}

@Suite("Undo of transient attributes")
struct UndoTransientTests {
  @Test("A transient value of a type without == is undone and redone like any other")
  func incomparable() throws {
    let container = try PersistentContainer(name: "Sheets", classes: [Sheet.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let sheet = Sheet(context: context)
    try context.save()
    context.undoManager = ContextUndoManager()
    context.undoGroup("Draw") {
      sheet.name = "x"
      sheet.sketch = Sketch(strokes: [{ 1 }])
    }
    context.undoGroup("Erase") { sheet.sketch = nil }
    try context.undo()
    #expect(sheet.sketch?.strokes.count == 1)
    try context.undo()
    #expect(sheet.name == "" && sheet.sketch == nil)
    try context.redo()
    #expect(sheet.name == "x" && sheet.sketch?.strokes.count == 1)
    context.withoutUndo { sheet.sketch = Sketch() }
    #expect(undoConflicts { () throws(PerdureError) in try context.undo() }.map(\.property) == ["sketch"])
  }

  @Test("After the undo of a transient edit, the object has no changes", arguments: [false, true])
  func unchanged(_ hasOtherChange: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Edit") {
      volume.mood = "merry"
      if hasOtherChange { volume.title = "Two" }
    }
    #expect(context.hasChanges)
    try context.undo()
    #expect(volume.mood == nil && !volume.hasChanges && !context.hasChanges)
    try context.redo()
    #expect(volume.mood == "merry" && volume.hasChanges)
    context.withoutUndo { volume.pages = 7 }
    try context.undo()
    #expect(volume.mood == nil && volume.changedValues().keys.sorted() == ["pages"])
    context.rollback()
    #expect(volume.mood == nil && volume.pages != 7 && !context.hasChanges)
  }

  @Test("A redo is no conflict after the instance was released or refreshed", arguments: [false, true])
  func releasedInstance(_ isReleased: Bool) throws {
    let scene = try UndoScene()
    let context = scene.context
    var kept: UndoVolume?
    let id = try {
      let volume = try scene.volume("One")
      context.undoGroup("Edit") {
        volume.title = "Two"
        volume.mood = "calm"
      }
      try context.undo()
      try context.save()
      if isReleased { return volume.objectID }
      kept = volume
      context.refresh(volume, mergeChanges: false)
      return volume.objectID
    }()
    #expect(undoConflicts { () throws(PerdureError) in try context.redo() } == [])
    #expect(try context.existingObject(with: id).value(forKey: "title") as? String == "Two")
    withExtendedLifetime(kept) {}
  }
}

extension UndoTransientTests {
  @Test("The undo of a deletion restores transient values, also after a save", arguments: [false, true])
  func deletion(_ isSaved: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let other = try scene.volume("Other")
    volume.mood = "calm"
    volume.companion = other
    context.processPendingChanges()
    context.undoGroup("Delete") {
      context.delete(volume)
      context.delete(other)
    }
    if isSaved { try context.save() }
    try context.undo()
    #expect(volume.mood == "calm" && volume.companion === other && !other.isDeleted)
    try context.redo()
    #expect(volume.isDeleted)
    try context.undo()
    #expect(volume.mood == "calm" && volume.title == "One")
  }

  @Test("A transient value that is lost with its instance is no conflict")
  func lostValue() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    volume.mood = "calm"
    context.processPendingChanges()
    context.undoGroup("Edit") {
      volume.title = "Two"
      volume.mood = "merry"
    }
    try context.save()
    context.refresh(volume, mergeChanges: false)
    #expect(volume.mood == nil)
    #expect(undoConflicts { () throws(PerdureError) in try context.undo() } == [])
    #expect(volume.title == "One" && volume.mood == "calm")
    context.withoutUndo { volume.mood = "sad" }
    #expect(undoConflicts { () throws(PerdureError) in try context.redo() }.map(\.property) == ["mood"])
  }

  @Test("If a rollback removes a restored instance, the next undo restores the same instance")
  func rolledBack() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Delete") { context.delete(volume) }
    try context.save()
    try context.undo()
    #expect(volume.managedObjectContext === context && volume.title == "One")
    context.rollback()
    #expect(volume.managedObjectContext == nil)
    try context.undo()
    #expect(volume.managedObjectContext === context && volume.title == "One")
    try context.save()
    #expect(try context.count(for: FetchRequest<UndoVolume>()) == 1)
  }
}

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

import Perdure
import Testing

@Suite("Events of edits and undos of transient attributes")
struct UndoTransientEventTests {
  @Test("Events report the undo and the redo of a transient value")
  func undo() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    var count = 0
    let observation = context.observe { news in
      if news.updatedObjects.union(news.refreshedObjects).contains(volume) { count += 1 }
    }
    context.undoGroup("Mood") { volume.mood = "calm" }
    #expect(count == 1)
    try context.undo()
    #expect(volume.mood == nil && count == 2)
    try context.redo()
    #expect(volume.mood == "calm" && count == 3)
    withExtendedLifetime(observation) {}
  }

  @Test("An event reports a second edit of a transient value")
  func secondEdit() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    var count = 0
    let observation = context.observe { news in
      if news.updatedObjects.contains(volume) { count += 1 }
    }
    for mood in ["calm", "glad"] {
      volume.mood = mood
      context.processPendingChanges()
    }
    #expect(count == 2)
    withExtendedLifetime(observation) {}
  }
}

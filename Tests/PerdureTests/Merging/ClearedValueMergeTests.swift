import Perdure
import Testing

@Suite("Saves of edits that set a value back to that of an older row")
struct ClearedValueMergeTests {
  @Test(
    "A save keeps an edit of a shown value, even if the new value equals that of the older row",
    arguments: [false, true])
  func cleared(_ mergesAll: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let another = try scene.volume("Another")
    context.undoManager = nil
    context.mergePolicy = .mergeByPropertyObjectTrump
    volume.title = "Mine"
    try scene.saveElsewhere {
      let other = try undoVolume(volume.objectID, $0)
      (other.title, other.note) = ("Theirs", "theirs")
    }
    if mergesAll { context.refreshAllObjects() } else { context.refresh(another, mergeChanges: true) }
    #expect(volume.note == "theirs")
    volume.note = nil
    #expect(volume.note == nil)
    try context.save()
    #expect(volume.title == "Mine" && volume.note == nil)
  }

  @Test("A merge of another object's changes keeps an edit that sets a value back to that of the older row")
  func merged() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let another = try scene.volume("Another")
    context.undoManager = nil
    volume.title = "Mine"
    try scene.saveElsewhere {
      let other = try undoVolume(volume.objectID, $0)
      (other.title, other.note) = ("Theirs", "theirs")
    }
    context.refresh(another, mergeChanges: true)
    volume.note = nil
    try scene.saveElsewhere { try undoVolume(another.objectID, $0).note = "x" }
    context.refresh(another, mergeChanges: true)
    #expect(volume.title == "Mine" && volume.note == nil)
  }
}

import Perdure
import Testing

@Suite("Undo of objects whose unsaved changes are based on an older row")
struct UndoOlderRowTests {
  @Test("An undo keeps an unsaved edit that sets another property to the older row's value")
  func otherEdit() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let another = try scene.volume("Another")
    context.undoGroup("Title") { volume.title = "Mine" }
    try scene.saveElsewhere {
      let other = try undoVolume(volume.objectID, $0)
      (other.title, other.note) = ("Theirs", "theirs")
    }
    context.refresh(another, mergeChanges: true)
    #expect(volume.note == "theirs")
    context.undoGroup("Clear") { volume.note = nil }
    context.undoGroup("Pages") { volume.pages = 5 }
    try context.undo()
    #expect(volume.note == nil)
  }

  @Test("The ends of a one-to-one relationship agree after an undo of another property")
  func pair() throws {
    let scene = try UndoScene()
    let (context, first) = (scene.context, try scene.volume("First"))
    let (second, another) = (try scene.volume("Second"), try scene.volume("Another"))
    context.undoGroup("Title") { first.title = "Mine" }
    try scene.saveElsewhere {
      let other = try undoVolume(first.objectID, $0)
      other.title = "Theirs"
      other.sequel = try undoVolume(second.objectID, $0)
    }
    context.undoGroup("Link") { second.sequel = second }
    context.refresh(another, mergeChanges: true)
    #expect(first.sequel == nil && second.prequel === second)
    context.undoGroup("Note") { first.note = "n" }
    try context.undo()
    #expect(first.sequel == nil && second.prequel === second)
  }
}

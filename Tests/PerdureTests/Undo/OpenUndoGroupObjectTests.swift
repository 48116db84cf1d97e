// Open undo groups whose objects exist again after a cancelled deletion or a child's undo.

import PerdureModel
import Testing

@testable import Perdure

@Suite("Open undo groups whose objects exist again")
struct OpenUndoGroupObjectTests {
  private let object = ObjectReference(entity: 1, id: 1)

  private struct Reader: EditedContentReader {
    var now: [EditedPlace: Int64] = [:]

    func content(of place: EditedPlace) -> EditedContent {
      now[place].map { .value(.integer($0)) } ?? .absent
    }
    func storedContent(of place: EditedPlace) -> EditedContent? { content(of: place) }
  }

  @Test("If a deletion is cancelled, a group drops the unchanged values that it has kept for the object")
  func cancelled() {
    let (group, title) = (OpenUndoGroup(name: ""), EditedPlace.column(object, slot: 0))
    group.note(title) { .value(.integer(1)) }
    group.note(.object(object)) { .value(.integer(1)) }
    group.readContents(Reader(now: [title: 1]))
    #expect(group.changes().map(\.place) == [title, .object(object)])
    group.note(.object(object)) { .absent }
    group.readContents(Reader(now: [title: 1, .object(object): 1]))
    #expect(group.changes().isEmpty)
  }

  @Test("A group in which a child deletes an object and inserts it again has no changes")
  func cancelledByChild() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    try context.undoGroup("Both") {
      volume.title = "Two"
      volume.title = "One"
      let child = context.newChildContext()
      let undoing = ContextUndoManager()
      child.undoManager = undoing
      child.delete(try undoVolume(volume.objectID, child))
      try child.save()
      #expect(volume.isDeleted)
      context.refreshAllObjects()
      try undoing.undo()
      try child.save()
    }
    #expect(!volume.isDeleted && volume.title == "One")
    #expect(scene.manager.undoCount == 0 && scene.manager.brokenInvariants == [])
  }
}

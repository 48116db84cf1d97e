import Testing

@testable import Perdure

/// As `UndoRulesAfterMergeTests.laterGroup`, with relationships and a transient attribute.
@Suite("Later edits of an object that a merge adds to an earlier deletion")
struct UndoLaterLinkTests {
  enum Edit: CaseIterable {
    case link, reference, transient
  }

  @Test(
    "The undo of both groups restores the object without the edit of the later group",
    arguments: Edit.allCases,
    [false, true])
  func laterGroup(_ edit: Edit, _ isSaved: Bool) throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    let (volume, next) = (try scene.volume("One"), try scene.volume("Next"))
    let mark = UndoMark(context: context)
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Delete") { context.delete(shelf) }
    context.undoGroup("Edit") {
      switch edit {
      case .link: volume.marks.insert(mark)
      case .reference: volume.sequel = next
      case .transient: volume.mood = "merry"
      }
    }
    try scene.saveElsewhere { other in
      let theirs = try other.existingObject(with: shelf.objectID)
      try other.existingObject(with: volume.objectID).setValue(theirs, forKey: "shelf")
    }
    context.refreshAllObjects()
    context.processPendingChanges()
    #expect(volume.isDeleted && scene.manager.undoCount == 2)
    if isSaved {
      context.mergePolicy = .mergeByPropertyObjectTrump
      try context.save()
    }
    while scene.manager.canUndo { try context.undo() }
    #expect(!volume.isDeleted)
    #expect(volume.marks.isEmpty && volume.sequel == nil && volume.mood == nil)
  }
}

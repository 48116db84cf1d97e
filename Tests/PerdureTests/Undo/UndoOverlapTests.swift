import Testing

@testable import Perdure

/// The group "Edit" of one task begins before the group "Delete" of another task, and ends after
/// it. Both groups are about the same object.
@Suite("Overlapping groups that edit and delete one object")
struct UndoOverlapTests {
  enum Edit: CaseIterable {
    case attribute, transient, link, reference
  }

  @Test(
    "The undo of the group that has ended last is a conflict, and changes nothing", arguments: Edit.allCases,
    [false, true])
  func both(_ edit: Edit, _ isSaved: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let (next, mark) = (try scene.volume("Next"), UndoMark(context: context))
    try context.save()
    scene.manager.removeAllActions()
    let groups = context.core.editing.undoGroups
    let first = try #require(groups.beginTask("Edit"))
    UndoTask.$token.withValue(first) {
      switch edit {
      case .attribute: volume.title = "Two"
      case .transient: volume.mood = "merry"
      case .link: volume.marks.insert(mark)
      case .reference: volume.sequel = next
      }
    }
    let second = try #require(groups.beginTask("Delete"))
    UndoTask.$token.withValue(second) { context.delete(volume) }
    context.core.operations.eventEnd.endTask(second)
    context.core.operations.eventEnd.endTask(first)
    #expect(scene.manager.undoCount == 2 && volume.isDeleted)
    if isSaved { try context.save() }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.objectID) == [volume.objectID])
    #expect(scene.manager.undoCount == 2 && context.hasChanges == !isSaved)
    #expect(isSaved ? volume.managedObjectContext == nil : volume.isDeleted)
  }
}

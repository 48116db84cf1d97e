import Testing

@testable import Perdure

/// The group "Edit" of one task begins before the group "Delete" of another task, and ends after
/// it. Both groups are about the same object.
@Suite("Overlapping groups that edit and delete one object")
struct UndoOverlapTests {
  enum Edit: CaseIterable {
    case attribute, transient, link, reference
  }

  private struct Values: Equatable {
    let title: String
    let mood: String?
    let markCount: Int
    let hasSequel: Bool

    init(_ volume: UndoVolume) {
      (title, mood) = (volume.title, volume.mood)
      (markCount, hasSequel) = (volume.marks.count, volume.sequel != nil)
    }
  }

  @Test(
    "The undo of both groups restores the values before both groups, or is refused", arguments: Edit.allCases,
    [false, true])
  func both(_ edit: Edit, _ isSaved: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let (next, mark) = (try scene.volume("Next"), UndoMark(context: context))
    try context.save()
    scene.manager.removeAllActions()
    let before = Values(volume)
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
    var isRefused = false
    while scene.manager.canUndo, !isRefused {
      isRefused = !undoConflicts { () throws(PerdureError) in try context.undo() }.isEmpty
    }
    #expect(isRefused || !volume.isDeleted && Values(volume) == before)
  }
}

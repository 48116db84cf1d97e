import Perdure
import Testing

@Suite("Undo of edits of a new object that a save has merged into another one")
struct UndoMergedObjectTests {
  /// A context whose new mark was merged into the mark of another context, with the groups "Insert"
  /// and "Edit".
  ///
  /// - Parameter savesInGroup: Whether the save that merges runs in the closure of "Edit".
  private func merged(
    savesInGroup: Bool, _ edit: (UndoMark) -> Void
  ) throws -> (UndoScene, UndoMark) {
    let scene = try UndoScene()
    let context = scene.context
    context.mergePolicy = .mergeByPropertyObjectTrump
    let mark = context.undoGroup("Insert") {
      let mark = UndoMark(context: context)
      mark.label = "x"
      return mark
    }
    let other = scene.container.newContext()
    UndoMark(context: other).label = "x"
    try other.save()
    try context.undoGroup("Edit") {
      edit(mark)
      if savesInGroup { try context.save() }
    }
    if !savesInGroup { try context.save() }
    #expect(context.mergedObjectIDs.count == 1)
    let found = try context.fetch(FetchRequest<UndoMark>())
    return (scene, try #require(found.first))
  }

  @Test(
    "An undo removes a link that the group has added, and keeps the object of the other context",
    arguments: [false, true])
  func link(savesInGroup: Bool) throws {
    var volume: UndoVolume?
    let (scene, mark) = try merged(savesInGroup: savesInGroup) { mark in
      let new = UndoVolume(context: mark.managedObjectContext!)
      mark.volumes.insert(new)
      mark.favourite = new
      volume = new
    }
    #expect(mark.volumes.count == 1 && mark.favourite === volume)
    try scene.context.undo()
    #expect(mark.volumes.isEmpty && mark.favourite == nil && volume?.isDeleted == true)
    try scene.context.redo()
    #expect(mark.volumes.map(\.objectID) == [volume?.objectID] && mark.favourite === volume)
    try scene.context.undo()
    try scene.context.undo()
    #expect(!scene.manager.canUndo && !mark.isDeleted && mark.label == "x")
    try scene.context.save()
    #expect(try scene.container.newContext().count(for: FetchRequest<UndoMark>()) == 1)
  }

  /// A context whose new mark "x" is merged by a save that writes nothing: the mark of the other
  /// context has the same contents. The groups are "Insert" and "Edit".
  private func mergedIntoEqual(
    savesInGroup: Bool, _ edit: (UndoMark, UndoVolume) -> Void
  ) throws -> (UndoScene, UndoMark, UndoVolume) {
    let scene = try UndoScene()
    let context = scene.context
    context.mergePolicy = .mergeByPropertyObjectTrump
    let volume = try scene.volume("One")
    let mark = context.undoGroup("Insert") {
      let mark = UndoMark(context: context)
      mark.label = "x"
      return mark
    }
    try scene.saveElsewhere { other in
      let same = UndoMark(context: other)
      same.label = "x"
      edit(same, try undoVolume(volume.objectID, other))
    }
    try context.undoGroup("Edit") {
      edit(mark, volume)
      if savesInGroup { try context.save() }
    }
    if !savesInGroup { try context.save() }
    #expect(context.mergedObjectIDs.count == 1 && !context.hasChanges && scene.manager.canUndo)
    return (scene, try #require(try context.fetch(FetchRequest<UndoMark>()).first), volume)
  }

  @Test(
    "An undo keeps a link that the object of the other context had before the save",
    arguments: [false, true])
  func savedLink(savesInGroup: Bool) throws {
    let (scene, mark, volume) = try mergedIntoEqual(savesInGroup: savesInGroup) { $0.volumes.insert($1) }
    #expect(mark.volumes.contains(volume))
    try scene.context.undo()
    #expect(mark.volumes.contains(volume) && !scene.context.hasChanges)
  }

  @Test(
    "A reference can be undone after a save that merges its object and writes nothing",
    arguments: [false, true])
  func equalReference(savesInGroup: Bool) throws {
    let (scene, mark, volume) = try mergedIntoEqual(savesInGroup: savesInGroup) { $0.favourite = $1 }
    #expect(mark.favourite === volume)
    try scene.context.undo()
    #expect(mark.favourite == nil && scene.context.hasChanges)
    try scene.context.redo()
    #expect(mark.favourite === volume)
  }
}

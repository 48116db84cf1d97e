import Perdure
import Testing

@Suite("Undo of a deletion, after another context has inserted the object again too")
struct UndoInsertedTwiceTests {
  /// A context that has deleted a volume "mine", saved, and undone the deletion. Another context,
  /// whose policy inserted the volume again, has saved it as "theirs".
  ///
  /// - Parameter shows: Whether the context then shows the state of that save.
  private func both(shows: Bool) throws -> (UndoScene, UndoVolume) {
    let scene = try UndoScene()
    let context = scene.context
    let (volume, unchanged) = (try scene.volume("mine"), try scene.volume("unchanged"))
    let other = scene.container.newContext()
    other.mergePolicy = .mergeByPropertyObjectTrump
    try #require(other.object(with: volume.objectID) as? UndoVolume).title = "theirs"
    context.undoGroup("Delete") { context.delete(volume) }
    try context.save()
    try context.undo()
    try other.save()
    if shows { context.refresh(unchanged, mergeChanges: true) }
    let again = try #require(context.object(with: volume.objectID) as? UndoVolume)
    #expect(again.title == "mine" && again.hasChanges)
    return (scene, again)
  }

  private func savedTitles(_ scene: UndoScene) throws -> [String] {
    try scene.container.newContext().fetch(FetchRequest<UndoVolume>()).map(\.title).sorted()
  }

  @Test(
    "The policy decides which values are saved",
    arguments: [
      (MergePolicy.mergeByPropertyStoreTrump, "theirs"), (.rollback, "theirs"),
      (.mergeByPropertyObjectTrump, "mine"), (.overwrite, "mine"),
    ], [false, true])
  func decided(policy: (MergePolicy, title: String), shows: Bool) throws {
    let (scene, volume) = try both(shows: shows)
    scene.context.mergePolicy = policy.0
    try scene.context.save()
    #expect(volume.title == policy.title && !scene.context.hasChanges)
    #expect(try savedTitles(scene) == [policy.title, "unchanged"])
  }

  @Test(
    "Without a policy, the save reports the differing values, and a rollback shows the saved ones",
    arguments: [false, true])
  func conflict(shows: Bool) throws {
    let (scene, volume) = try both(shows: shows)
    let error = #expect(throws: PerdureError.self) { try scene.context.save() }
    #expect(error?.code == .mergeConflict)
    let conflict = try #require(error?.conflicts.first)
    #expect(conflict.kind == .changed && conflict.objectID == volume.objectID)
    #expect(conflict.properties.map(\.property) == ["title"])
    #expect(volume.title == "mine")
    scene.context.rollback()
    let saved = try #require(
      try scene.context.fetch(FetchRequest<UndoVolume>()).first { $0.objectID == volume.objectID })
    #expect(saved.title == "theirs" && !scene.context.hasChanges)
  }

  @Test("A deletion of the object removes the object that the other context saved")
  func deletedAgain() throws {
    let (scene, volume) = try both(shows: true)
    scene.context.mergePolicy = .mergeByPropertyObjectTrump
    scene.context.delete(volume)
    try scene.context.save()
    #expect(try savedTitles(scene) == ["unchanged"])
  }

  @Test("The redo of the deletion removes the object that the other context saved")
  func redone() throws {
    let (scene, _) = try both(shows: true)
    scene.context.mergePolicy = .mergeByPropertyObjectTrump
    try scene.context.redo()
    try scene.context.save()
    #expect(try savedTitles(scene) == ["unchanged"])
  }

  @Test(
    "Equal insertions are not a conflict: derived values and times of saves are not compared",
    arguments: [false, true])
  func equal(shows: Bool) throws {
    let scene = try UndoScene()
    let context = scene.context
    let (shelf, unchanged) = (try scene.shelf("a", "b"), try scene.volume("unchanged"))
    let mark = UndoMark(context: context)
    mark.label = "x"
    try context.save()
    let other = scene.container.newContext()
    other.mergePolicy = .mergeByPropertyObjectTrump
    let theirs = try #require(other.object(with: shelf.objectID) as? UndoShelf)
    theirs.name = "same"
    try #require(other.object(with: mark.objectID) as? UndoMark).label = "x2"
    for volume in theirs.volumes { volume.pages = 1 }
    context.undoGroup("Delete") { [shelf, mark].forEach(context.delete) }
    try context.save()
    try context.undo()
    try other.save()
    if shows { context.refresh(unchanged, mergeChanges: true) }
    let again = try #require(context.object(with: shelf.objectID) as? UndoShelf)
    let marked = try #require(context.object(with: mark.objectID) as? UndoMark)
    (again.name, marked.label) = ("same", "x2")
    for volume in again.volumes { volume.pages = 1 }
    try context.save()
    #expect(again.name == "same" && marked.savedAt != nil && !context.hasChanges)
    #expect(again.volumeCount == 2)
    let saved = try scene.container.newContext().fetch(FetchRequest<UndoShelf>()).first
    #expect(saved?.volumes.map(\.title) == ["a", "b"] && saved?.volumeCount == 2)
  }
}

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
}

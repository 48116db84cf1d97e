// Observers of a parent edit its child while the child saves.

import Perdure
import PerdureTestSupport
import Testing

@Suite("Edits of a child by observers of its parent during a save")
struct ParentObserverTests {
  private let scene: UndoScene
  private let child: ManagedObjectContext
  private let item: UndoVolume

  init() throws {
    scene = try UndoScene()
    let volume = try scene.volume("One")
    child = scene.context.newChildContext()
    item = try undoVolume(volume.objectID, child)
  }

  /// Checks that the edit of an observer is an unsaved change after the save.
  private func checkLateEdit() throws {
    #expect(item.note == "late" && child.hasChanges)
    try child.save()
    #expect(try undoVolume(item.objectID, scene.context).note == "late")
  }

  @Test("An edit by an observer of the parent is unsaved after the save of the child")
  func contextObserver() throws {
    var isFirst = true
    let observation = scene.context.observe { _ in
      if isFirst { item.note = "late" }
      isFirst = false
    }
    item.title = "Two"
    try child.save()
    try checkLateEdit()
    withExtendedLifetime(observation) {}
  }

  @Test("An edit by an observer of the parent's undo manager is unsaved after the save of the child")
  func managerObserver() throws {
    var isFirst = true
    let observation = scene.manager.observe { _ in
      if isFirst { item.note = "late" }
      isFirst = false
    }
    item.title = "Two"
    try child.save()
    try checkLateEdit()
    withExtendedLifetime(observation) {}
  }

  @Test("An observer of the parent may save the child that has just saved")
  func savingObserver() throws {
    var isFirst = true
    let observation = scene.context.observe { _ in
      guard isFirst else { return }
      isFirst = false
      item.note = "late"
      do { try child.save() } catch { Issue.record(error) }
    }
    item.title = "Two"
    try child.save()
    #expect(try undoVolume(item.objectID, scene.context).note == "late" && !child.hasChanges)
    withExtendedLifetime(observation) {}
  }

  @Test("An edit by an observer of the context's own undo manager during a save is kept")
  func ownManagerObserver() throws {
    let (context, volume) = (scene.context, try undoVolume(item.objectID, scene.context))
    var edits = 0
    let observation = scene.manager.observe { _ in
      edits += 1
      volume.pages = Int64(edits)
    }
    volume.title = "Two"
    try context.save()
    #expect(edits > 0 && volume.pages == Int64(edits))
    observation.cancel()
    let pages = volume.pages
    try context.save()
    let saved = try undoVolume(volume.objectID, scene.container.newContext())
    #expect(saved.pages == pages && volume.pages == pages && !context.hasChanges)
  }
}

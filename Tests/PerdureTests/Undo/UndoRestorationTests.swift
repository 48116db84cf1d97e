// The data that an undo restores when removed objects exist again, and the changes that then stay
// unsaved.

import Perdure
import PerdurePredicates
import Testing

/// A page whose deletion leaves its references as they are.
@Entity private final class LoosePage: ManagedObject {
  var title: String = ""
  @Relationship(inverse: "pages", deleteRule: .noAction) var folder: LooseFolder?
  @Relationship(inverse: nil) var template: LoosePage?
  @Relationship(inverse: "twin", deleteRule: .noAction) var twin: LoosePage?
  @Transient var events: [SnapshotEventType] = []

  override func awake(fromSnapshotEvents events: SnapshotEventType) { self.events.append(events) }
}

@Entity private final class LooseFolder: ManagedObject {
  @Relationship(inverse: "folder") var pages: ToMany<LoosePage>
}

private struct LooseScene {
  let container: PersistentContainer
  let context: ManagedObjectContext
  let manager = ContextUndoManager()

  init() throws {
    container = try PersistentContainer(
      name: "Loose", classes: [LoosePage.self, LooseFolder.self], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    context.undoManager = manager
  }

  /// A saved page, whose insertion is not in a group.
  func page() throws -> LoosePage {
    let page = LoosePage(context: context)
    page.title = "One"
    try context.save()
    manager.removeAllActions()
    return page
  }
}

@Suite("Restoration of removed objects by an undo")
struct UndoRestorationTests {
  @Test("References that a deletion has left in the object are restored", arguments: [false, true])
  func leftReferences(_ isSaved: Bool) throws {
    let scene = try LooseScene()
    let (context, page) = (scene.context, try scene.page())
    let (folder, template) = (LooseFolder(context: context), LoosePage(context: context))
    (page.folder, page.template) = (folder, template)
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Delete") { context.delete(page) }
    if isSaved { try context.save() }
    try context.undo()
    #expect(page.folder === folder && page.template === template && folder.pages.contains(page))
    try context.save()
    let other = scene.container.newContext()
    let saved = try #require(try other.existingObject(with: page.objectID) as? LoosePage)
    #expect(saved.folder?.pages.contains(saved) == true && saved.template != nil)
  }

  @Test(
    "If `.noAction` keeps both ends of a one-to-one link, the undo of the deletion shows the link again",
    arguments: [false, true])
  func leftTwin(_ isSaved: Bool) throws {
    let scene = try LooseScene()
    let (context, page) = (scene.context, try scene.page())
    let twin = try scene.page()
    page.twin = twin
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Delete") { context.delete(page) }
    if isSaved { try context.save() }
    var isReported = false
    let observation = context.observe { event in
      if event.updatedObjects.union(event.refreshedObjects).contains(twin) { isReported = true }
    }
    try context.undo()
    #expect(page.twin === twin && twin.twin === page && isReported == isSaved)
    withExtendedLifetime(observation) {}
    try context.save()
    let other = scene.container.newContext()
    let saved = try #require(try other.existingObject(with: page.objectID) as? LoosePage)
    #expect(saved.twin?.objectID == twin.objectID && saved.twin?.twin === saved)
  }

  @Test("An undo calls awake(fromSnapshotEvents:) once for an object, and not for removed objects")
  func events() throws {
    let scene = try LooseScene()
    let (context, page) = (scene.context, try scene.page())
    let folder = LooseFolder(context: context)
    let new = context.undoGroup("Edit") {
      page.title = "Two"
      page.folder = folder
      return LoosePage(context: context)
    }
    try context.save()
    new.events = []
    page.events = []
    try context.undo()
    #expect(page.events == [.undoUpdate] && new.isDeleted && new.events == [])
  }

  @Test(
    "The undo of a saved deletion calls awake(fromSnapshotEvents:) of the removed instance",
    arguments: [false, true])
  func eventOfSavedDeletion(_ isFault: Bool) throws {
    let scene = try LooseScene()
    let id = try scene.page().objectID
    let context = scene.context
    let page = try #require(context.object(with: id) as? LoosePage)
    if !isFault { #expect(page.title == "One") }
    context.undoGroup("Delete") { context.delete(page) }
    try context.save()
    page.events = []
    try context.undo()
    #expect(page.events == [.undoDeletion] && page.title == "One")
  }

  @Test(
    "The undo of a deletion restores an object that another context has deleted too",
    arguments: [false, true])
  func deletedTwice(_ refreshesAll: Bool) throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b"))
    let volume = shelf.volumes[0]
    context.undoGroup("Delete") { context.delete(volume) }
    let other = scene.container.newContext()
    other.delete(try other.existingObject(with: volume.objectID))
    try other.save()
    if refreshesAll { context.refreshAllObjects() } else { context.refresh(shelf, mergeChanges: true) }
    try context.undo()
    #expect(!volume.isDeleted && volume.managedObjectContext === context && volume.title == "a")
    #expect(shelf.volumes.map(\.title) == ["a", "b"])
    try context.save()
    #expect(try scene.container.newContext().count(for: FetchRequest<UndoVolume>()) == 2)
  }

  @Test("A context that retains its objects retains a restored object")
  func retained() throws {
    let scene = try UndoScene()
    let context = scene.context
    context.retainsRegisteredObjects = true
    weak var kept: UndoVolume?
    try {
      let volume = try scene.volume("One")
      context.undoGroup("Delete") { context.delete(volume) }
      try context.save()
      try context.undo()
      // Until the save, the unsaved insertion retains the object.
      try context.save()
      kept = volume
    }()
    #expect(kept?.title == "One")
  }

  @Test("After the undo of an unsaved deletion nothing is unsaved, and no later save is a conflict")
  func nothingUnsaved() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Delete") { context.delete(volume) }
    try context.undo()
    #expect(!context.hasChanges && context.updatedObjects.isEmpty && !volume.hasChanges)
    let mark = UndoMark(context: context)
    mark.volumes.insert(volume)
    context.undoGroup("Delete") { context.delete(volume) }
    try context.undo()
    let other = scene.container.newContext()
    try other.existingObject(with: volume.objectID).setValue("Theirs", forKey: "title")
    try other.save()
    try context.save()
    #expect(mark.volumes.contains(volume) && volume.title == "Theirs")
  }

  @Test("A deletion that is undone in the same event is not reported to observers")
  func sameEvent() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    var changed: [ManagedObject] = []
    let observation = context.observe {
      changed += $0.refreshedObjects.union($0.updatedObjects).union($0.deletedObjects)
    }
    context.delete(volume)
    try context.undo()
    #expect(!volume.isDeleted && changed == [])
    withExtendedLifetime(observation) {}
  }

  @Test("The undo of a deletion does not replace the values of an object that exists again")
  func existsAgain() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let child = context.newChildContext()
    child.mergePolicy = .mergeByPropertyObjectTrump
    try child.existingObject(with: volume.objectID).setValue("Two", forKey: "title")
    context.undoGroup("Delete") { context.delete(volume) }
    try context.withoutUndo { try child.save() }
    #expect(!volume.isDeleted && volume.title == "Two" && scene.manager.undoCount == 1)
    try context.undo()
    #expect(!volume.isDeleted && volume.title == "Two")
    try context.save()
    #expect(volume.title == "Two")
  }

  @Test("`keepCurrent` leaves the partner of a deleted object with its later partner")
  func takenPartner() throws {
    let scene = try UndoScene()
    let context = scene.context
    let volumes = try ["a", "b", "c"].map { try scene.volume($0) }
    volumes[0].sequel = volumes[1]
    volumes[1].sequel = volumes[0]
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Delete") { context.delete(volumes[0]) }
    try context.save()
    try scene.changeElsewhere { other in
      let later = try #require(try other.existingObject(with: volumes[2].objectID) as? UndoVolume)
      let partner = try other.existingObject(with: volumes[1].objectID) as? UndoVolume
      (later.sequel, later.prequel) = (partner, partner)
    }
    #expect(!undoConflicts { () throws(PerdureError) in try context.undo() }.isEmpty)
    try context.undo(.keepCurrent)
    #expect(volumes[0].managedObjectContext === context && volumes[2].sequel === volumes[1])
    #expect(volumes[2].prequel === volumes[1])
    #expect(volumes[0].sequel == nil && volumes[0].prequel == nil)
    try context.save()
  }

  @Test("Links of an object that was deleted in withoutUndo are not restored")
  func deletedOwner() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    let volume = shelf.volumes[0]
    context.undoGroup("Take out") { volume.shelf = nil }
    context.withoutUndo { context.delete(volume) }
    try context.undo()
    #expect(volume.isDeleted && shelf.volumes.isEmpty)
    try context.save()
    #expect(try scene.container.newContext().count(for: FetchRequest<UndoVolume>()) == 0)
  }

  @Test("Links of objects that another context has deleted are not restored", arguments: [false, true])
  func lostLinks(_ deletesMark: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let mark = UndoMark(context: context)
    mark.volumes.insert(volume)
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Unmark") { mark.volumes.removeAll() }
    try context.save()
    try scene.changeElsewhere { other in
      other.delete(try other.existingObject(with: deletesMark ? mark.objectID : volume.objectID))
    }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.before) == [.bool(true)] && found.map(\.current) == [.bool(false)])
    try context.undo(.overwrite)
    #expect(deletesMark ? volume.marks.isEmpty : mark.volumes.isEmpty)
    try context.save()
    #expect(!context.hasChanges)
  }

  @Test("The position of a member that another context has moved to another owner is not restored")
  func movedElsewhere() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b", "c"))
    let (later, volume) = (UndoShelf(context: context), shelf.volumes[0])
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Take out") { volume.shelf = nil }
    try context.save()
    try scene.changeElsewhere { other in
      let theirs = try other.existingObject(with: later.objectID)
      try other.existingObject(with: volume.objectID).setValue(theirs, forKey: "shelf")
    }
    try context.undo(.keepCurrent)
    #expect(shelf.volumes.map(\.title) == ["b", "c"] && later.volumes.map(\.title) == ["a"])
    #expect(!context.hasChanges)
    try context.save()
  }
}

import Perdure
import PerdurePredicates
import Testing

@Suite("Undo groups of new objects that are assigned to another store")
struct UndoAssignmentTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let manager = ContextUndoManager()

  init() throws {
    container = PersistentContainer(
      name: "Two", model: try UndoScene().container.managedObjectModel,
      classes: [UndoShelf.self, UndoVolume.self, UndoMark.self], storeDescriptions: [.inMemory, .inMemory])
    try container.loadPersistentStores()
    context = container.newContext()
    context.undoManager = manager
  }

  private func assign(_ object: ManagedObject) throws {
    try context.assign(object, to: container.persistentStores[1])
  }

  @Test("An object that is inserted, changed and assigned in one closure is one group")
  func insideGroup() throws {
    let volume = try context.undoGroup("Insert") {
      let volume = UndoVolume(context: context)
      volume.title = "a"
      volume.mood = "calm"
      try assign(volume)
      volume.pages = 2
      return volume
    }
    try context.undo()
    #expect(volume.managedObjectContext == nil && !context.hasChanges)
    try context.redo()
    #expect(volume.title == "a" && volume.pages == 2 && volume.mood == "calm")
    try context.save()
  }

  @Test("The open group keeps the values and links of an object that is assigned later")
  func laterGroup() throws {
    let (one, two) = (UndoVolume(context: context), UndoVolume(context: context))
    one.title = "One"
    one.sequel = two
    context.processPendingChanges()
    try context.undoGroup("Edit") {
      one.title = "Two"
      one.sequel = nil
      try assign(two)
      try assign(one)
    }
    try context.undo()
    #expect(one.title == "One" && one.sequel === two)
  }

  @Test("A group's value that an edit outside of the group has replaced refers to the assigned object")
  func replacedValue() throws {
    let (one, two) = (UndoVolume(context: context), UndoVolume(context: context))
    context.processPendingChanges()
    try context.undoGroup("Link") {
      one.sequel = two
      context.withoutUndo { one.sequel = nil }
      try assign(two)
      context.withoutUndo { one.sequel = two }
    }
    // The current value is that of the group, so this is not a conflict.
    try context.undo()
    #expect(one.sequel == nil)
    context.undoGroup("Link") { one.prequel = two }
    context.undoGroup("Unlink") { one.prequel = nil }
    try context.undo()
    #expect(one.prequel === two)
  }

  @Test("Members and positions of earlier groups refer to assigned objects", arguments: [0, 1, 2])
  func members(_ assigned: Int) throws {
    let (shelf, mark) = (UndoShelf(context: context), UndoMark(context: context))
    let volumes = ["a", "b", "c"].map { title in
      let volume = UndoVolume(context: context)
      volume.title = title
      return volume
    }
    context.processPendingChanges()
    context.undoGroup("Add") {
      for volume in volumes { shelf.volumes.insert(volume, at: 0) }
      mark.volumes.insert(volumes[1])
    }
    context.undoGroup("Remove") {
      // Removes the members in an order that differs from their positions.
      for position in [1, 0, 2] { shelf.volumes.remove(volumes[position]) }
      mark.volumes.removeAll()
    }
    let objects: [[ManagedObject]] = [volumes, [shelf], [mark]]
    for object in objects[assigned] { try assign(object) }
    try context.undo()
    #expect(shelf.volumes.map(\.title) == ["c", "b", "a"] && mark.volumes.contains(volumes[1]))
    try context.undo()
    #expect(shelf.volumes.isEmpty && mark.volumes.isEmpty)
    try context.redo()
    #expect(shelf.volumes.map(\.title) == ["c", "b", "a"] && mark.volumes.count == 1)
  }

  @Test("Objects in transient attributes, and transient attributes of assigned objects, are restored")
  func transients() throws {
    let (one, two) = (UndoVolume(context: context), UndoVolume(context: context))
    context.processPendingChanges()
    context.undoGroup("Set") { one.companion = two }
    context.undoGroup("Clear") { one.companion = nil }
    try assign(two)
    try assign(one)
    try context.undo()
    #expect(one.companion === two)
    try context.undo()
    #expect(one.companion == nil)
  }

  @Test("A removed object that referred to the assigned object refers to it after the undo")
  func removedOwner() throws {
    let (one, two) = (UndoVolume(context: context), UndoVolume(context: context))
    one.sequel = two
    context.undoGroup("Delete") { context.delete(one) }
    try assign(two)
    try context.undo()
    #expect(one.managedObjectContext === context && one.sequel === two && two.prequel === one)
  }
}

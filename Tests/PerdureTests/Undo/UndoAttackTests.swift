// Undo in combination with delete rules, hooks, constraints, merges and changes of other contexts.

import Perdure
import PerdureTestSupport
import Testing

@Entity(isAbstract: true) private class Place: ManagedObject {
  var name: String = ""
}

@Entity private final class City: Place {
  @Relationship(inverse: "city", deleteRule: .deny) var streets: ToMany<Street>
  @Relationship(inverse: "capital") var capitalOf: Country?
  @Attribute(derived: "streets.length.@sum") private(set) var length: Int
  @Attribute(derived: "streets.@count") private(set) var streetCount: Int
}

@Entity private final class Street: Place {
  var length: Int = 0
  @Attribute(.unique) var code: String?
  @Relationship(inverse: "streets", optional: false) var city: City?
  @Relationship(inverse: "street") var houses: ToMany<House>
  @Relationship(inverse: nil) var crossings: ToMany<Street>
}

@Entity private final class House: ManagedObject {
  var number: Int = 0
  @Relationship(inverse: "houses") var street: Street?
  @Relationship(inverse: nil) var previous: House?
  @Relationship(inverse: "house", deleteRule: .noAction) var rooms: ToMany<Room>
}

@Entity private final class Room: ManagedObject {
  var label: String = ""
  @Relationship(inverse: "rooms") var house: House?
}

@Entity private final class Country: Place {
  @Relationship(inverse: "capitalOf") var capital: City?
}

/// A class whose hooks call closures of a test.
@Entity private final class Hooked: ManagedObject {
  var text: String = ""
  var count: Int = 0
  @Transient var beforeSave: ((Hooked) -> Void)?
  @Transient var afterSave: ((Hooked) -> Void)?

  override func willSave() { beforeSave?(self) }
  override func didSave() { afterSave?(self) }
  override func prepareForDeletion() { count += 1 }
  override func awakeFromInsert() { count = 10 }
}

private struct AttackScene {
  let container: PersistentContainer
  let context: ManagedObjectContext
  let manager = ContextUndoManager()

  init() throws {
    container = try PersistentContainer(
      name: "Attack",
      classes: [
        Place.self, City.self, Street.self, House.self, Room.self, Country.self, Hooked.self,
      ], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    context.undoManager = manager
  }

  /// Saves, and removes the groups.
  func begin() throws {
    try context.save()
    manager.removeAllActions()
  }

  /// Saves changes in another context, and refreshes this one.
  func change(_ body: (ManagedObjectContext) throws -> Void) throws {
    let other = container.newContext()
    try body(other)
    try other.save()
    context.refreshAllObjects()
  }

  func hooked() throws -> Hooked {
    let hooked = Hooked(context: context)
    try begin()
    return hooked
  }

  func city(_ codes: String...) throws -> City {
    let city = City(context: context)
    city.name = "c"
    for code in codes {
      let street = Street(context: context)
      (street.name, street.code, street.length) = (code, code, 10)
      street.city = city
    }
    try begin()
    return city
  }
}

private func here<T: ManagedObject>(_ object: T, _ context: ManagedObjectContext) throws -> T {
  try #require(try context.existingObject(with: object.objectID) as? T)
}

@Suite("Undo of deletions in withoutUndo and with delete rules")
struct UndoDeletionTests {
  @Test("The cascade of a deletion in withoutUndo belongs to no group")
  func excludedCascade() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b"))
    let other = try scene.volume("c")
    context.withoutUndo { context.delete(shelf) }
    context.undoGroup("Rename") { other.title = "d" }
    #expect(scene.manager.undoCount == 1)
    try context.undo()
    #expect(other.title == "c" && !scene.manager.canUndo)
    #expect(try context.count(for: FetchRequest<UndoVolume>()) == 1)
  }

  @Test(
    "The cascade of a group's deletion belongs to the group, even if a fetch in withoutUndo applies it")
  func cascadeInExclusion() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b"))
    try context.undoGroup("Delete") {
      context.delete(shelf)
      try context.withoutUndo { _ = try context.count(for: FetchRequest<UndoVolume>()) }
    }
    try context.undo()
    #expect(shelf.volumes.map(\.title) == ["a", "b"])
  }

  @Test("A deletion that a rule denies can be undone, and then the save succeeds")
  func deny() throws {
    let scene = try AttackScene()
    let (context, city) = (scene.context, try scene.city("x", "y"))
    context.undoGroup("Delete") { context.delete(city) }
    #expect(throws: PerdureError.self) { try context.save() }
    try context.undo()
    #expect(!city.isDeleted && city.streetCount == 2 && city.length == 20)
    try context.save()
    try context.redo()
    #expect(city.isDeleted)
    #expect(throws: PerdureError.self) { try context.save() }
    try context.undo()
    try context.save()
  }

  @Test(
    "References that the delete rule `.noAction` has kept refer to the restored object after the undo",
    arguments: [false, true])
  func noAction(_ isSaved: Bool) throws {
    let scene = try AttackScene()
    let context = scene.context
    let (house, room) = (House(context: context), Room(context: context))
    room.house = house
    try scene.begin()
    context.undoGroup("Delete") { context.delete(house) }
    if isSaved { try context.save() }
    try context.undo()
    #expect(room.house === house && house.rooms.count == 1 && house.rooms.contains(room))
    try context.save()
    #expect(try here(house, scene.container.newContext()).rooms.count == 1)
    try context.redo()
    try context.save()
    try context.undo()
    #expect(room.house === house && house.rooms.count == 1)
    try context.save()
  }

  @Test("An undo does not restore a reference that `.noAction` has kept and that has changed since")
  func changedReference() throws {
    let scene = try AttackScene()
    let context = scene.context
    let (house, other, room) = (House(context: context), House(context: context), Room(context: context))
    room.house = house
    try scene.begin()
    context.undoGroup("Delete") { context.delete(house) }
    try context.save()
    context.withoutUndo { room.house = other }
    try context.undo()
    #expect(room.house === other && house.rooms.isEmpty && other.rooms.contains(room))
    try context.save()
    #expect(try here(house, scene.container.newContext()).rooms.isEmpty)
  }

  @Test("An undo restores one-way references to a deleted object", arguments: [false, true])
  func oneWay(_ isSaved: Bool) throws {
    let scene = try AttackScene()
    let (context, city) = (scene.context, try scene.city("x", "y"))
    let streets = city.streets.allObjects.sorted { $0.name < $1.name }
    streets[0].crossings.insert(streets[1])
    let (first, second) = (House(context: context), House(context: context))
    second.previous = first
    try scene.begin()
    context.undoGroup("Delete") {
      context.delete(streets[1])
      context.delete(first)
    }
    #expect(city.streetCount == 1 && city.length == 10)
    if isSaved { try context.save() }
    try context.undo()
    #expect(streets[0].crossings.contains(streets[1]) && second.previous === first)
    #expect(city.streetCount == 2 && city.length == 20 && streets[1].city === city)
    #expect(try context.count(for: Street.fetchRequest { $0.length == 10 }) == 2)
    try context.save()
    try context.redo()
    #expect(streets[0].crossings.isEmpty && second.previous == nil && city.length == 10)
    try context.save()
  }

  @Test(
    "If another context takes a deleted object's unique value, the undo works, and the next save fails")
  func takenKey() throws {
    let scene = try AttackScene()
    let (context, city) = (scene.context, try scene.city("x", "y"))
    let street = try #require(city.streets.allObjects.first { $0.code == "x" })
    context.undoGroup("Delete") { context.delete(street) }
    try context.save()
    try scene.change {
      let new = Street(context: $0)
      (new.code, new.city) = ("x", try here(city, $0))
    }
    try context.undo()
    #expect(throws: PerdureError.self) { try context.save() }
    #expect(street.code == "x" && city.streetCount == 3)
    try context.redo()
    try context.save()
    #expect(city.streetCount == 2)
  }
}

@Suite("Undo of links that another context has changed")
struct UndoLinkConflictTests {
  @Test("An inserted object that another context has deleted is not a conflict, whatever its links")
  func insertedAndDeleted() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    let mark = UndoMark(context: context)
    try context.save()
    scene.manager.removeAllActions()
    let volume = context.undoGroup("Insert") {
      let volume = UndoVolume(context: context)
      shelf.volumes.insert(volume, at: 0)
      mark.volumes.insert(volume)
      volume.sequel = shelf.volumes[1]
      volume.mood = "calm"
      return volume
    }
    try context.save()
    try scene.changeElsewhere { other in
      other.delete(try here(volume, other))
    }
    try context.undo()
    #expect(shelf.volumes.map(\.title) == ["a"] && mark.volumes.isEmpty)
    try context.save()
  }

  @Test(
    "A link to an object that another context has deleted is not a conflict if the undo removes the link",
    arguments: [false, true])
  func endedLink(_ deletesVolume: Bool) throws {
    let scene = try UndoScene()
    let (context, volumes) = (scene.context, try ["One", "Two"].map { try scene.volume($0) })
    let marks = (0..<2).map { _ in UndoMark(context: context) }
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Mark") {
      for (mark, volume) in zip(marks, volumes) { mark.volumes.insert(volume) }
    }
    try context.save()
    try scene.changeElsewhere { other in
      other.delete(deletesVolume ? try here(volumes[0], other) : try here(marks[0], other))
    }
    try context.undo()
    #expect(volumes[1].marks.isEmpty)
    try context.save()
  }

  @Test("A one-to-one partner that another context has linked to another object is a conflict")
  func takenPartner() throws {
    let scene = try AttackScene()
    let context = scene.context
    let (country, city, other) = (
      Country(context: context), City(context: context), Country(context: context)
    )
    country.capital = city
    try scene.begin()
    context.undoGroup("Clear") { country.capital = nil }
    try context.save()
    try scene.change { try here(other, $0).capital = try here(city, $0) }
    #expect(undoConflicts { () throws(PerdureError) in try context.undo() }.count == 1)
    #expect(other.capital === city && country.capital == nil)
    try context.undo(.keepCurrent)
    #expect(other.capital === city && country.capital == nil)
    try context.save()
  }

  @Test(
    "A one-to-one link that another context has replaced is a conflict at either end",
    arguments: [false, true])
  func takenSequel(_ clearsSequel: Bool) throws {
    let scene = try UndoScene()
    let context = scene.context
    let volumes = try ["a", "b", "c"].map { try scene.volume($0) }
    volumes[0].sequel = volumes[1]
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Clear") { volumes[0].sequel = nil }
    try context.save()
    try scene.changeElsewhere { other in
      if clearsSequel {
        try here(volumes[2], other).sequel = try here(volumes[1], other)
      } else {
        try here(volumes[0], other).sequel = try here(volumes[2], other)
      }
    }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.count == 1)
    if clearsSequel { #expect(volumes[2].sequel === volumes[1]) }
    try context.undo(.overwrite)
    #expect(volumes[0].sequel === volumes[1] && volumes[1].prequel === volumes[0])
    #expect(volumes[2].sequel == nil && volumes[2].prequel == nil)
    try context.save()
  }

  @Test("Moves of partners between objects in one group are undone without a conflict")
  func swappedPartners() throws {
    let scene = try UndoScene()
    let context = scene.context
    let volumes = try ["a", "b", "c", "d"].map { try scene.volume($0) }
    volumes[0].sequel = volumes[1]
    volumes[2].sequel = volumes[3]
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Swap") {
      volumes[0].sequel = volumes[3]
      volumes[2].sequel = volumes[1]
    }
    for _ in 0..<2 {
      try context.save()
      try context.undo()
      #expect(volumes[0].sequel === volumes[1] && volumes[3].prequel === volumes[2])
      try context.save()
      try context.redo()
      #expect(volumes[0].sequel === volumes[3] && volumes[1].prequel === volumes[2])
    }
  }

  @Test("A partner that the group has inserted is not a conflict")
  func insertedPartner() throws {
    let scene = try UndoScene()
    let context = scene.context
    let volumes = try ["a", "b"].map { try scene.volume($0) }
    volumes[0].sequel = volumes[1]
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Insert") { UndoVolume(context: context).sequel = volumes[1] }
    #expect(volumes[0].sequel == nil)
    try context.save()
    try context.undo()
    #expect(volumes[0].sequel === volumes[1] && volumes[1].prequel === volumes[0])
    try context.redo()
    #expect(volumes[0].sequel == nil && volumes[1].prequel !== volumes[0])
    try context.save()
  }

  @Test("A link of a restored object to an object that another context has deleted is a conflict")
  func lostEndOfReturning() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    let (volume, mark) = (shelf.volumes[0], UndoMark(context: context))
    mark.volumes.insert(volume)
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Delete") { context.delete(volume) }
    try context.save()
    try scene.changeElsewhere { other in
      other.delete(try here(shelf, other))
      other.delete(try here(mark, other))
    }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(Set(found.map(\.property)).contains("shelf") && found.count == 2)
    try context.undo(.overwrite)
    #expect(volume.managedObjectContext === context && volume.shelf == nil && volume.marks.isEmpty)
    try context.save()
  }

  @Test("An inserted object that keepCurrent leaves in place keeps its links")
  func keptLinks() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    let mark = UndoMark(context: context)
    try context.save()
    scene.manager.removeAllActions()
    let volume = context.undoGroup("Insert") {
      let volume = UndoVolume(context: context)
      shelf.volumes.insert(volume, at: 0)
      mark.volumes.insert(volume)
      volume.mood = "calm"
      return volume
    }
    try context.save()
    try scene.changeElsewhere { other in
      try here(volume, other).title = "Theirs"
    }
    try context.undo(.keepCurrent)
    #expect(shelf.volumes.map(\.title) == ["Theirs", "a"] && mark.volumes.contains(volume))
    try context.save()
  }
}

@Suite("Undo and the hooks of a save")
struct UndoHookTests {
  @Test(
    "If the hooks of a save revert an undo, its group is removed, and later edits are another group")
  func hookUndoes() throws {
    let scene = try AttackScene()
    let (context, manager, object) = (scene.context, scene.manager, try scene.hooked())
    context.undoGroup("Text") { object.text = "a" }
    // Without this save, the context has no changes after the undo, and no hook is called.
    try context.save()
    try context.undo()
    object.beforeSave = { if $0.text != "a" { $0.text = "a" } }
    try context.save()
    object.beforeSave = nil
    #expect(!manager.canRedo && !manager.canUndo)
    context.undoGroup("Count") { object.count = 3 }
    #expect(manager.undoActionName == "Count" && !manager.canRedo)
    try context.undo()
    #expect(object.count == 10 && object.text == "a")
    object.count = 4
    context.rollback()
    #expect(!manager.canUndo)
  }

  @Test("If a hook discards the changes of its object, the group stays, and a rollback keeps it")
  func hookDiscards() throws {
    let scene = try AttackScene()
    let (context, manager, object) = (scene.context, scene.manager, try scene.hooked())
    context.undoGroup("Text") { object.text = "a" }
    object.beforeSave = { $0.managedObjectContext?.refresh($0, mergeChanges: false) }
    try context.save()
    object.beforeSave = nil
    #expect(object.text == "" && manager.undoCount == 1 && manager.undoActionName == "Text")
    context.undoGroup("Count") { object.count = 4 }
    context.rollback()
    #expect(manager.undoCount == 1 && manager.undoActionName == "Text")
  }

  @Test("If a save fails because its hooks never end, the group stays, and later edits are another group")
  func endlessHook() throws {
    let scene = try AttackScene()
    let (context, manager, object) = (scene.context, scene.manager, try scene.hooked())
    context.undoGroup("Text") { object.text = "a" }
    object.beforeSave = { $0.count += 1 }
    #expect(throws: PerdureError.self) { try context.save() }
    object.beforeSave = nil
    object.text = "b"
    manager.setActionName("Other")
    context.processPendingChanges()
    #expect(manager.undoCount == 2 && manager.undoActionName == "Other")
    try context.undo()
    #expect(object.text == "a" && manager.undoActionName == "Text")
    try context.undo()
    #expect(object.text == "" && object.count == 10)
    try context.save()
  }

  @Test("After a hook removes all groups, later edits of the hook make a group to undo")
  func hookForgets() throws {
    let scene = try AttackScene()
    let (context, manager, object) = (scene.context, scene.manager, try scene.hooked())
    context.undoGroup("Text") { object.text = "a" }
    try context.undo()
    context.withoutUndo { object.count = 5 }
    object.beforeSave = { [weak manager] in
      guard $0.count == 5 else { return }
      manager?.removeAllActions()
      $0.count = 6
    }
    try context.save()
    #expect(!manager.canRedo && manager.undoCount == 1)
    try context.undo()
    #expect(object.count == 5 && object.text == "")
  }

  @Test("After a hook rolls back, later edits of the hook make a group to undo")
  func hookRollsBack() throws {
    let scene = try AttackScene()
    let (context, manager, object) = (scene.context, scene.manager, try scene.hooked())
    context.undoGroup("Text") { object.text = "a" }
    try context.undo()
    context.withoutUndo { object.count = 5 }
    object.beforeSave = {
      guard $0.count == 5 else { return }
      $0.managedObjectContext?.rollback()
      $0.count = 6
    }
    try context.save()
    #expect(object.count == 6 && !manager.canRedo && manager.undoCount == 1)
    try context.undo()
    #expect(object.count == 10 && object.text == "")
  }

  @Test("Edits of an inserted object by willSave belong to the group of its insertion")
  func insertedAndHooked() throws {
    let scene = try AttackScene()
    let (context, manager) = (scene.context, scene.manager)
    let object = context.undoGroup("Insert") { Hooked(context: context) }
    object.beforeSave = { if $0.text == "" { $0.text = "hook" } }
    context.processPendingChanges()
    try context.save()
    object.beforeSave = nil
    while manager.canUndo { try context.undo() }
    #expect(object.isDeleted)
    while manager.canRedo { try context.redo() }
    #expect(!object.isDeleted && object.text == "hook" && object.count == 10)
    try context.save()
  }

  @Test("Edits by didSave are a separate group, which is undone before the saved group")
  func didSave() throws {
    let scene = try AttackScene()
    let (context, manager, object) = (scene.context, scene.manager, try scene.hooked())
    context.undoGroup("Text") { object.text = "a" }
    object.afterSave = { $0.count = 11 }
    try context.save()
    object.afterSave = nil
    #expect(manager.undoCount == 1 && manager.canUndo && manager.undoActionName == "")
    try context.undo()
    #expect(object.count == 10 && manager.undoActionName == "Text")
    try context.undo()
    #expect(object.text == "")
    try context.save()
  }

  @Test("Edits of prepareForDeletion and awakeFromInsert belong to the group")
  func prepares() throws {
    let scene = try AttackScene()
    let (context, object) = (scene.context, try scene.hooked())
    context.undoGroup("Delete") { context.delete(object) }
    try context.save()
    try context.undo()
    #expect(object.managedObjectContext === context && object.count == 10)
    let new = context.undoGroup("Insert") { Hooked(context: context) }
    try context.undo()
    try context.redo()
    #expect(new.count == 10 && new.isInserted)
    try context.save()
  }

  @Test("Changes by willSave to a deleted object cause no conflict when the deletion is undone")
  func deletedInSave() throws {
    let scene = try AttackScene()
    let (context, object, other) = (scene.context, try scene.hooked(), try scene.hooked())
    object.text = "kept"
    try scene.begin()
    object.beforeSave = { if $0.count < 50 { $0.count += 50 } }
    context.undoGroup("Delete") { context.delete(object) }
    context.undoGroup("Text") { other.text = "a" }
    try context.save()
    try context.undo()
    #expect(other.text == "")
    try context.undo()
    #expect(object.text == "kept" && object.count == 10)
    for _ in 0..<2 { try context.redo() }
    #expect(other.text == "a" && object.isDeleted)
    try context.save()
  }

  @Test("If a hook calls undoGroup while an undo is saved, a group to undo or redo remains")
  func groupInHook() throws {
    let scene = try AttackScene()
    let (context, manager, object) = (scene.context, scene.manager, try scene.hooked())
    context.undoGroup("Text") { object.text = "a" }
    try context.save()
    try context.undo()
    object.beforeSave = { object in
      if object.count == 10 { object.managedObjectContext?.undoGroup("Hook") { object.count = 11 } }
    }
    try context.save()
    #expect(object.count == 11 && manager.undoCount + manager.redoCount >= 1)
    while manager.canUndo { try context.undo() }
    #expect(object.text == "")
    try context.save()
  }

  @Test("A save that fails in a merge leaves the groups as they were before the merge")
  func failedMerge() throws {
    let scene = try AttackScene()
    let (context, object) = (scene.context, try scene.hooked())
    let city = try scene.city("x", "y")
    context.mergePolicy = .mergeByPropertyObjectTrump
    let street = try #require(city.streets.allObjects.first)
    scene.manager.removeAllActions()
    context.undoGroup("Move") {
      object.text = "a"
      street.length = 20
    }
    object.beforeSave = { if $0.text == "a", $0.count == 99 { $0.text = "merged" } }
    let other = scene.container.newContext()
    try here(object, other).count = 99
    other.delete(try here(street, other))
    try other.save()
    do { try context.save() } catch { #expect(context.hasChanges) }
    object.beforeSave = nil
    #expect(scene.manager.undoCount == 1)
    try context.undo()
    #expect(object.text == "")
    context.rollback()
  }
}

@Suite("Replaced undo managers, and groups with saves or tasks inside")
struct UndoExchangeTests {
  @Test("A manager that is set inside a group or inside withoutUndo records later edits")
  func exchanged() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let manager = ContextUndoManager()
    context.undoGroup("A") {
      volume.title = "Two"
      context.undoManager = manager
      volume.title = "Three"
    }
    context.processPendingChanges()
    manager.removeAllActions()
    context.undoGroup("B") { volume.title = "Four" }
    #expect(manager.undoActionName == "B" && manager.undoCount == 1)
    let last = ContextUndoManager()
    context.withoutUndo { context.undoManager = last }
    context.withoutUndo { volume.title = "Five" }
    #expect(!last.canUndo)
    context.undoGroup("C") { volume.title = "Six" }
    try context.undo()
    #expect(volume.title == "Five")
  }

  @Test("The insertion of an object by a task, and a later edit of it, are undone without a conflict")
  @MainActor func insertedByTask() async throws {
    let scene = try UndoScene()
    let context = scene.context
    var made: UndoVolume?
    await context.undoGroup("Insert") {
      made = UndoVolume(context: context)
      await Task.yield()
    }
    let volume = try #require(made)
    context.undoGroup("Edit") { volume.title = "x" }
    for _ in 0..<2 { try context.undo() }
    #expect(volume.managedObjectContext == nil && !context.hasChanges)
    for _ in 0..<2 { try context.redo() }
    #expect(volume.title == "x")
  }

  @Test(
    "A rollback keeps a group with a save inside, and does not restore earlier groups to redo")
  func savedInside() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Earlier") { volume.pages = 2 }
    try context.undo()
    try context.undoGroup("Save") {
      volume.title = "Two"
      try context.save()
    }
    context.rollback()
    #expect(volume.title == "Two" && !scene.manager.canRedo)
    #expect(scene.manager.undoActionName == "Save")
    try context.undo()
    #expect(volume.title == "One")
  }

  @Test("Groups keep the reference to a new object that is assigned to another store")
  func assignedTarget() throws {
    let container = PersistentContainer(
      name: "Two", model: try UndoScene().container.managedObjectModel,
      classes: [UndoShelf.self, UndoVolume.self, UndoMark.self], storeDescriptions: [.inMemory, .inMemory])
    try container.loadPersistentStores()
    let context = container.newContext()
    context.undoManager = ContextUndoManager()
    let (one, two) = (UndoVolume(context: context), UndoVolume(context: context))
    context.undoGroup("Link") { one.sequel = two }
    context.undoGroup("Unlink") { one.sequel = nil }
    try context.assign(two, to: container.persistentStores[1])
    try context.assign(one, to: container.persistentStores[1])
    try context.undo()
    #expect(one.sequel === two)
    try context.undo()
    #expect(one.sequel == nil)
    try context.save()
  }

  @Test("A discarded change of a group is not a conflict, and later edits of the group are undone")
  func discarded() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Edit") {
      volume.title = "Two"
      volume.pages = 2
      context.refresh(volume, mergeChanges: false)
      volume.pages = 3
    }
    #expect(volume.title == "One" && volume.pages == 3)
    try context.undo()
    #expect(volume.title == "One" && volume.pages == 0)
    try context.redo()
    #expect(volume.pages == 3)
    try context.save()
  }

  @Test("A rollback or a reset inside a closure removes its earlier edits, and its group has the later ones")
  func rollbackInside() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("A") {
      volume.title = "Two"
      context.rollback()
      volume.pages = 2
    }
    try context.undo()
    #expect(volume.title == "One" && volume.pages == 0 && !scene.manager.canUndo)
    let id = volume.objectID
    var again: UndoVolume?
    try context.undoGroup("B") {
      volume.title = "Two"
      context.reset()
      again = try context.existingObject(with: id) as? UndoVolume
      again?.pages = 4
    }
    try context.undo()
    #expect(again?.pages == 0 && again?.title == "One")
    try context.save()
  }

  @Test("Primitive values, composites by key paths and decoded values of a changed object are undone")
  func keyPaths() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    volume.pages = 1
    context.processPendingChanges()
    context.undoGroup("Edit") {
      volume.setPrimitiveValue("Two", forKey: "title")
      volume.setValue(5, forKeyPath: "format.width")
      volume.setValue("n", forKeyPath: "note")
    }
    #expect(volume.title == "Two" && volume.format.width == 5)
    try context.undo()
    #expect(
      volume.title == "One" && volume.format == VolumeFormat() && volume.note == nil && volume.pages == 1)
    try context.redo()
    #expect(volume.title == "Two" && volume.format.width == 5 && volume.note == "n")
    try context.save()
  }

  @Test("Fetches with unsaved changes find the right objects after each undo")
  func fetches() throws {
    let scene = try AttackScene()
    let (context, city) = (scene.context, try scene.city("x", "y", "z"))
    func lengths() throws -> [Int] {
      try context.fetch(FetchRequest<Street>()).map(\.length).sorted()
    }
    let streets = city.streets.allObjects
    for number in 0..<6 {
      context.undoGroup("\(number)") {
        streets[number == 3 ? 1 : number % 3].length += number
        if number == 2 { context.delete(streets[0]) }
        if number == 4 { Street(context: context).city = city }
      }
      if number == 3 { try context.save() }
    }
    var states: [[Int]] = [try lengths()]
    while scene.manager.canUndo {
      try context.undo()
      states.append(try lengths())
      #expect(city.length == states.last?.reduce(0, +) && city.streetCount == states.last?.count)
    }
    #expect(states.last == [10, 10, 10])
    for state in states.dropLast().reversed() {
      try context.redo()
      #expect(try lengths() == state)
    }
  }

  @Test("If a save merges a new object into a stored one, the undo of its insertion changes nothing")
  func upsert() throws {
    let scene = try AttackScene()
    let (context, city) = (scene.context, try scene.city("x"))
    context.mergePolicy = .mergeByPropertyObjectTrump
    context.undoGroup("Insert") {
      let street = Street(context: context)
      (street.code, street.city, street.length) = ("x", city, 77)
    }
    try context.save()
    #expect(city.streetCount == 1 && city.length == 77)
    try context.undo()
    #expect(city.streetCount == 1)
    try context.save()
    try context.redo()
    try context.save()
    #expect(city.streetCount == 1)
  }

  @Test("A child with unsaved changes shows the undo of its parent, and has its own undo")
  func child() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b"))
    context.undoGroup("Delete") { context.delete(shelf.volumes[1]) }
    let children = (0..<2).map { _ in context.newChildContext() }
    for child in children { child.undoManager = ContextUndoManager() }
    let inner = try here(shelf, children[0])
    children[0].undoGroup("Name") { inner.name = "n" }
    try context.undo()
    children[0].refreshAllObjects()
    #expect(inner.volumes.count == 2)
    try children[0].undo()
    #expect(inner.name == "")
    try children[0].redo()
    try children[0].save()
    let second = try here(shelf, children[1])
    children[1].undoGroup("Append") { second.volumes.append(UndoVolume(context: children[1])) }
    try context.undoGroup("Save both") {
      shelf.name = "m"
      try children[1].save()
    }
    #expect(shelf.volumes.count == 3 && scene.manager.undoActionName == "Save both")
    try context.undo()
    #expect(shelf.volumes.count == 2 && shelf.name == "n")
    try children[1].undo()
    try children[1].save()
    #expect(shelf.volumes.count == 2)
    try context.save()
  }

  @Test("Edits of a deleted object are undone, and the undo of its deletion restores its first values")
  func editsAfterDeletion() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Delete") { context.delete(volume) }
    context.undoGroup("Edit") { volume.title = "Two" }
    try context.undo()
    #expect(volume.isDeleted && volume.title == "One")
    try context.redo()
    #expect(volume.isDeleted && volume.title == "Two")
    for _ in 0..<2 { try context.undo() }
    #expect(!volume.isDeleted && volume.title == "One")
    try context.save()
    context.undoGroup("Delete") { context.delete(volume) }
    context.undoGroup("Edit") { volume.title = "Two" }
    try context.save()
    for _ in 0..<2 { try context.undo() }
    #expect(volume.managedObjectContext === context && volume.title == "One")
  }

  @Test("Ids of new objects are the same after an undo and a redo")
  func ids() throws {
    let scene = try UndoScene()
    let context = scene.context
    let volume = context.undoGroup("Insert") { UndoVolume(context: context) }
    try context.obtainPermanentIDs(for: [volume])
    let id = volume.objectID
    #expect(!id.isTemporaryID)
    try context.undo()
    try context.redo()
    #expect(volume.objectID == id && !volume.objectID.isTemporaryID)
    try context.save()
    try context.undo()
    try context.save()
    try context.redo()
    try context.save()
    #expect(try here(volume, scene.container.newContext()).objectID == id)
  }
}

@Suite("Undo of large groups")
struct LargeUndoTests {
  @Test("A saved deletion of many objects with their links is undone and redone")
  func many() throws {
    let scene = try UndoScene()
    let (context, count) = (scene.context, 2_000)
    let shelf = try scene.shelf()
    let mark = UndoMark(context: context)
    context.undoGroup("Insert") {
      for number in 0..<count {
        let volume = UndoVolume(context: context)
        volume.pages = Int64(number)
        shelf.volumes.append(volume)
        mark.volumes.insert(volume)
      }
    }
    try context.save()
    context.undoGroup("Delete") { context.delete(shelf) }
    try context.save()
    try context.undo()
    #expect(shelf.volumes.map(\.pages) == (0..<Int64(count)).map { $0 } && mark.volumes.count == count)
    try context.redo()
    #expect(try context.count(for: FetchRequest<UndoVolume>()) == 0)
    try context.undo()
    try context.undo()
    #expect(try context.count(for: FetchRequest<UndoVolume>()) == 0 && shelf.volumes.isEmpty)
    try context.save()
  }
}

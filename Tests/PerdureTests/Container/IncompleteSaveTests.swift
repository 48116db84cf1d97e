import Perdure
import PerdureLog
import PerdurePredicates
import PerdureTestSupport
import Testing

/// JoinedStore, JO3: a store refuses a change after another store has committed its part.
@Suite("Saves over several stores in which one store fails")
struct IncompleteSaveTests {
  private let container: PersistentContainer
  private let stores: [RefusingStore]

  init() throws { (container, stores) = try Self.open { .inMemory } }

  /// - Parameter description: Returns the description of the next store.
  private static func open(
    _ description: () -> PersistentStoreDescription
  ) throws -> (PersistentContainer, [RefusingStore]) {
    let names = ["A", "B", "C"]
    let model = try ManagedObjectModel(
      names.map {
        EntityDescription(
          $0,
          properties: [
            .string("x"), .int64("key"), .toOne("up", $0, inverse: "down"),
            .toMany("down", $0, inverse: "up"),
          ],
          uniquenessConstraints: [["key"]])
      }, configurations: Dictionary(uniqueKeysWithValues: names.map { ($0, [$0]) }))
    return try RefusingStore.container(model, configurations: names, description)
  }

  @discardableResult private func make(
    _ entity: String, _ x: String, _ context: ManagedObjectContext
  ) -> ManagedObject {
    let object = context.insertNewObject(forEntityName: entity)
    object["x"] = x
    return object
  }

  /// The values of an entity that a new context reads.
  private func stored(_ entity: String) throws -> Set<String> {
    let objects = try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: entity))
    return Set(objects.compactMap { $0["x"] as? String })
  }

  @Test("For objects without reserved ids, a save throws the error of their store, one store after another")
  func withoutIDs() throws {
    let context = container.newContext()
    try container.removePersistentStore(container.persistentStores[0])
    stores[1].withholdIDs()
    for entities in [["A"], ["B"], ["A", "B", "B"]] {
      var refused = Set(entities.map { make($0, "x", context) })
      while !refused.isEmpty {
        let error = try #require(throws: PerdureError.self) { try context.save() }
        let named = refused.filter { error.objectIDs.contains($0.objectID) }
        #expect(error.code == .saveFailed && Set(named.map(\.entity.name)).count == 1)
        #expect(named.count == error.objectIDs.count)
        let isClosed = named.first?.entity.name == "A"
        #expect(isClosed ? error.cause is StoreError : error.cause is RefusingStore.Failure)
        for object in named.isEmpty ? refused : named { context.delete(object) }
        refused = named.isEmpty ? [] : refused.subtracting(named)
      }
    }
    make("C", "c", context)
    try context.save()
    #expect(try stored("C") == ["c"])
  }

  @Test(
    "After a partial save, the error names the saved stores, and the next save continues"
  )
  func second() throws {
    let context = container.newContext()
    let objects = ["A", "B", "C"].map { make($0, "new", context) }
    objects[1]["up"] = make("B", "root", context)
    stores[1].fail(1)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .incompleteSave && error?.code.rawValue == 134_040)
    #expect(error?.savedStoreIdentifiers == [stores[0].identifier])
    let cause = error?.cause as? PerdureError
    #expect(cause?.cause is RefusingStore.Failure)
    #expect(cause?.message.contains("Nothing was saved") == false)
    #expect(try stored("A") == ["new"] && stored("B") == [] && stored("C") == [])
    #expect(!objects[0].isInserted && objects[1].isInserted && objects[2].isInserted)
    #expect(context.insertedObjects.count == 3 && objects[0]["x"] as? String == "new")
    let commits = stores[0].commits
    try context.save()
    #expect(stores[0].commits == commits && !context.hasChanges)
    #expect(try stored("A") == ["new"] && stored("B") == ["new", "root"] && stored("C") == ["new"])
    #expect((objects[1]["up"] as? ManagedObject)?["x"] as? String == "root")
  }

  @Test("A commit that its store refuses is not counted")
  func refusedCommit() throws {
    let store = stores[0]
    let change = StoreChange(view: store.view(), schema: store.schema, durability: .powerLoss)
    _ = try store.commit(change)
    #expect(store.commits == 1)
    try store.close()
    #expect(throws: StoreError.self) { try store.commit(change) }
    #expect(store.commits == 1)
  }

  @Test("If the first store fails, nothing is saved and all changes stay pending")
  func first() throws {
    let context = container.newContext()
    for entity in ["A", "B"] { make(entity, "new", context) }
    stores[0].fail(1)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .saveFailed && error?.savedStoreIdentifiers == [])
    #expect(context.insertedObjects.count == 2)
    try context.save()
    #expect(try stored("A") == ["new"] && stored("B") == ["new"])
  }

  @Test(
    "After a partial save, the unsaved changes stay pending until a save or a rollback"
  )
  func changes() throws {
    let context = container.newContext()
    let (a, b, c) = (make("A", "1", context), make("B", "1", context), make("B", "2", context))
    c["up"] = b
    try context.save()
    a["x"] = "3"
    b["x"] = "3"
    context.delete(c)
    stores[1].fail(1)
    #expect(throws: PerdureError.self) { try context.save() }
    #expect(!a.isUpdated && b.isUpdated && c.isDeleted)
    a["x"] = "4"
    #expect(context.updatedObjects == [a, b])
    try context.save()
    #expect(try stored("A") == ["4"] && stored("B") == ["3"])
    b["x"] = "5"
    a["x"] = "5"
    stores[1].fail(1)
    #expect(throws: PerdureError.self) { try context.save() }
    context.rollback()
    #expect(a["x"] as? String == "5" && b["x"] as? String == "3")
  }

  @Test("A rollback after a partial save keeps the undo of the saved changes only")
  func undo() throws {
    let context = container.newContext()
    let (a, b) = (make("A", "1", context), make("B", "1", context))
    try context.save()
    let manager = ContextUndoManager()
    context.undoManager = manager
    context.undoGroup("Both") { (a["x"], b["x"]) = ("2", "2") }
    context.undoGroup("Only B") { b["x"] = "3" }
    stores[1].fail(1)
    #expect(throws: PerdureError.self) { try context.save() }
    context.rollback()
    #expect(a["x"] as? String == "2" && b["x"] as? String == "1")
    #expect(manager.undoCount == 1 && manager.undoActionName == "Both" && !manager.canRedo)
    try context.undo()
    #expect(a["x"] as? String == "1" && b["x"] as? String == "1")
    try context.redo()
    #expect(a["x"] as? String == "2" && b["x"] as? String == "1")
  }

  @Test("A rollback after a partial save restores the groups of undos that were not saved")
  func undoneGroup() throws {
    let context = container.newContext()
    let (a, b) = (make("A", "1", context), make("B", "1", context))
    try context.save()
    let manager = ContextUndoManager()
    context.undoManager = manager
    context.undoGroup("Both") { (a["x"], b["x"]) = ("2", "2") }
    try context.save()
    try context.undo()
    stores[1].fail(1)
    #expect(throws: PerdureError.self) { try context.save() }
    context.rollback()
    #expect(a["x"] as? String == "1" && b["x"] as? String == "2")
    #expect(manager.undoCount == 1 && manager.redoCount == 1)
    try context.undo()
    #expect(b["x"] as? String == "1" && a["x"] as? String == "1")
    try context.redo()
    try context.redo()
    #expect(a["x"] as? String == "2" && b["x"] as? String == "2")
  }

  @Test("A save into one store does not access the other stores")
  func single() throws {
    let context = container.newContext()
    make("C", "new", context)
    stores[0].fail(1)
    stores[1].fail(1)
    try context.save()
    #expect(try stored("C") == ["new"])
  }

  @Test("Conflicts with other saves are found in every store before any store is written")
  func judged() throws {
    let context = container.newContext()
    let (a, b) = (make("A", "1", context), make("B", "1", context))
    (a["key"], b["key"]) = (Int64(1), Int64(1))
    try context.save()
    let commits = stores.map(\.commits)
    let (c, d) = (make("A", "2", context), make("B", "2", context))
    (c["key"], d["key"]) = (Int64(2), Int64(1))
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .constraintConflict && error?.conflicts.map(\.objectID) == [d.objectID])
    #expect(error?.message.hasPrefix("B.key must be unique") == true)
    #expect(stores.map(\.commits) == commits)
    // In one save, one object frees a key and another object takes this key.
    b["key"] = Int64(2)
    try context.save()
    let (e, f) = (make("C", "3", context), make("C", "3", context))
    (e["key"], f["key"]) = (Int64(1), Int64(1))
    a["x"] = "3"
    let twins = #expect(throws: PerdureError.self) { try context.save() }
    #expect(try twins?.code == .constraintConflict && stored("A") == ["1", "2"])
  }

  @Test(
    "After a partial save, a container that is opened later finds the changes in the first store only")
  func reopened() throws {
    let directory = try TemporaryDirectory()
    func open() throws -> (container: PersistentContainer, stores: [RefusingStore]) {
      var number = 0
      return try Self.open {
        number += 1
        return PersistentStoreDescription(path: directory.file("\(number).perdure"))
      }
    }
    let before = try open()
    let context = before.container.newContext()
    for entity in ["A", "B", "C"] { make(entity, "new", context) }
    before.stores[1].fail(1)
    #expect(throws: PerdureError.self) { try context.save() }
    try before.container.close()
    let after = try open().container
    let counts = try ["A", "B", "C"].map {
      try after.newContext().count(for: FetchRequest<ManagedObject>(entityName: $0))
    }
    #expect(counts == [1, 0, 0])
    try after.close()
  }
}

// Undo after a save that one of two stores has committed and the other has refused.

import PerdureModel
import Synchronization
import Testing

@testable import Perdure

/// A store whose next commits can fail.
private final class FullStore: PersistentStore {
  struct Failure: Error {}

  private let inner: any PersistentStore
  private let failures = Mutex(0)

  init(_ inner: any PersistentStore) { self.inner = inner }

  var schema: StoreSchema { inner.schema }
  var identifier: String { inner.identifier }
  func view() -> any StoreView { inner.view() }
  func check(_ change: StoreChange) throws { try inner.check(change) }
  func close() throws { try inner.close() }
  func fail(_ times: Int) { failures.withLock { $0 = times } }

  func commit(_ change: StoreChange) throws -> any StoreView {
    let fails = failures.withLock { failures in
      failures -= 1
      return failures >= 0
    }
    if fails { throw Failure() }
    return try inner.commit(change)
  }

  func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64> {
    try inner.allocateIDs(entity: entity, count: count)
  }
}

@Suite("Undo after a save that only one of two stores has committed")
struct UndoIncompleteSaveTests {
  @Test("A hidden save of an object that was saved is no conflict of later groups")
  func hidden() throws {
    let model = try ManagedObjectModel(
      ["A", "B"].map { EntityDescription($0, properties: [.string("x")]) },
      configurations: ["A": ["A"], "B": ["B"]])
    let stores = Mutex<[FullStore]>([])
    let factory = StoreFactory { description, model in
      let store = FullStore(try StoreFactory.standard.open(description, model))
      stores.withLock { $0.append(store) }
      return store
    }
    let descriptions = ["A", "B"].map { name in
      var description = PersistentStoreDescription.inMemory
      description.configuration = name
      return description
    }
    let container = PersistentContainer(
      name: "Two", model: model, classes: [], storeDescriptions: descriptions, factory: factory)
    try container.loadPersistentStores()
    let (context, manager) = (container.newContext(), ContextUndoManager())
    let (a, b) = (
      context.insertNewObject(forEntityName: "A"), context.insertNewObject(forEntityName: "B")
    )
    (a["x"], b["x"]) = ("One", "One")
    try context.save()
    context.undoManager = manager
    context.undoGroup("Mine") { (a["x"], b["x"]) = ("Mine", "Mine") }
    let other = container.newContext()
    try other.existingObject(with: a.objectID)["x"] = "Theirs"
    try other.save()
    context.refreshAllObjects()
    context.mergePolicy = .overwrite
    stores.withLock { $0[1].fail(1) }
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .incompleteSave && error?.savedStoreIdentifiers.count == 1)
    context.undoGroup("Back") { a["x"] = "One" }
    context.undoGroup("Again") { a["x"] = "Again" }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.isEmpty && a["x"] as? String == "One")
  }
}

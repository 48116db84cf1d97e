import Perdure
import Synchronization
import Testing

/// A container has two stores. One of them cannot read its newest state.
@Suite("Several stores of which one cannot be refreshed")
struct JoinedRefreshTests {
  @Test("After a failed refresh of one store, only the next fetch from that store throws")
  func refresh() throws {
    let names = ["A", "B"]
    let model = try ManagedObjectModel(
      names.map { EntityDescription($0, properties: [.string("x")]) },
      configurations: Dictionary(uniqueKeysWithValues: names.map { ($0, [$0]) }))
    let made = Mutex<[UnreadableStore]>([])
    let factory = StoreFactory { _, model in
      let store = UnreadableStore(try StoreFactory.standard.open(.inMemory, model))
      made.withLock { $0.append(store) }
      return store
    }
    let descriptions = names.map { name in
      var description = PersistentStoreDescription.inMemory
      description.configuration = name
      description.isReadOnly = name == "A"
      return description
    }
    let container = PersistentContainer(
      name: "C", model: model, classes: [], storeDescriptions: descriptions, factory: factory)
    try container.loadPersistentStores()
    made.withLock { $0[0].failing.set([.newest]) }
    let context = container.newContext()
    func count(_ entity: String) throws -> Int {
      try context.count(for: FetchRequest<ManagedObject>(entityName: entity))
    }
    #expect(try count("B") == 0)
    let error = #expect(throws: PerdureError.self) { try count("A") }
    #expect(error?.code == .readFailed && error?.cause is UnreadableStore.Failure)
    #expect(try count("A") == 0)
    context.refreshAllObjects()
    context.insertNewObject(forEntityName: "B")["x"] = "b"
    try context.save()
    #expect(try count("B") == 1)
    #expect(throws: PerdureError.self) { try count("A") }
  }
}

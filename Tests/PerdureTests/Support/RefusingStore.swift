import Perdure
import PerdureModel
import Synchronization

/// A store whose commits fail on request, as on a full disk, after its check has accepted the
/// change.
final class RefusingStore: PersistentStore {
  struct Failure: Error {}

  private let inner: any PersistentStore
  private let state = Mutex<(failures: Int, commits: Int, isWithoutIDs: Bool)>((0, 0, false))

  init(_ inner: any PersistentStore) { self.inner = inner }

  var schema: StoreSchema { inner.schema }
  var identifier: String { inner.identifier }
  /// The number of commits that the inner store has made.
  var commits: Int { state.withLock { $0.commits } }
  func view() -> any StoreView { inner.view() }
  func check(_ change: StoreChange) throws { try inner.check(change) }
  func close() throws { try inner.close() }

  func fail(_ times: Int) { state.withLock { $0.failures = times } }
  func withholdIDs() { state.withLock { $0.isWithoutIDs = true } }

  func commit(_ change: StoreChange) throws -> any StoreView {
    let fails = state.withLock { state in
      state.failures -= 1
      return state.failures >= 0
    }
    if fails { throw Failure() }
    let view = try inner.commit(change)
    state.withLock { $0.commits += 1 }
    return view
  }

  func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64> {
    if state.withLock({ $0.isWithoutIDs }) { throw Failure() }
    return try inner.allocateIDs(entity: entity, count: count)
  }

  /// Opens a container that has a store for each configuration.
  ///
  /// - Parameter description: Returns the description of the next store.
  static func container(
    _ model: ManagedObjectModel, configurations: [String],
    _ description: () -> PersistentStoreDescription = { .inMemory }
  ) throws -> (PersistentContainer, [RefusingStore]) {
    let made = Mutex<[RefusingStore]>([])
    let factory = StoreFactory { description, model in
      let store = RefusingStore(try StoreFactory.standard.open(description, model))
      made.withLock { $0.append(store) }
      return store
    }
    let descriptions = configurations.map { name in
      var description = description()
      description.configuration = name
      return description
    }
    let container = PersistentContainer(
      name: "C", model: model, classes: [], storeDescriptions: descriptions, factory: factory)
    try container.loadPersistentStores()
    return (container, made.withLock { $0 })
  }
}

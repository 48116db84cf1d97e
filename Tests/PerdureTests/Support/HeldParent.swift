// A context as the store of all contexts of a container: every test of the graph can be run on children.

import Perdure
import PerdureModel
import PerdurePredicates

/// A parent context, which saves now and then after its children have, and the store of those.
// Unchecked: the tests that use it stay on one thread at a time.
final class HeldParent: PersistentStore, @unchecked Sendable {
  private let container: PersistentContainer
  let parent: ManagedObjectContext
  private let inner: ParentStore
  private var commitCount = 0
  /// After how many of its children's saves the parent is saved.
  private let commitsPerSave: Int

  init(_ store: any PersistentStore, _ model: ManagedObjectModel, commitsPerSave: Int = 3) throws {
    // Its objects are of no class of the tests': hooks are called for children alone.
    container = PersistentContainer(
      name: "Parent", model: model, classes: [], description: .inMemory, factory: StoreFactory { _, _ in store })
    try container.loadPersistentStores()
    parent = container.newContext()
    inner = ParentStore(parent)
    self.commitsPerSave = commitsPerSave
  }

  var schema: StoreSchema { inner.schema }
  var identifier: String { inner.identifier }

  func view() -> any StoreView { inner.view() }
  func check(_ change: StoreChange) throws { try inner.check(change) }

  func commit(_ change: StoreChange) throws -> any StoreView {
    let view = try inner.commit(change)
    commitCount += 1
    guard commitCount % commitsPerSave == 0 else { return view }
    try parent.save()
    return inner.view()
  }

  func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64> {
    try inner.allocateIDs(entity: entity, count: count)
  }

  func close() throws { try container.close() }
}

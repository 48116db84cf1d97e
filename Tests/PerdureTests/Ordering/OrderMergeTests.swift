// Several contexts edit one order at random. No member may be lost, all contexts must have the same
// order at the end, and the stored graph must be intact.

import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Orders that several contexts edit")
struct OrderMergeTests {
  @Test(
    "After random edits of several contexts, all contexts have the same order", arguments: StoreKind.allCases)
  func random(_ kind: StoreKind) throws {
    var random = SeededGenerator.forTest("merged orders")
    for _ in 0..<(kind == .engine ? 6 : 2) {
      var table = try Table(kind, SeededGenerator(seed: random.next()))
      for _ in 0..<120 { try table.step() }
      try table.finish()
    }
  }
}

extension OrderMergeTests {
  @Test(
    "If another context has saved a move of a member, a move that only makes space is dropped",
    arguments: [false, true])
  func room(isChild: Bool) throws {
    let scene = try listScene()
    let list = scene.new("List")
    func crowd(_ members: OrderedToMany<ManagedObject>, _ context: ManagedObjectContext, _ count: Int) {
      for _ in 0..<count {
        members.insert(context.insertNewObject(forEntityName: "Item"), at: members.count / 2)
      }
    }
    crowd(list.ordered("items"), scene.context, 170)
    try scene.saveWhole()
    let items = Array(list.ordered("items"))
    let other = scene.container.newContext()
    let crowding = isChild ? scene.context.newChildContext() : scene.context
    crowd(crowding.object(with: list.objectID).ordered("items"), crowding, 60)
    let order = try #require(crowding.core.pending[list.reference]?.orders.first?.delta)
    #expect(order.placed.values.contains { $0.isSpread && $0.stored != nil })
    if isChild { try crowding.save() }
    let wanted = other.object(with: list.objectID).ordered("items")
    for item in items { wanted.move(other.object(with: item.objectID), to: 0) }
    try other.save()
    try scene.saveWhole()
    let ids = Set(items.map(\.objectID))
    let saved = list.inOrder("items", in: scene.container.newContext())
    #expect(saved.count == 230 && saved.filter(ids.contains) == items.reversed().map(\.objectID))
  }
}

/// Several contexts that edit one list.
private struct Table {
  let container: PersistentContainer
  let contexts: [ManagedObjectContext]
  let list: ManagedObjectID
  var random: SeededGenerator
  /// The items that saves inserted and removed. `pending` has the unsaved changes of each context.
  var inserted: Set<ManagedObjectID> = []
  var removed: Set<ManagedObjectID> = []
  var pending: [(inserted: Set<ManagedObjectID>, removed: Set<ManagedObjectID>)]

  init(_ kind: StoreKind, _ random: SeededGenerator) throws {
    let model = try listScene().container.managedObjectModel
    container = PersistentContainer(
      name: "Orders", model: model, classes: [], description: .inMemory, factory: kind.factory)
    try container.loadPersistentStores()
    contexts = [container.newContext(), container.newContext(), container.newContext()]
    pending = contexts.map { _ in ([], []) }
    list = contexts[0].insertNewObject(forEntityName: "List").objectID
    self.random = random
    try contexts[0].save()
    for context in contexts { context.refreshAllObjects() }
  }

  private func items(_ place: Int) -> OrderedToMany<ManagedObject> {
    contexts[place].object(with: list).ordered("items")
  }

  mutating func step() throws {
    let place = Int.random(in: 0..<contexts.count, using: &random)
    let items = items(place)
    let before = items.objectIDs
    let position = Int.random(in: 0...before.count, using: &random)
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<5:
      let item = contexts[place].insertNewObject(forEntityName: "Item")
      items.insert(item, at: Bool.random(using: &random) ? position : before.count / 2)
      pending[place].inserted.insert(item.objectID)
    case 5..<7 where !before.isEmpty:
      items.move(from: min(position, before.count - 1), to: Int.random(in: 0..<before.count, using: &random))
    case 7 where !before.isEmpty:
      let item = items[min(position, before.count - 1)]
      items.remove(item)
      pending[place].removed.insert(item.objectID)
    case 8: contexts[place].refreshAllObjects()
    default: try save(place)
    }
    expectConsistent(place)
  }

  private mutating func save(_ place: Int) throws {
    do {
      try contexts[place].save()
    } catch {
      // Other contexts have saved first. The refresh shows their changes.
      contexts[place].refreshAllObjects()
      expectConsistent(place)
      do { try contexts[place].save() } catch {
        #expect(error.code == .mergeConflict, "\(error)")
        contexts[place].rollback()
        pending[place] = ([], [])
      }
    }
    inserted.formUnion(pending[place].inserted)
    removed.formUnion(pending[place].removed)
    pending[place] = ([], [])
  }

  /// Expects that positions agree with the iteration, and that each member occurs once.
  private func expectConsistent(_ place: Int) {
    let items = items(place)
    let ids = items.objectIDs
    #expect(Set(ids).count == ids.count && items.count == ids.count)
    for (position, object) in items.enumerated() {
      #expect(items[position] == object && items.firstIndex(of: object) == position)
      #expect(object.one("list")?.objectID == list)
    }
  }

  mutating func finish() throws {
    for place in contexts.indices { try save(place) }
    for context in contexts { context.refreshAllObjects() }
    let expected = container.newContext().object(with: list).ordered("items").objectIDs
    for place in contexts.indices { #expect(items(place).objectIDs == expected) }
    // Every member was inserted. Only removed members may be absent.
    #expect(Set(expected).isSubset(of: inserted))
    #expect(inserted.subtracting(removed).isSubset(of: expected))
    try expectWhole(container)
  }
}

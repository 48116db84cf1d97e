import Perdure
import PerdureModel
import Testing

/// One cell of the merge table for an ordered relationship: two contexts with the same list of six
/// items.
struct OrderedConflict {
  let container: PersistentContainer
  let here: ManagedObjectContext
  let there: ManagedObjectContext
  let list: ManagedObjectID
  let items: [ManagedObjectID]

  init(_ policy: MergePolicy, itemsMax: Int = 0) throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "List",
        properties: [
          .string("name"), .toMany("items", "Item", inverse: "list", maxCount: itemsMax, ordered: true),
        ]),
      EntityDescription("Item", properties: [.int64("number"), .toOne("list", "List", inverse: "items")]),
    ])
    container = PersistentContainer(
      name: "Lists", model: model, classes: [], description: .inMemory, factory: StoreKind.current.factory)
    try container.loadPersistentStores()
    let setup = container.newContext()
    let list = setup.insertNewObject(forEntityName: "List")
    items = (0..<6).map { _ in
      let item = setup.insertNewObject(forEntityName: "Item")
      list.ordered("items").append(item)
      return item.objectID
    }
    try setup.save()
    self.list = list.objectID
    here = container.newContext()
    there = container.newContext()
    here.mergePolicy = policy
  }

  func list(_ context: ManagedObjectContext) -> OrderedToMany<ManagedObject> {
    context.object(with: list).ordered("items")
  }

  /// The numbers of the items in order, with -1 for new items.
  func order(_ context: ManagedObjectContext) -> [Int] {
    list(context).objectIDs.map { items.firstIndex(of: $0) ?? -1 }
  }

  func move(_ number: Int, to position: Int, _ context: ManagedObjectContext) throws {
    try list(context).move(context.existingObject(with: items[number]), to: position)
  }

  func remove(_ number: Int, _ context: ManagedObjectContext) throws {
    try list(context).remove(context.existingObject(with: items[number]))
  }

  func insert(at position: Int, _ context: ManagedObjectContext) {
    list(context).insert(context.insertNewObject(forEntityName: "Item"), at: position)
  }

  func play(_ kind: ConflictKind) throws -> String {
    try change(kind, here)
    try changeThere(kind)
    try there.save()
    let before = order(here)
    do throws(PerdureError) {
      try here.save()
    } catch {
      #expect(error.conflicts.map(\.objectID) == [list])
      #expect(order(here) == before)
      #expect(throws: PerdureError.self) { try here.save() }
      here.rollback()
      here.refreshAllObjects()
      #expect(order(here) == order(container.newContext()))
      return "\(error.code.rawValue)"
    }
    #expect(!here.hasChanges)
    #expect(order(here) == order(container.newContext()))
    try expectWhole(container)
    return outcome(kind, order(here))
  }

  private func change(_ kind: ConflictKind, _ context: ManagedObjectContext) throws {
    switch kind {
    case .placesApart, .placesSame, .placeRemoved: try move(0, to: 5, context)
    case .removedPlace: try remove(0, context)
    default: insert(at: 3, context)
    }
  }

  private func changeThere(_ kind: ConflictKind) throws {
    switch kind {
    case .placesApart: try move(1, to: 3, there)
    case .placesSame, .removedPlace: try move(0, to: 3, there)
    case .placeRemoved: try remove(0, there)
    default: insert(at: 3, there)
    }
  }

  private func outcome(_ kind: ConflictKind, _ order: [Int]) -> String {
    switch kind {
    case .placesApart: order == [2, 3, 1, 4, 5, 0] ? "both" : "\(order)"
    case .placesSame:
      order == [1, 2, 3, 4, 5, 0] ? "here" : order == [1, 2, 3, 0, 4, 5] ? "there" : "\(order)"
    case .placeRemoved, .removedPlace: order == [1, 2, 3, 4, 5] ? "removed" : "\(order)"
    default: order == [0, 1, 2, -1, -1, 3, 4, 5] ? "both" : "\(order)"
    }
  }
}

@Suite("Merging of orders")
struct OrderedConflictTests {
  @Test("A failed merge keeps the context's order, and after a correction the save succeeds")
  func putBack() throws {
    let scene = try OrderedConflict(.mergeByPropertyObjectTrump, itemsMax: 7)
    scene.insert(at: 3, scene.here)
    try scene.move(0, to: 6, scene.here)
    try scene.move(5, to: 0, scene.here)
    scene.insert(at: 3, scene.there)
    try scene.move(0, to: 2, scene.there)
    try scene.there.save()
    let before = scene.order(scene.here)
    for _ in 0..<2 {
      #expect(throws: PerdureError.self) { try scene.here.save() }
      #expect(scene.order(scene.here) == before)
    }
    // With one item less, the merged list has only seven items.
    try scene.remove(2, scene.here)
    try scene.here.save()
    #expect(scene.order(scene.here) == scene.order(scene.container.newContext()))
    #expect(scene.order(scene.here).count == 7)
    #expect(scene.order(scene.here).first == 5)
    #expect(scene.order(scene.here).last == 0)
    try expectWhole(scene.container)
  }

  @Test("After a failed merge, observers get an event with the restored objects")
  func told() throws {
    let scene = try OrderedConflict(.mergeByPropertyObjectTrump, itemsMax: 7)
    var notes: [ContextNotification] = []
    let observation = scene.here.observe { notes.append($0) }
    scene.insert(at: 3, scene.here)
    scene.insert(at: 3, scene.there)
    try scene.there.save()
    scene.here.processPendingChanges()
    notes = []
    #expect(throws: PerdureError.self) { try scene.here.save() }
    #expect(notes.map(\.kind).last == .objectsDidChange)
    #expect(notes.last?.refreshedObjects.map(\.objectID).contains(scene.list) == true)
    observation.cancel()
  }

  @Test(
    "If another context deleted a list, it is inserted again, with its new members in order"
  )
  func insertedAgain() throws {
    let scene = try OrderedConflict(.overwrite)
    let list = try scene.here.existingObject(with: scene.list)
    list.setValue("kept", forKey: "name")
    scene.insert(at: 0, scene.here)
    let second = scene.here.insertNewObject(forEntityName: "Item")
    list.ordered("items").insert(second, at: 0)
    try scene.there.delete(scene.there.existingObject(with: scene.list))
    try scene.there.save()
    try scene.here.save()
    #expect(list.ordered("items").count == 2)
    #expect(list.ordered("items").first == second)
    let other = scene.container.newContext()
    #expect(scene.list(other).objectIDs == list.ordered("items").objectIDs)
    try expectWhole(scene.container)
  }
}

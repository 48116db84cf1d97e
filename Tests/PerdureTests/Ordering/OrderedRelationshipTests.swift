// Tests of ordered relationships: positions, both ends, saves, merges and cost.

import PerdureModel
import PerdureTestSupport
import Testing

@testable import Perdure

/// Returns a scene of lists with items, tags in lists (both ends are ordered), and nodes that are
/// friends.
func listScene(on kind: StoreKind = .current, itemsRule: DeleteRule = .nullify) throws -> ModelScene {
  try ModelScene(
    on: kind,
    EntityDescription(
      "List",
      properties: [
        .string("name"), .toMany("items", "Item", inverse: "list", deleteRule: itemsRule, ordered: true),
        .toMany("tags", "Tag", inverse: "lists", ordered: true), .toMany("seen", "Item", ordered: true),
      ]),
    EntityDescription("Item", properties: [.int64("number"), .toOne("list", "List", inverse: "items")]),
    EntityDescription("Tag", properties: [.toMany("lists", "List", inverse: "tags", ordered: true)]),
    EntityDescription("Node", properties: [.toMany("friends", "Node", inverse: "friends", ordered: true)]))
}

extension ManagedObject {
  func ordered(_ key: String) -> OrderedToMany<ManagedObject> { mutableOrderedSetValue(forKey: key) }

  /// The ids in this object's relationship, in the order that another context shows.
  func inOrder(_ key: String, in context: ManagedObjectContext) -> [ManagedObjectID] {
    context.object(with: objectID).ordered(key).map(\.objectID)
  }
}

@Suite("Ordered relationships")
struct OrderedRelationshipTests {
  /// A list with saved items.
  private func filled(_ scene: ModelScene, _ count: Int) throws -> (
    list: ManagedObject, items: [ManagedObject]
  ) {
    let list = scene.new("List")
    let items = (0..<count).map { number in
      let item = scene.new("Item")
      item.setValue(Int64(number), forKey: "number")
      return item
    }
    list.ordered("items").append(contentsOf: items)
    try scene.saveWhole()
    return (list, items)
  }

  private func numbers(_ list: ManagedObject) -> [Int64] {
    list.ordered("items").map { Int64($0.value(forKey: "number") as? Int ?? -1) }
  }

  @Test("Objects are inserted, moved, replaced and removed at positions, before and after a save")
  func positions() throws {
    let scene = try listScene()
    let list = scene.new("List")
    let items = (0..<6).map { number in
      let item = scene.new("Item")
      item.setValue(Int64(number), forKey: "number")
      return item
    }
    let ordered = list.ordered("items")
    ordered.append(items[0])
    items[1].setValue(list, forKey: "list")
    ordered.insert(items[2], at: 0)
    ordered.insert(items[3], at: 1)
    #expect(numbers(list) == [2, 3, 0, 1] && items[3].one("list") == list)
    try scene.saveWhole()
    #expect(numbers(list) == [2, 3, 0, 1])
    ordered.move(items[1], to: 0)
    ordered.replace(at: 2, with: items[4])
    #expect(numbers(list) == [1, 2, 4, 0] && items[3].one("list") == nil)
    ordered.remove(at: 1)
    ordered.insert(items[5], at: 3)
    #expect(numbers(list) == [1, 4, 0, 5])
    #expect(ordered.first == items[1] && ordered.last == items[5] && ordered[2] == items[0])
    #expect((0..<4).map { ordered.firstIndex(of: ordered[$0]) } == [0, 1, 2, 3])
    #expect(ordered.firstIndex(of: items[3]) == nil && !ordered.contains(items[2]) && ordered.count == 4)
    try scene.saveWhole()
    #expect(
      list.inOrder("items", in: scene.container.newContext()) == [1, 4, 0, 5].map { items[$0].objectID })
  }

  @Test("Access by name reads and replaces an ordered relationship as an array")
  func keyValueCoding() throws {
    let scene = try listScene()
    let (list, items) = try filled(scene, 4)
    #expect(list.value(forKey: "items") as? [ManagedObject] == items)
    list.setValue([items[3], items[0], items[2]], forKey: "items")
    #expect(numbers(list) == [3, 0, 2] && items[1].one("list") == nil)
    #expect(list.changedValues().keys.contains("items"))
    #expect(list.committedValues(forKeys: ["items"])["items"] as? [ManagedObject] == items)
    try scene.saveWhole()
    #expect(numbers(list) == [3, 0, 2])
    list.setValue(nil, forKey: "items")
    try scene.saveWhole()
    #expect(list.ordered("items").isEmpty)
  }

  @Test("A move is a change that writes no row, and a rollback undoes the move")
  func moves() throws {
    let scene = try listScene()
    let (list, items) = try filled(scene, 3)
    let view = scene.context.core.viewState.view
    let versions = try [list, items[0]].map { try view.version(of: $0.reference) }
    list.ordered("items").move(items[0], to: 2)
    #expect(scene.context.hasChanges && list.hasPersistentChangedValues && !items[0].hasChanges)
    scene.context.rollback()
    #expect(numbers(list) == [0, 1, 2] && !scene.context.hasChanges)
    list.ordered("items").move(items[0], to: 2)
    list.ordered("items").move(items[0], to: 0)
    list.ordered("items").move(items[2], to: 1)
    #expect(numbers(list) == [0, 2, 1])
    try scene.saveWhole()
    #expect(
      try [list, items[0]].map { try scene.context.core.viewState.view.version(of: $0.reference) } == versions
    )
    #expect(numbers(list) == [0, 2, 1])
  }

  @Test("Discarding a change keeps members at their positions")
  func discarded() throws {
    let scene = try listScene()
    let (list, items) = try filled(scene, 4)
    list.ordered("items").remove(items[1])
    list.ordered("items").move(items[3], to: 0)
    scene.context.refresh(list, mergeChanges: false)
    #expect(numbers(list) == [0, 1, 2, 3])
    items[2].setValue(nil, forKey: "list")
    scene.context.refresh(items[2], mergeChanges: false)
    #expect(numbers(list) == [0, 1, 2, 3])
    // Discarding other changes does not restore the position of a deleted object.
    scene.context.delete(items[1])
    scene.context.processPendingChanges()
    list.ordered("items").move(items[3], to: 0)
    #expect(numbers(list) == [3, 0, 2])
    scene.context.refresh(list, mergeChanges: false)
    #expect(numbers(list) == [0, 2, 3] && list.ordered("items").firstIndex(of: items[2]) == 1)
    #expect(list.ordered("items").count == 3 && list.ordered("items")[2] === items[3])
    scene.context.rollback()
    #expect(numbers(list) == [0, 1, 2, 3])
    try scene.saveWhole()
  }

  @Test("Both ends of a many-to-many relationship have separate orders")
  func bothEnds() throws {
    let scene = try listScene()
    let lists = (0..<3).map { _ in scene.new("List") }
    let tags = (0..<3).map { _ in scene.new("Tag") }
    for list in lists { list.ordered("tags").append(contentsOf: tags) }
    try scene.saveWhole()
    lists[0].ordered("tags").move(tags[2], to: 0)
    tags[2].ordered("lists").move(lists[2], to: 0)
    tags[1].ordered("lists").remove(lists[0])
    lists[1].ordered("tags").replace(with: [tags[2], tags[0], tags[1]])
    for _ in 0..<2 {
      #expect(Array(lists[0].ordered("tags")) == [tags[2], tags[0]])
      #expect(Array(lists[1].ordered("tags")) == [tags[2], tags[0], tags[1]])
      #expect(Array(lists[2].ordered("tags")) == tags)
      #expect(Array(tags[2].ordered("lists")) == [lists[2], lists[0], lists[1]])
      #expect(Array(tags[1].ordered("lists")) == [lists[1], lists[2]])
      if scene.context.hasChanges { try scene.saveWhole() }
    }
    scene.context.delete(lists[1])
    scene.context.delete(tags[0])
    try scene.saveWhole()
    #expect(Array(tags[2].ordered("lists")) == [lists[2], lists[0]])
    #expect(Array(lists[2].ordered("tags")) == [tags[1], tags[2]])
  }

  @Test("Each end of a self-relationship has its own order, even for an object linked to itself")
  func ownInverse() throws {
    let scene = try listScene()
    let nodes = (0..<4).map { _ in scene.new("Node") }
    nodes[0].ordered("friends").append(contentsOf: nodes)
    nodes[3].ordered("friends").insert(nodes[2], at: 0)
    try scene.saveWhole()
    #expect(Array(nodes[0].ordered("friends")) == nodes)
    #expect(Array(nodes[3].ordered("friends")) == [nodes[2], nodes[0]])
    nodes[0].ordered("friends").move(nodes[0], to: 3)
    nodes[2].ordered("friends").move(nodes[3], to: 0)
    try scene.saveWhole()
    #expect(Array(nodes[0].ordered("friends")) == [nodes[1], nodes[2], nodes[3], nodes[0]])
    #expect(Array(nodes[2].ordered("friends")) == [nodes[3], nodes[0]])
    scene.context.delete(nodes[0])
    try scene.saveWhole()
    #expect(Array(nodes[2].ordered("friends")) == [nodes[3]] && nodes[1].ordered("friends").isEmpty)
  }

  @Test("A one-way ordered relationship drops deleted objects")
  func oneWay() throws {
    let scene = try listScene()
    let list = scene.new("List")
    let items = (0..<4).map { _ in scene.new("Item") }
    list.ordered("seen").append(contentsOf: [items[3], items[1], items[0], items[2]])
    try scene.saveWhole()
    scene.context.delete(items[1])
    try scene.saveWhole()
    #expect(Array(list.ordered("seen")) == [items[3], items[0], items[2]])
  }

  @Test("Fetched owners show their orders, even after unsaved moves")
  func fetched() throws {
    let scene = try listScene()
    for name in ["a", "b", "c"] {
      let list = scene.new("List")
      list.setValue(name, forKey: "name")
      for number in 0..<4 {
        let item = scene.new("Item")
        item.setValue(Int64(number), forKey: "number")
        list.ordered("items").insert(item, at: 0)
      }
    }
    try scene.saveWhole()
    let context = scene.container.newContext()
    var request = FetchRequest<ManagedObject>(entityName: "List")
    request.sortDescriptors = [FetchOrder("name")]
    let lists = try context.fetch(request)
    for list in lists { #expect(numbers(list) == [3, 2, 1, 0] && list.ordered("items").count == 4) }
    lists[1].ordered("items").move(from: 0, to: 3)
    #expect(lists.map { numbers($0) } == [[3, 2, 1, 0], [2, 1, 0, 3], [3, 2, 1, 0]])
    try context.save()
    #expect(lists.map { numbers($0) } == [[3, 2, 1, 0], [2, 1, 0, 3], [3, 2, 1, 0]])
  }

  @Test(
    "Deleting owners and members also deletes their order entries",
    arguments: [DeleteRule.cascade, .nullify])
  func deletions(rule: DeleteRule) throws {
    let scene = try listScene(itemsRule: rule)
    let (list, items) = try filled(scene, 5)
    scene.context.delete(items[2])
    list.ordered("items").move(items[4], to: 0)
    try scene.saveWhole()
    #expect(numbers(list) == [4, 0, 1, 3])
    scene.context.delete(list)
    try scene.saveWhole()
    #expect(try scene.count("Item") == (rule == .cascade ? 0 : 4))
    let core = scene.context.core
    for definition in core.graph.store.indexes {
      guard case .orders = definition.kind, let index = core.graph.store.index(named: definition.name) else {
        continue
      }
      #expect(try core.viewState.view.entryCount(index, .all) == 0)
    }
  }

  // MARK: Two contexts

  @Test("If two contexts insert at different positions, both insertions are kept")
  func insertions() throws {
    let scene = try listScene()
    let (list, items) = try filled(scene, 4)
    let other = scene.container.newContext()
    let theirs = other.object(with: list.objectID)
    let (mine, foreign) = (scene.new("Item"), other.insertNewObject(forEntityName: "Item"))
    list.ordered("items").insert(mine, at: 1)
    theirs.ordered("items").insert(foreign, at: 3)
    try other.save()
    try scene.saveWhole()
    let expected = [items[0], mine, items[1], items[2], foreign, items[3]].map(\.objectID)
    #expect(list.inOrder("items", in: scene.context) == expected)
    #expect(list.inOrder("items", in: scene.container.newContext()) == expected)
  }

  @Test(
    "Objects that several contexts insert at one position are adjacent, with space for further insertions")
  func samePlace() throws {
    let scene = try listScene()
    let (list, items) = try filled(scene, 2)
    let others = (0..<3).map { _ in scene.container.newContext() }
    var inserted: [ManagedObjectID] = []
    for context in others {
      let item = context.insertNewObject(forEntityName: "Item")
      context.object(with: list.objectID).ordered("items").insert(item, at: 1)
      inserted.append(item.objectID)
    }
    for context in others { try context.save() }
    scene.context.refreshAllObjects()
    let order = list.ordered("items").objectIDs
    #expect(order.first == items[0].objectID && order.last == items[1].objectID && order.count == 5)
    #expect(Set(order[1...3]) == Set(inserted))
    let between = (0..<3).map { _ in scene.new("Item") }
    for (place, item) in between.enumerated() { list.ordered("items").insert(item, at: 2 * place + 2) }
    let now = list.ordered("items").objectIDs
    #expect(
      [0, 1, 3, 5, 7].map { now[$0] } == order && [2, 4, 6].map { now[$0] } == between.map(\.objectID))
    try scene.saveWhole()
    #expect(list.inOrder("items", in: scene.container.newContext()) == now)
  }

  @Test(
    "If two contexts move one object, the second save conflicts until its context is refreshed")
  func conflictingMoves() throws {
    let scene = try listScene()
    let (list, items) = try filled(scene, 3)
    let other = scene.container.newContext()
    let theirs = other.object(with: list.objectID)
    list.ordered("items").move(items[0], to: 2)
    theirs.ordered("items").move(other.object(with: items[0].objectID), to: 1)
    try other.save()
    let error = #expect(throws: PerdureError.self) { try scene.context.save() }
    #expect(error?.code == .mergeConflict && error?.conflicts.map(\.objectID) == [list.objectID])
    #expect(numbers(list) == [1, 2, 0])
    scene.context.refreshAllObjects()
    #expect(numbers(list) == [1, 2, 0])
    try scene.saveWhole()
    #expect(numbers(list) == [1, 2, 0])
  }

  @Test("Moving a member that another context has removed or deleted does not restore the member")
  func movedAndGone() throws {
    for removes in [false, true] {
      let scene = try listScene()
      let (list, items) = try filled(scene, 3)
      let other = scene.container.newContext()
      let theirs = other.object(with: items[0].objectID)
      if removes { other.delete(theirs) } else { theirs.setValue(nil, forKey: "list") }
      list.ordered("items").move(items[0], to: 2)
      try other.save()
      try scene.saveWhole()
      #expect(numbers(list) == [1, 2])
    }
  }

  // MARK: Cost

  @Test(
    "Many insertions at one position change the order keys of neighbours, but not the order"
  )
  func crowded() throws {
    let scene = try listScene()
    let list = scene.new("List")
    var expected: [ManagedObject] = []
    for step in 0..<400 {
      let item = scene.new("Item")
      let position = expected.count / 2
      list.ordered("items").insert(item, at: position)
      expected.insert(item, at: position)
      if step % 100 == 50 { try scene.saveWhole() }
    }
    #expect(Array(list.ordered("items")) == expected)
    try scene.saveWhole()
    #expect(list.inOrder("items", in: scene.container.newContext()) == expected.map(\.objectID))
  }

  @Test("A relationship that becomes ordered is ordered by ids until members are moved")
  func becomesOrdered() throws {
    let unordered = try ManagedObjectModel([
      EntityDescription("List", properties: [.toMany("items", "Item", inverse: "list")]),
      EntityDescription("Item", properties: [.toOne("list", "List", inverse: "items")]),
    ])
    var ordered = unordered.entities
    ordered[0].properties = [.toMany("items", "Item", inverse: "list", ordered: true)]
    let model = try ManagedObjectModel(ordered)
    let differences = ModelDifference.differences(from: unordered, to: model)
    #expect(differences.map(\.kind) == [.orderedChanged] && differences.allSatisfy(\.isCompatible))
    let back = ModelDifference.differences(from: model, to: unordered)
    #expect(back.map(\.kind) == [.orderedChanged] && back.allSatisfy { !$0.isCompatible })
    #expect(model.versionHash != unordered.versionHash)

    let directory = try TemporaryDirectory()
    let first = try container(unordered, at: directory)
    let context = first.newContext()
    let list = context.insertNewObject(forEntityName: "List")
    for _ in 0..<5 { context.insertNewObject(forEntityName: "Item").setValue(list, forKey: "list") }
    try context.save()
    let ids = list.objectIDs(forRelationshipNamed: "items").map(\.uri).sorted()
    let owner = list.objectID.uri
    try first.close()

    let second = try container(model, at: directory)
    let later = second.newContext()
    let again = later.object(with: try #require(ManagedObjectID(uri: owner)))
    #expect(again.ordered("items").objectIDs.map(\.uri) == ids)
    let before = again.ordered("items").objectIDs
    #expect(before.indices.map { again.ordered("items")[$0].objectID } == before)
    let item = again.ordered("items")[4]
    again.ordered("items").move(item, to: 1)
    let expected = [before[0], before[4], before[1], before[2], before[3]]
    #expect(again.ordered("items").objectIDs == expected)
    try later.save()
    #expect(again.ordered("items").objectIDs == expected)
    try expectWhole(second)
  }

  private func container(_ model: ManagedObjectModel, at directory: TemporaryDirectory) throws
    -> PersistentContainer
  {
    let description = PersistentStoreDescription(path: directory.file("S.perdure"))
    let container = PersistentContainer(name: "S", model: model, classes: [], description: description)
    try container.loadPersistentStores()
    return container
  }
}

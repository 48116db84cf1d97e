// Compares ordered relationships with arrays. After random edits at both ends, saves, rollbacks and
// refreshes, both must show the same order at every position.

import Perdure
import PerdureTestSupport
import Testing

@Suite("Random orders")
struct RandomOrderTests {
  @Test("Ordered relationships equal arrays, before and after saving", arguments: StoreKind.allCases)
  func random(_ kind: StoreKind) throws {
    var random = SeededGenerator.forTest("random orders")
    for _ in 0..<(kind == .engine ? 8 : 3) {
      var world = try OrderWorld(kind, SeededGenerator(seed: random.next()))
      for step in 0..<200 {
        try world.step()
        if step % 4 == 3 { try world.check(world.context) }
        try world.checkKept()
      }
      #expect(world.watch.count > 0)
      try world.save()
    }
  }
}

/// The members of the relationships, by the number of the owner.
private struct Orders: Equatable {
  var items: [Int: [Int]] = [:]
  var tags: [Int: [Int]] = [:]
  var listsOfTags: [Int: [Int]] = [:]
  var isItem: Set<Int> = []

  mutating func letGo(ofItem item: Int) { for list in items.keys { items[list]?.removeAll { $0 == item } } }
}

private struct OrderWorld {
  let container: PersistentContainer
  let context: ManagedObjectContext
  var random: SeededGenerator
  var current = Orders()
  var saved = Orders()
  var ids: [Int: ManagedObjectID] = [:]
  var lastName = 0
  var watch = KeptWatch()
  var trace: [String] = []

  init(_ kind: StoreKind, _ random: SeededGenerator) throws {
    let model = try listScene().container.managedObjectModel
    container = PersistentContainer(
      name: "Orders", model: model, classes: [], description: .inMemory, factory: kind.factory)
    try container.loadPersistentStores()
    context = container.newContext()
    self.random = random
    for _ in 0..<2 { insert("List") }
    for _ in 0..<3 { insert("Tag") }
    try context.save()
    saved = current
  }

  mutating func checkKept() throws {
    let trace = trace
    try watch.check(context, ids.values, &random, "after \(trace)")
  }

  // MARK: Steps

  mutating func step() throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<24: insertItem()
    case 24..<40: move()
    case 40..<50: setList()
    case 50..<56: remove()
    case 56..<64: link()
    case 64..<70: moveLink()
    case 70..<74: replace()
    case 74..<79: delete()
    case 79..<82: insert(Bool.random(using: &random) ? "List" : "Tag")
    case 82..<90: try save()
    case 90..<92: rollback()
    case 92..<95: context.refreshAllObjects()
    default: try changeElsewhere()
    }
  }

  @discardableResult
  private mutating func insert(_ entity: String) -> Int {
    lastName += 1
    ids[lastName] = context.insertNewObject(forEntityName: entity).objectID
    switch entity {
    case "List": (current.items[lastName], current.tags[lastName]) = ([], [])
    case "Tag": current.listsOfTags[lastName] = []
    default: current.isItem.insert(lastName)
    }
    trace.append("insert \(entity) \(lastName)")
    return lastName
  }

  private func object(_ name: Int) -> ManagedObject { context.object(with: ids[name]!) }

  private mutating func anyList() -> Int { current.items.keys.sorted().randomElement(using: &random)! }
  private mutating func anyTag() -> Int { current.listsOfTags.keys.sorted().randomElement(using: &random)! }

  private mutating func insertItem() {
    let (list, item) = (anyList(), insert("Item"))
    let count = current.items[list]!.count
    let position = Bool.random(using: &random) ? count / 2 : Int.random(in: 0...count, using: &random)
    object(list).ordered("items").insert(object(item), at: position)
    current.items[list]!.insert(item, at: position)
    trace.append("insert \(item) into \(list) at \(position)")
  }

  private mutating func move() {
    let list = anyList()
    guard let item = current.items[list]!.randomElement(using: &random) else { return }
    let position = Int.random(in: 0..<current.items[list]!.count, using: &random)
    object(list).ordered("items").move(object(item), to: position)
    current.items[list]!.removeAll { $0 == item }
    current.items[list]!.insert(item, at: position)
    trace.append("move \(item) in \(list) to \(position)")
  }

  /// Sets the list of an item. The item becomes the last member, unless the list already contains
  /// it.
  private mutating func setList() {
    guard let item = current.isItem.sorted().randomElement(using: &random) else { return }
    let list = Int.random(in: 0..<3, using: &random) == 0 ? nil : anyList()
    object(item).setValue(list.map { object($0) }, forKey: "list")
    trace.append("set list of \(item) to \(list ?? 0)")
    if let list, current.items[list]!.contains(item) { return }
    current.letGo(ofItem: item)
    if let list { current.items[list]!.append(item) }
  }

  private mutating func remove() {
    let list = anyList()
    guard !current.items[list]!.isEmpty else { return }
    let position = Int.random(in: 0..<current.items[list]!.count, using: &random)
    object(list).ordered("items").remove(at: position)
    current.items[list]!.remove(at: position)
    trace.append("remove from \(list) at \(position)")
  }

  private mutating func link() {
    let (list, tag) = (anyList(), anyTag())
    if let place = current.tags[list]!.firstIndex(of: tag) {
      object(tag).ordered("lists").remove(object(list))
      current.tags[list]!.remove(at: place)
      current.listsOfTags[tag]!.removeAll { $0 == list }
    } else {
      let position = Int.random(in: 0...current.tags[list]!.count, using: &random)
      object(list).ordered("tags").insert(object(tag), at: position)
      current.tags[list]!.insert(tag, at: position)
      current.listsOfTags[tag]!.append(list)
    }
    trace.append("toggle \(list) and \(tag)")
  }

  private mutating func moveLink() {
    let tag = anyTag()
    guard let list = current.listsOfTags[tag]!.randomElement(using: &random) else { return }
    let position = Int.random(in: 0..<current.listsOfTags[tag]!.count, using: &random)
    object(tag).ordered("lists").move(object(list), to: position)
    current.listsOfTags[tag]!.removeAll { $0 == list }
    current.listsOfTags[tag]!.insert(list, at: position)
    trace.append("move \(list) in \(tag) to \(position)")
  }

  private mutating func replace() {
    let list = anyList()
    let all = current.isItem.sorted().shuffled(using: &random)
    let wanted = Array(all.prefix(Int.random(in: 0...min(6, all.count), using: &random)))
    object(list).setValue(wanted.map { object($0) }, forKey: "items")
    for item in wanted { current.letGo(ofItem: item) }
    current.items[list] = wanted
    trace.append("replace \(list) with \(wanted)")
  }

  private mutating func delete() {
    if Int.random(in: 0..<4, using: &random) == 0, current.items.count > 1 {
      let list = anyList()
      context.delete(object(list))
      (current.items[list], current.tags[list]) = (nil, nil)
      for tag in current.listsOfTags.keys { current.listsOfTags[tag]!.removeAll { $0 == list } }
      trace.append("delete list \(list)")
    } else if let item = current.isItem.sorted().randomElement(using: &random) {
      context.delete(object(item))
      current.letGo(ofItem: item)
      current.isItem.remove(item)
      trace.append("delete item \(item)")
    }
    context.processPendingChanges()
  }

  mutating func save() throws {
    try context.save()
    saved = current
    trace.append("save")
    try check(container.newContext())
    try expectWhole(container)
  }

  private mutating func rollback() {
    context.rollback()
    current = saved
    trace.append("rollback")
  }

  /// Another context appends to a list and moves the first item to the end. This context saves
  /// first, so it has no unsaved changes.
  private mutating func changeElsewhere() throws {
    try save()
    let other = container.newContext()
    let list = anyList()
    let theirs = other.object(with: ids[list]!).ordered("items")
    lastName += 1
    let item = other.insertNewObject(forEntityName: "Item")
    ids[lastName] = item.objectID
    theirs.append(item)
    theirs.move(from: 0, to: theirs.count - 1)
    try other.save()
    current.isItem.insert(lastName)
    current.items[list]!.append(lastName)
    current.items[list]!.append(current.items[list]!.removeFirst())
    saved = current
    trace.append("elsewhere \(lastName) into \(list)")
    context.refreshAllObjects()
  }

  // MARK: Checks

  func check(_ context: ManagedObjectContext) throws {
    for (key, expected) in [("items", current.items), ("tags", current.tags), ("lists", current.listsOfTags)]
    {
      for (owner, members) in expected {
        let shown = context.object(with: ids[owner]!).ordered(key)
        let wanted = members.map { ids[$0]! }
        #expect(shown.objectIDs == wanted, "\(key) of \(owner): \(trace.suffix(30).joined(separator: "; "))")
        #expect(shown.count == wanted.count && shown.map(\.objectID) == wanted)
        for position in wanted.indices {
          let object = shown[position]
          #expect(object.objectID == wanted[position] && shown.firstIndex(of: object) == position)
        }
      }
    }
  }
}

// Compares predicates over ordered relationships with arrays that the test maintains. The
// comparisons are made with unsaved changes, after saves, in another context, and in a child.

import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Random predicates over ordered relationships")
struct RandomOrderPredicateTests {
  @Test(
    "Predicates over ordered relationships give the results of arrays, saved or not, and in children",
    arguments: [StoreKind.naive, .engine, .joined, .child])
  func random(_ kind: StoreKind) throws {
    var random = SeededGenerator.forTest("predicates over orders")
    var found = Answers()
    for _ in 0..<(kind == .engine ? 4 : 2) {
      var world = try PredicateWorld(kind, SeededGenerator(seed: random.next()))
      for step in 0..<60 {
        try world.step()
        if step % 3 == 2 { try world.check() }
      }
      found.add(world.answers)
    }
    // Conditions that are true for all lists, or for no list, test little.
    #expect(found.holding > 100 && found.failing > 100)
  }
}

/// The numbers of objects for which conditions were true and false.
private struct Answers {
  var holding = 0
  var failing = 0

  mutating func add(_ other: Answers) {
    holding += other.holding
    failing += other.failing
  }
}

private struct PredicateWorld {
  let kind: StoreKind
  let container: PersistentContainer
  let context: ManagedObjectContext
  var random: SeededGenerator
  var current = PlainLists()
  var ids: [Int: ManagedObjectID] = [:]
  var trace: [String] = []
  var answers = Answers()

  init(_ kind: StoreKind, _ random: SeededGenerator) throws {
    let scene = try ModelScene(
      on: kind,
      EntityDescription("List", properties: [.toMany("items", "Item", inverse: "list", ordered: true)]),
      EntityDescription(
        "Item",
        properties: [
          .string("name"), .int64("n"), .int64("flags"), .decimal("price"), .double("ratio"),
          .toOne("list", "List", inverse: "items"),
        ], indexes: ["name", "n", "price"].map { FetchIndexDescription(on: $0) }),
      EntityDescription("Special", superentity: "Item", properties: [.int64("extra")]))
    (self.kind, self.random) = (kind, random)
    (container, context) = (scene.container, scene.context)
    for _ in 0..<3 { insertList() }
    for _ in 0..<4 { edit() }
  }

  // MARK: Steps

  mutating func step() throws {
    switch random.pick(0..<100) {
    case 0..<80: edit()
    case 80..<84: insertList()
    case 84..<90: context.refreshAllObjects()
    default:
      try context.save()
      trace.append("save")
    }
  }

  private mutating func insertList() {
    let number = ids.count
    ids[number] = context.insertNewObject(forEntityName: "List").objectID
    current.lists[number] = []
    trace.append("list \(number)")
  }

  private mutating func edit() { current = edited(current, in: context) }

  /// Makes one change in a context and in a copy of its arrays.
  private mutating func edited(_ before: PlainLists, in context: ManagedObjectContext) -> PlainLists {
    var plain = before
    let list = random.pick(plain.lists.keys.sorted())
    let items = mutableItems(list, context)
    let item = plain.items.keys.sorted().randomElement(using: &random)
    switch random.pick(0..<100) {
    case 0..<30: insertItem(into: list, &plain, context)
    case 30..<50:
      guard let item else { break }
      plain.items[item]!.change(&random)
      show(plain.items[item]!, object(item, context))
      trace.append("change \(plain.items[item]!)")
    case 50..<70:
      guard let item = plain.lists[list]!.randomElement(using: &random) else { break }
      let position = random.pick(plain.lists[list]!.indices)
      items.move(object(item, context), to: position)
      plain.unlink(item)
      plain.lists[list]!.insert(item, at: position)
      trace.append("move \(item) in \(list) to \(position)")
    case 70..<80:
      guard let item, !plain.lists[list]!.contains(item) else { break }
      object(item, context).setValue(object(list, context), forKey: "list")
      plain.unlink(item)
      plain.lists[list]!.append(item)
      trace.append("append \(item) to \(list)")
    case 80..<90:
      guard let position = plain.lists[list]!.indices.randomElement(using: &random) else { break }
      items.remove(at: position)
      plain.lists[list]!.remove(at: position)
      trace.append("remove \(position) of \(list)")
    default:
      guard let item else { break }
      context.delete(object(item, context))
      context.processPendingChanges()
      plain.unlink(item)
      plain.items[item] = nil
      trace.append("delete \(item)")
    }
    return plain
  }

  private mutating func insertItem(
    into list: Int, _ plain: inout PlainLists, _ context: ManagedObjectContext
  ) {
    let number = ids.count
    let item = PlainItem(number, isSpecial: random.chance(30), &random)
    let object = context.insertNewObject(forEntityName: item.isSpecial ? "Special" : "Item")
    ids[number] = object.objectID
    show(item, object)
    let position = Int.random(in: 0...plain.lists[list]!.count, using: &random)
    mutableItems(list, context).insert(object, at: position)
    plain.items[number] = item
    plain.lists[list]!.insert(number, at: position)
    trace.append("insert \(item) into \(list) at \(position)")
  }

  private func object(_ number: Int, _ context: ManagedObjectContext) -> ManagedObject {
    context.object(with: ids[number]!)
  }

  private func mutableItems(_ list: Int, _ context: ManagedObjectContext) -> OrderedToMany<ManagedObject> {
    object(list, context).mutableOrderedSetValue(forKey: "items")
  }

  private func show(_ item: PlainItem, _ object: ManagedObject) {
    object.setValue(item.name, forKey: "name")
    object.setValue(item.n, forKey: "n")
    object.setValue(item.flags, forKey: "flags")
    object.setValue(item.price, forKey: "price")
    object.setValue(item.ratio, forKey: "ratio")
  }

  // MARK: Checks

  /// Checks the context, and sometimes a child, or another context after a save.
  mutating func check() throws {
    try check(context, current, "unsaved")
    if kind != .joined, random.chance(40) { try checkChild() }
    guard random.chance(30) else { return }
    try context.save()
    trace.append("save")
    try check(container.newContext(), current, "another context")
    try check(context, current, "saved")
  }

  /// Checks a child before and after changes in the child, and also checks its parent. Then saves
  /// or discards the child.
  private mutating func checkChild() throws {
    let child = context.newChildContext()
    try check(child, current, "child")
    var plain = current
    trace.append("child {")
    for _ in 0..<4 { plain = edited(plain, in: child) }
    trace.append("}")
    try check(child, plain, "changed child")
    try check(context, current, "parent of a changed child")
    guard random.chance(60) else { return trace.append("discard") }
    try child.save()
    current = plain
    trace.append("save child")
    try check(context, current, "parent after a child's save")
  }

  private mutating func check(
    _ context: ManagedObjectContext, _ plain: PlainLists, _ moment: String
  ) throws {
    for _ in 0..<6 {
      let list = random.pick(plain.lists.keys.sorted())
      let condition = draw("items", plain.members(list))
      let holding = plain.lists.keys.filter { condition.holds(plain.members($0)) }
      try compare(
        condition.format, of: "List", among: Array(plain.lists.keys), holding: holding, context, moment)
    }
    for _ in 0..<3 {
      let list = random.pick(plain.lists.keys.sorted())
      let condition = draw("list.items", plain.members(list))
      let entity = random.pick(["Item", "Special"])
      let asked = plain.items.keys.filter { entity == "Item" || plain.items[$0]!.isSpecial }
      let holding = asked.filter { condition.holds(plain.neighbours($0)) }
      try compare(
        condition.format, of: entity, among: asked, holding: holding, context, moment)
    }
  }

  private mutating func draw(_ path: String, _ sample: [PlainItem]) -> PlainCondition {
    var drawing = RandomPlainCondition(path: path, random: SeededGenerator(seed: random.next()))
    return drawing.condition(sample)
  }

  /// Compares a fetch, a count, `filtered(by:)` and `evaluate(with:)` with the objects that satisfy
  /// the condition.
  private mutating func compare(
    _ format: String, of entity: String, among asked: [Int], holding: [Int], _ context: ManagedObjectContext,
    _ moment: String
  ) throws {
    let predicate = try FetchPredicate(format: format)
    let request = FetchRequest<ManagedObject>(entityName: entity, predicate: predicate)
    let expected = Set(holding.map { ids[$0]! })
    let place: Comment = "\(moment), \(entity): \(format)\n\(trace.suffix(40).joined(separator: "\n"))"
    let fetched = try context.fetch(request).map(\.objectID)
    #expect(Set(fetched) == expected && fetched.count == expected.count, place)
    #expect(try context.count(for: request) == expected.count, place)
    let objects = asked.map { object($0, context) }
    #expect(Set(try objects.filtered(by: predicate).map(\.objectID)) == expected, "filtered, \(place)")
    for object in objects {
      #expect(
        try predicate.evaluate(with: object) == expected.contains(object.objectID), "in hand, \(place)")
    }
    answers.holding += holding.count
    answers.failing += asked.count - holding.count
  }
}

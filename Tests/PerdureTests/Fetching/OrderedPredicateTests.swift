import Perdure
import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Predicates on ordered relationships")
struct OrderedPredicateTests {
  private func scene(_ kind: StoreKind) throws -> ModelScene {
    try ModelScene(
      on: kind,
      EntityDescription(
        "List",
        properties: [
          .string("name"), .toMany("items", "Item", inverse: "list", ordered: true),
          .toMany("marks", "Item", inverse: "markedBy"),
        ]),
      EntityDescription(
        "Item",
        properties: [
          .string("name"), .int64("n"), .toOne("list", "List", inverse: "items"),
          .toMany("markedBy", "List", inverse: "marks"),
        ]))
  }

  /// Returns a list with the items c, a, b in this order. They were inserted in the order a, b, c.
  private func fill(_ scene: ModelScene) -> (list: ManagedObject, items: [ManagedObject]) {
    let list = scene.new("List")
    let items = ["a", "b", "c"].enumerated().map { number, name in
      let item = scene.new("Item")
      item.setValue(name, forKey: "name")
      item.setValue(Int64(number), forKey: "n")
      return item
    }
    list.ordered("items").append(contentsOf: [items[2], items[0], items[1]])
    list.setValue(Set(items), forKey: "marks")
    return (list, items)
  }

  private static let holding = [
    "items[0].name == 'c'", "items[FIRST].name == 'c'", "items[LAST].name == 'b'", "items[1].n == 0",
    "items[2].name == 'b'", "items[3].name == nil", "items.name == {'c', 'a', 'b'}", "items.n == {2, 0, 1}",
    "items.name != {'a', 'b', 'c'}", "items[SIZE] == 3", "SUBQUERY(items, $i, $i.n < 2)[0].name == 'a'",
    "items.@unionOfObjects.name == {'c', 'a', 'b'}", "mode(items.name) == {'c', 'a', 'b'}",
    "items.@distinctUnionOfObjects.name == {'c', 'a', 'b'}", "(items UNION items)[LAST].name == 'b'",
    "items[0] == items[FIRST]", "items[items.@count - 1].name == 'b'",
  ]

  private func count(
    _ context: ManagedObjectContext, _ format: String, _ entity: String = "List"
  ) throws -> Int {
    try context.count(
      for: FetchRequest<ManagedObject>(
        entityName: entity, predicate: try FetchPredicate(format: format)))
  }

  @Test(
    "Predicates use the current order before and after a save, in every context and kind of store",
    arguments: [StoreKind.naive, .engine, .joined, .child])
  func everywhere(_ kind: StoreKind) throws {
    let scene = try scene(kind)
    _ = fill(scene)
    for format in Self.holding {
      #expect(try count(scene.context, format) == 1, "unsaved: \(format)")
      guard kind != .joined else { continue }
      #expect(try count(scene.context.newChildContext(), format) == 1, "child of unsaved: \(format)")
    }
    try scene.context.save()
    scene.context.reset()
    let other = scene.container.newContext()
    for format in Self.holding {
      #expect(try count(scene.context, format) == 1, "saved: \(format)")
      #expect(try count(other, format) == 1, "other context: \(format)")
      guard kind != .joined else { continue }
      #expect(try count(other.newChildContext(), format) == 1, "child: \(format)")
    }
    #expect(try count(other, "list.items[0].name == 'c'", "Item") == 3)
  }

  @Test("Predicates include an unsaved move, even through a path from another object")
  func moved() throws {
    let scene = try scene(.current)
    let (list, items) = fill(scene)
    try scene.context.save()
    list.ordered("items").move(from: 0, to: 2)
    #expect(try count(scene.context, "items[0].name == 'a' AND items[LAST].name == 'c'") == 1)
    #expect(try count(scene.context, "list.items[0].name == 'a'", "Item") == 3)
    #expect(try count(scene.context, "list.items.name == {'c', 'a', 'b'}", "Item") == 0)
    scene.context.delete(items[0])
    #expect(try count(scene.context, "items.name == {'b', 'c'}") == 1)
    try scene.context.save()
    #expect(try count(scene.container.newContext(), "items.name == {'b', 'c'}") == 1)
  }

  @Test("A list from an unordered relationship has the same order before and after a save")
  func unordered() throws {
    let scene = try scene(.current)
    let (list, items) = fill(scene)
    // Inserts the items in the reverse of the order in which they were created.
    list.setValue(Set<ManagedObject>(), forKey: "marks")
    for item in items.reversed() { list.mutableSetValue(forKey: "marks").insert(item) }
    let format = "marks.name == {'a', 'b', 'c'}"
    let unsaved = try count(scene.context, format)
    try scene.context.save()
    #expect(try count(scene.context, format) == unsaved)
    #expect(unsaved == 1)
  }

  @Test("A request rejects access by position to an unordered collection")
  func positionsRefused() throws {
    let scene = try scene(.current)
    for format in [
      "marks[0].name == 'a'", "marks[FIRST] == nil", "marks[LAST].n > 1", "items.markedBy[0].name == nil",
      "marks.name[0] == 'a'", "SUBQUERY(marks, $m, $m.n > 1)[0].n == 1", "(items UNION marks)[0].n == 1",
      "marks[marks.@count - 1].n == 1", "marks.@unionOfObjects.name[FIRST] == 'a'",
    ] {
      let error = #expect(throws: FetchError.self, "\(format)") { try count(scene.context, format) }
      #expect(error?.code == .noOrder, "\(format)")
    }
    for format in ["items[0].nme == 'a'", "items[0].name == 3", "items['x'] == 3", "name[0] == 'a'"] {
      let error = #expect(throws: FetchError.self, "\(format)") { try count(scene.context, format) }
      #expect(error?.code == .unknownProperty || error?.code == .typeMismatch, "\(format)")
    }
    for format in ["marks[SIZE] == 3", "(items MINUS marks)[0] == nil", "{1, 2}[0] == 1"] {
      #expect(throws: Never.self, "\(format)") { try count(scene.context, format) }
    }
  }
}

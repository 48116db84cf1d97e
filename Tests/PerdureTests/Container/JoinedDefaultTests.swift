import Foundation
import Perdure
import PerdureModel
import PerdureTestSupport
import Testing

/// An entity in two stores. An attribute was added to each store, each time with a different
/// default.
@Suite("Objects that are older than an attribute, in several stores")
struct JoinedDefaultTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// - Parameter points: The default of an attribute, or nil before the attribute is added.
  private func open(_ points: Int64?, _ stores: String...) throws -> PersistentContainer {
    var item = EntityDescription(
      "Item", properties: [.string("name"), .toOne("box", "Box", inverse: "items")])
    var box = EntityDescription("Box", properties: [.toMany("items", "Item", inverse: "box")])
    if let points {
      item.properties.append(.int64("points", optional: false, default: .integer(points)))
      item.indexes = [FetchIndexDescription(on: "points")]
      box.properties.append(.derived("total", "items.points.@sum"))
      box.indexes = [FetchIndexDescription(on: "total")]
    }
    let names = ["Item", "Box"]
    let model = try ManagedObjectModel([item, box], configurations: ["A": names, "B": names])
    let container = PersistentContainer(
      name: "items", model: model,
      storeDescriptions: stores.map { .init(path: directory.file($0), configuration: $0) })
    try container.loadPersistentStores()
    return container
  }

  private func add(_ name: String, _ container: PersistentContainer) throws {
    let context = container.newContext()
    let item = context.insertNewObject(forEntityName: "Item")
    item["name"] = name
    item["box"] = context.insertNewObject(forEntityName: "Box")
    try context.save()
    try container.close()
  }

  private func names(
    _ context: ManagedObjectContext, _ format: String, by order: FetchOrder? = nil
  ) throws -> [String] {
    var request = FetchRequest<ManagedObject>(entityName: "Item")
    request.predicate = try FetchPredicate(format: format)
    request.sortDescriptors = (order.map { [$0] } ?? []) + [FetchOrder("name")]
    return try context.fetch(request).compactMap { $0["name"] as? String }
  }

  @Test("Old objects keep the default of their own store in predicates, sort descriptors, indexes and sums")
  func keep() throws {
    try add("a", open(nil, "A"))
    try add("b", open(nil, "B"))
    try add("a5", open(5, "A"))
    try add("b1", open(1, "B"))
    let container = try open(3, "A", "B")
    defer { try? container.close() }
    let context = container.newContext()
    let points = try context.fetch(FetchRequest<ManagedObject>(entityName: "Item"))
      .map { "\($0["name"] ?? "")=\($0["points"] ?? "")" }
    #expect(points.sorted() == ["a5=5", "a=5", "b1=1", "b=1"])
    #expect(try names(context, "points == 5") == ["a", "a5"])
    #expect(try names(context, "points == 1 AND name != nil") == ["b", "b1"])
    #expect(try names(context, "points == 3") == [])
    #expect(try names(context, "points + 1 > 2") == ["a", "a5"])
    #expect(try names(context, "TRUEPREDICATE", by: FetchOrder("points")) == ["b", "b1", "a", "a5"])
    #expect(
      try names(context, "name != nil", by: FetchOrder("points", ascending: false)) == ["a", "a5", "b", "b1"])
    #expect(try names(context, "box.total == 5") == ["a", "a5"])
    var boxes = FetchRequest<ManagedObject>(entityName: "Box")
    boxes.sortDescriptors = [FetchOrder("total")]
    #expect(
      try context.fetch(boxes).compactMap { ($0["total"] as? any PredicateArgument)?.predicateValue }
        == [.integer(1), .integer(1), .integer(5), .integer(5)])
  }
}

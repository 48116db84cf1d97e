import Foundation
import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Item: ManagedObject {
  @Attribute(.minimum(0), .maximum(10)) var amount: Int
  @Attribute(.minimum(0.5), .maximum(1.5)) var factor: Double?
  @Attribute(.length(2...4), .pattern("[a-z]*")) var code: String?
  @Attribute(
    .minimum(.date(Date(timeIntervalSinceReferenceDate: 0))),
    .maximum(.date(Date(timeIntervalSinceReferenceDate: 100)))) var at: Date?
  @Attribute(.pattern("https://.*")) var link: URL?
  @Attribute(.length(...3)) var bytes: Data?
  @Attribute(.length(1...)) var note: String?
  @Relationship(inverse: "items") var box: Box?
}

@Entity private final class Box: ManagedObject {
  @Attribute(.length(1...)) var label: String
  @Relationship(inverse: "box", deleteRule: .deny) var items: ToMany<Item>
}

/// Behaviours V1 to V5 of Core Data, and the error codes of section 1.5 (README.md), for rules of
/// the model.
@Suite("Validation: rules of the model")
struct DeclaredRuleTests {
  private func item(_ context: ManagedObjectContext) -> Item {
    let item = Item(context: context)
    item.amount = 1
    return item
  }

  @Test("V2 An assignment is never rejected, and valid values are saved")
  func assignment() throws {
    let context = try Sandbox(Item.self, Box.self).container.newContext()
    let item = item(context)
    item.amount = 11
    #expect(item.amount == 11)
    item.amount = 10
    item.code = "abcd"
    #expect(refusals(context) == [])
  }

  @Test("V5 Numbers: 1610 above the maximum, 1620 below the minimum")
  func numbers() throws {
    let context = try Sandbox(Item.self, Box.self).container.newContext()
    let item = item(context)
    item.amount = 11
    item.factor = 0.25
    #expect(refusals(context) == ["1610 amount", "1620 factor"])
    item.amount = -1
    item.factor = 2
    #expect(refusals(context) == ["1620 amount", "1610 factor"])
  }

  @Test("V5 Dates: 1630 if too late, 1640 if too early")
  func dates() throws {
    let context = try Sandbox(Item.self, Box.self).container.newContext()
    let item = item(context)
    item.at = Date(timeIntervalSinceReferenceDate: 101)
    #expect(refusals(context) == ["1630 at"])
    item.at = Date(timeIntervalSinceReferenceDate: -1)
    #expect(refusals(context) == ["1640 at"])
  }

  @Test("V5 Text: 1660 if too long, 1670 if too short, 1680 if the pattern fails; URIs: 1690")
  func texts() throws {
    let context = try Sandbox(Item.self, Box.self).container.newContext()
    let item = item(context)
    item.code = "abcde"
    #expect(refusals(context) == ["1660 code"])
    item.code = "a"
    #expect(refusals(context) == ["1670 code"])
    item.code = "ABC"
    #expect(refusals(context) == ["1680 code"])
    item.code = nil
    item.link = URL(string: "http://example.org")
    item.bytes = Data(count: 4)
    item.note = ""
    #expect(refusals(context) == ["1690 link", "1660 bytes", "1670 note"])
  }

  @Test("V5 A predicate of the model fails with 1550 and its message")
  func predicates() throws {
    let even = ValidationRule.predicate(
      try FetchPredicate(format: "modulus:by:(SELF, 2) == 0"), message: "must be even")
    let model = try ManagedObjectModel([
      EntityDescription("Pair", properties: [.int64("count", rules: [even])])
    ])
    let context = try Sandbox(model).container.newContext()
    let pair = context.insertNewObject(forEntityName: "Pair")
    pair["count"] = 3
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .validation)
    #expect(error?.details.first?.rule == "must be even")
    #expect(error?.message.contains("count of Pair must be even") == true)
    pair["count"] = 4
    #expect(refusals(context) == [])
  }

  @Test(
    "V1 validateValue gives the same result as setting the value and saving"
  )
  func byHand() throws {
    let context = try Sandbox(Item.self, Box.self).container.newContext()
    let item = item(context)
    func code(_ value: Any?, _ key: String) -> Int? {
      var value = value
      do { try item.validateValue(&value, forKey: key) } catch {
        return (error as? PerdureError)?.code.rawValue
      }
      return nil
    }
    #expect(code(1, "factor") == nil && code(2, "factor") == 1610 && code(Decimal(1), "factor") == nil)
    #expect(code(3.0, "amount") == nil && code(3.5, "amount") == 1550 && code(11.0, "amount") == 1610)
    #expect(code("x", "amount") == 1550 && code(1, "code") == 1550 && code(nil, "amount") == 1570)
    #expect(code(Data(), "link") == 1550 && code("https://a", "link") == nil && code("x:a", "link") == 1690)
    #expect(code(context, "note") == 1550)
    item.setValue(1, forKey: "factor")
    item.setValue(3.0, forKey: "amount")
    item.setValue("https://a", forKey: "link")
    #expect(refusals(context) == [])
  }

  @Test("V4 A failure names the object, the property, the rule and the value")
  func details() throws {
    let context = try Sandbox(Item.self, Box.self).container.newContext()
    let item = item(context)
    item.amount = 12
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .numberTooLarge)
    let detail = try #require(error?.details.first)
    #expect(detail.objectID == item.objectID && detail.property == "amount" && detail.value == .integer(12))
    #expect(detail.validationRule == .maximum(10) && detail.rule == "must be at most 10")
    #expect(error?.description.contains("amount = 12: must be at most 10") == true)
  }

  @Test("V3 All failures of all objects are in one error 1560")
  func everything() throws {
    let context = try Sandbox(Item.self, Box.self).container.newContext()
    let (first, second) = (item(context), item(context))
    first.amount = 11
    first.code = "A"
    second.amount = -1
    _ = Box(context: context)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .multipleValidationErrors)
    #expect(
      error?.details.map { "\($0.code.rawValue) \($0.property)" }.sorted()
        == ["1570 label", "1610 amount", "1620 amount", "1670 code", "1680 code"])
  }

  @Test("V3 A save that fails changes nothing, and succeeds after the errors are corrected")
  func repair() throws {
    let sandbox = try Sandbox(Item.self, Box.self)
    let context = sandbox.container.newContext()
    let (good, bad) = (item(context), item(context))
    bad.amount = 99
    #expect(refusals(context) == ["1610 amount"])
    #expect(good.isInserted && bad.isInserted && bad.amount == 99)
    #expect(try sandbox.container.newContext().fetch(FetchRequest<Item>()).isEmpty)
    bad.amount = 9
    #expect(refusals(context) == [])
    #expect(try sandbox.container.newContext().fetch(FetchRequest<Item>()).count == 2)
  }

  @Test("V2 An update is checked by the rules of all attributes; a deletion is checked by no rule")
  func updates() throws {
    let sandbox = try Sandbox(Item.self, Box.self)
    let context = sandbox.container.newContext()
    let item = item(context)
    item.note = "x"
    try context.save()
    item.note = ""
    #expect(refusals(context) == ["1670 note"])
    context.delete(item)
    #expect(refusals(context) == [])
  }

  @Test("V2 A row that is older than a rule is rejected only at its next update")
  func olderRows() throws {
    let directory = try TemporaryDirectory()
    func container(_ rules: [ValidationRule]) throws -> PersistentContainer {
      let model = try ManagedObjectModel([
        EntityDescription("Thing", properties: [.int64("size", rules: rules), .string("name")])
      ])
      let container = PersistentContainer(name: "Things", model: model, at: directory.path + "/s.perdure")
      try container.loadPersistentStores()
      return container
    }
    let before = try container([])
    let first = before.newContext()
    first.insertNewObject(forEntityName: "Thing")["size"] = 7
    try first.save()
    try before.close()
    let after = try container([.maximum(5)])
    let context = after.newContext()
    context.insertNewObject(forEntityName: "Thing")["size"] = 4
    try context.save()
    let things = try context.fetch(
      FetchRequest<ManagedObject>(entityName: "Thing", predicate: FetchPredicate(format: "size == 7")))
    let old = try #require(things.first)
    old["name"] = "old"
    #expect(refusals(context) == ["1610 size"])
    old["size"] = 5
    #expect(refusals(context) == [])
    try after.close()
  }

  @Test("A context can be validated on demand without a save")
  func onDemand() throws {
    let sandbox = try Sandbox(Item.self, Box.self)
    let context = sandbox.container.newContext()
    try context.validate()
    let (item, box) = (item(context), Box(context: context))
    box.label = "b"
    item.box = box
    try context.validate()
    #expect(context.hasChanges)
    try context.save()
    context.delete(box)
    item.amount = 11
    let error = #expect(throws: PerdureError.self) { try context.validate() }
    #expect(Set(error?.details.map(\.code) ?? []) == [.numberTooLarge, .relationshipDeniedDelete])
    #expect(item.amount == 11 && box.isDeleted)
  }

  @Test("A subentity inherits the rules of its superentity")
  func inherited() throws {
    let model = try ManagedObjectModel([
      EntityDescription("Base", isAbstract: true, properties: [.int64("n", rules: [.minimum(0)])]),
      EntityDescription("Derived", superentity: "Base", properties: [.int64("m", rules: [.minimum(0)])]),
    ])
    let context = try Sandbox(model).container.newContext()
    let object = context.insertNewObject(forEntityName: "Derived")
    object["n"] = -1
    object["m"] = -1
    #expect(refusals(context) == ["1620 n", "1620 m"])
  }
}

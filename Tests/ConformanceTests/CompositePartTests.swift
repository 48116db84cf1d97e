import Foundation
import Perdure
import PerdureTestSupport
import Testing

/// Behaviour A7 of Core Data (README.md): uses of the elements of composite attributes, in models
/// without classes.
@Suite("Elements of composite attributes")
struct CompositePartTests {
  private let address = PropertyDescription.composite(
    "address", [.string("street"), .composite("place", [.int32("code"), .string("city")])])

  private func model(
    _ more: PropertyDescription..., indexes: [FetchIndexDescription] = []
  ) throws -> ManagedObjectModel {
    try ManagedObjectModel([
      EntityDescription(
        "Firm",
        properties: [
          .string("name"), address, .toMany("hands", "Hand", inverse: "firm"),
        ] + more, indexes: indexes),
      EntityDescription(
        "Hand",
        properties: [
          .string("name"), .toOne("firm", "Firm", inverse: "hands"),
          .composite("pay", [.int64("amount"), .string("currency", default: "EUR")]),
        ]),
    ])
  }

  private func insert(_ name: String, _ city: String?, _ context: ManagedObjectContext) -> ManagedObject {
    let firm = context.insertNewObject(forEntityName: "Firm")
    firm["name"] = name
    firm["address"] = city.map { ["street": name, "place": ["city": $0]] as [String: Any] }
    return firm
  }

  private func names(
    _ context: ManagedObjectContext, of entity: String = "Firm", _ format: String, by order: String = "name"
  ) throws -> [String] {
    let request = FetchRequest<ManagedObject>(
      entityName: entity, predicate: try FetchPredicate(format: format), sortDescriptors: [FetchOrder(order)])
    return try context.fetch(request).map { $0["name"] as? String ?? "-" }
  }

  @Test("A path sets an element, even in an absent composite and in many objects")
  func settingByPath() throws {
    let context = try Sandbox(model()).container.newContext()
    let firm = insert("f", nil, context)
    let hands = (0..<2).map { _ in context.insertNewObject(forEntityName: "Hand") }
    for hand in hands { hand["firm"] = firm }
    hands[0].setValue("Paris", forKeyPath: "firm.address.place.city")
    #expect(firm.value(forKeyPath: "address.place.city") as? String == "Paris")
    firm.setValue(["code": 3], forKeyPath: "address.place")
    #expect(firm["address.place.city"] == nil && firm["address.place.code"] as? Int32 == 3)
    firm.setValue(7, forKeyPath: "hands.pay.amount")
    firm.setValue("Rue", forKeyPath: "self.address.street")
    #expect(hands.map { $0["pay.amount"] as? Int } == [7, 7] && firm["address.street"] as? String == "Rue")
    #expect(firm.value(forKeyPath: "hands.pay.amount.@sum") as? Int == 14)
    #expect(firm.value(forKeyPath: "hands.pay.currency") as? [String] == ["EUR", "EUR"])
  }

  @Test("Changes of the current event contain the whole composite with its earlier value")
  func events() throws {
    let context = try Sandbox(model()).container.newContext()
    let firm = insert("f", "Rome", context)
    try context.save()
    firm["address.place.city"] = "Paris"
    context.processPendingChanges()
    firm["address.street"] = "s"
    let event = firm.changedValuesForCurrentEvent()
    #expect(event.keys.sorted() == ["address"])
    let before = try #require(event["address"] as? [String: Any?])
    #expect(before["street"] as? String == "f")
    #expect((before["place"] as? [String: Any?])?["city"] as? String == "Paris")
    let committed = firm.committedValues(forKeys: ["address.street", "address.place"])
    #expect(committed["address.street"] as? String == "f")
    #expect((committed["address.place"] as? [String: Any?])?["city"] as? String == "Rome")
    firm["address"] = nil
    let changed = firm.changedValues()
    #expect(changed.keys.sorted() == ["address"] && changed["address"]! == nil)
    #expect(firm.hasPersistentChangedValues)
    firm["address"] = ["street": "f", "place": ["city": "Rome"] as [String: Any?]] as [String: Any?]
    #expect(firm.changedValues().isEmpty && !firm.hasPersistentChangedValues)
    context.rollback()
    #expect(firm["address.place.city"] as? String == "Rome")
  }

  @Test("A path sets a value in all objects of a transient array")
  func settingInArrays() throws {
    let model = try ManagedObjectModel([
      EntityDescription("E", properties: [.string("name"), .transient("others", .undefined)])
    ])
    let context = try Sandbox(model).container.newContext()
    let all = (0..<3).map { _ in context.insertNewObject(forEntityName: "E") }
    all[0]["others"] = [all[1], all[2]]
    all[0].setValue("n", forKeyPath: "others.name")
    #expect(all.map { $0["name"] as? String } == [nil, "n", "n"])
  }

  @Test("A manual accessor reads and writes a composite and records the change")
  func primitives() throws {
    let context = try Sandbox(model()).container.newContext()
    let firm = insert("f", "Rome", context)
    try context.save()
    firm.willChangeValue(forKey: "address")
    firm.setPrimitiveValue(["street": "p"], forKey: "address")
    #expect(!firm.isUpdated && firm["address.street"] as? String == "p")
    firm.didChangeValue(forKey: "address")
    #expect(firm.isUpdated && firm.changedValues().keys.sorted() == ["address"])
    firm.willAccessValue(forKey: "address")
    #expect((firm.primitiveValue(forKey: "address") as? [String: Any?])?["street"] as? String == "p")
    firm.didAccessValue(forKey: "address")
    try context.save()
    #expect(try names(context, "address.street == 'p' AND address.place == nil") == ["f"])
  }

  @Test("A predicate may compare a whole composite with nil, even in subqueries")
  func wholes() throws {
    let context = try Sandbox(model()).container.newContext()
    for (name, city) in [("a", "Rome"), ("b", nil)] {
      let hand = context.insertNewObject(forEntityName: "Hand")
      hand["name"] = "hand of \(name)"
      hand["pay"] = nil
      hand["firm"] = insert(name, city, context)
    }
    for _ in 0..<2 {
      #expect(try names(context, "nil != address.place") == ["a"])
      #expect(try names(context, "NOT (address != nil)") == ["b"])
      #expect(try names(context, of: "Hand", "pay == nil AND firm.address == nil") == ["hand of b"])
      let several = "SUBQUERY(hands, $h, $h.pay == nil AND $h.firm.address != nil).@count == 1"
      #expect(try names(context, several) == ["a"])
      #expect(try names(context, "ANY hands.pay.currency == nil") == ["a", "b"])
      #expect(try names(context, "hands.@max.pay.amount == nil") == ["a", "b"])
      #expect(try names(context, "address.street.length == 1") == ["a"])
      try context.save()
    }
    for (format, words) in [
      ("address == 'x'", "composite"), ("address.place > 3", "composite"),
      ("address.stret == 'x'", "address.street"),
    ] {
      let error = try #require(throws: FetchError.self) { try names(context, format) }
      #expect("\(error)".contains(words), "\(error)")
    }
    let error = try #require(throws: FetchError.self) { try names(context, "TRUEPREDICATE", by: "address") }
    #expect("\(error)".contains("composite"))
    for format in ["ANY hands.pay == nil", "hands.pay == nil"] {
      let error = try #require(throws: FetchError.self) { try names(context, format) }
      #expect("\(error)".contains("SUBQUERY(objects, $o, $o.pay == nil).@count > 0"), "\(error)")
    }
    #expect(try names(context, "SUBQUERY(hands, $o, $o.pay == nil).@count > 0") == ["a", "b"])
  }

  @Test("A partial index may have a predicate on elements of composites")
  func partialIndexes() throws {
    let index = FetchIndexDescription(
      "romans", [.init("canonical:(address.street)")],
      partialPredicate: try FetchPredicate(
        format: "address.place.city == 'Rome' AND address.place.code != nil"))
    let context = try Sandbox(model(indexes: [index])).container.newContext()
    for (number, city) in ["Rome", "Paris", "Rome", "Oslo"].enumerated() {
      let firm = insert("Ä\(number)", city, context)
      if number > 0 { firm["address.place.code"] = number }
    }
    try context.save()
    let format =
      "address.place.city == 'Rome' AND address.place.code > 1 AND canonical:(address.street) == 'a2'"
    #expect(try names(context, format) == ["Ä2"])
    let request = FetchRequest<ManagedObject>(
      entityName: "Firm", predicate: try FetchPredicate(format: format))
    #expect(try context.explain(request).contains("canonical:(address.street)"))
    #expect(try names(context, "canonical:(address.street) == 'a1'") == ["Ä1"])
  }

  @Test("Attributes derived from elements of composites can be indexed and fetched")
  func derived() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "Firm",
        properties: [
          .string("name"), address, .toMany("hands", "Hand", inverse: "firm"),
          .derived("city", "address.place.city", type: .string, optional: true),
          .derived("plain", "canonical:(address.place.city)", type: .string, optional: true),
          .derived("wages", "hands.wage.@sum", type: .int64),
        ], indexes: [FetchIndexDescription(on: "city")]),
      EntityDescription(
        "Hand",
        properties: [
          .string("name"), .toOne("firm", "Firm", inverse: "hands"),
          .composite("pay", [.int64("amount", optional: false, default: 2)], optional: false),
          .derived("town", "uppercase:(firm.address.place.city)", type: .string, optional: true),
          .derived("wage", "pay.amount", type: .int64, optional: false),
        ]),
    ])
    let context = try Sandbox(model).container.newContext()
    let firm = insert("f", "Örebro", context)
    let hand = context.insertNewObject(forEntityName: "Hand")
    hand["firm"] = firm
    hand["name"] = "h"
    for amount in [2, 3] as [Int64] {
      hand["pay.amount"] = amount
      #expect(firm["city"] as? String == "Örebro" && firm["plain"] as? String == "orebro")
      #expect(hand["town"] as? String == "ÖREBRO" && firm["wages"] as? Int == Int(amount))
      #expect(try names(context, "city == 'Örebro' AND wages == \(amount)", by: "plain") == ["f"])
      #expect(try names(context, of: "Hand", "town == 'ÖREBRO'", by: "firm.address.place.city") == ["h"])
      try context.save()
    }
    firm["address.place.city"] = "Oslo"
    #expect(firm["city"] as? String == "Oslo" && firm.changedValues().keys.sorted() == ["address"])
  }

  @Test(
    "Invalid derivations through composites are model errors")
  func derivationFlaws() throws {
    func messages(_ city: PropertyDescription, _ derived: PropertyDescription...) -> [String] {
      let entity = EntityDescription(
        "E",
        properties: [
          .composite("c", [.composite("place", [city], optional: false)]), .toMany("all", "E"),
        ] + derived)
      do throws(ModelError) {
        _ = try ManagedObjectModel([entity])
        return []
      } catch {
        return error.problems.map { "\($0)" }
      }
    }
    let required = PropertyDescription.string("city", optional: false)
    let found = messages(required, .derived("d", "c.place.city", type: .string, optional: false))
    #expect(found.count == 1 && found[0].contains("follows from E.c, which may have none"), "\(found)")
    #expect(messages(required, .derived("d", "c.place.city", type: .string, optional: true)) == [])
    let sums = messages(.int64("n"), .derived("s", "all.c.place.n.@sum"))
    let remedy = "Add an attribute with the derivation \"c.place.n\" to the other entity"
    #expect(sums.contains { $0.contains(remedy) }, "\(sums)")
    let whole = messages(required, .derived("d", "c.place", type: .string, optional: true))
    #expect(whole.contains { $0.contains("composite") }, "\(whole)")
  }

  @Test("A store accepts added composites, and its errors name the paths of other changes")
  func adopting() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/c.perdure"
    func open(_ properties: PropertyDescription...) throws -> PersistentContainer {
      let model = try ManagedObjectModel([EntityDescription("E", properties: properties)])
      let container = PersistentContainer(name: "E", model: model, description: .init(path: path))
      try container.loadPersistentStores()
      return container
    }
    func fetched(_ container: PersistentContainer) throws -> ManagedObject? {
      try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "E")).first
    }
    let plain = try open(.string("name"))
    let context = plain.newContext()
    context.insertNewObject(forEntityName: "E")["name"] = "n"
    try context.save()
    try plain.close()
    let home = PropertyDescription.composite(
      "home", [.string("street"), .composite("place", [.string("city", default: "Rome")])])
    let wider = try open(.string("name"), home)
    let object = try #require(try fetched(wider))
    #expect(object["home.place.city"] as? String == "Rome" && object["home.street"] == nil)
    try wider.close()
    let place = PropertyDescription.composite("place", [.string("city")])
    let changes: [(PropertyDescription, String)] = [
      (.composite("home", [.string("street"), .composite("place", [.int64("city")])]), "home.place.city"),
      (.composite("home", [place]), "home.street"), (.string("home"), "home"),
    ]
    for (changed, words) in changes {
      let error = try #require(throws: PerdureError.self) { try open(.string("name"), changed) }
      #expect(error.code == .incompatibleModel && "\(error)".contains(words), "\(error)")
    }
    let again = try open(.string("name"), home)
    #expect(try fetched(again)?["home.place.city"] as? String == "Rome")
    try again.close()
  }
}

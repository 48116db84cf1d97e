import Foundation
import Perdure
import PerdureTestSupport
import Testing

@Composite private struct Place: Equatable {
  var code: Int32 = 0
  var city: String?
}

@Composite private struct Address: Equatable {
  var street: String?
  var place: Place?
  var country: String = "FR"
  static let unknown = Address()

  init(street: String? = nil, place: Place? = nil, country: String = "FR") {
    self.street = street
    self.place = place
    self.country = country
  }
}

@Entity(indexes: [["address.place.city"]]) private class Company: ManagedObject {
  @Attribute(.unique) var name: String
  @Attribute(.composite) var address: Address?
  @Attribute(.composite) var main: Place
  var size: Int = 5
  @Relationship(inverse: "company") var workers: ToMany<Clerk>
}

@Entity private final class Clerk: ManagedObject {
  var name: String
  @Relationship(inverse: "workers") var company: Company?
}

@Entity private final class Branch: Company {
  var number: Int?
}

/// Behaviour A7 of Core Data (README.md): composite attributes.
@Suite("Composite attributes")
struct CompositeAttributeTests {
  private func context() throws -> ManagedObjectContext {
    try Sandbox(Company.self, Clerk.self, Branch.self).container.newContext()
  }

  private func company(_ name: String, _ address: Address?, _ context: ManagedObjectContext) -> Company {
    let company = Company(context: context)
    company.name = name
    company.address = address
    company.main = Place(code: 1, city: name)
    return company
  }

  private func names(_ context: ManagedObjectContext, _ query: (EntityRef<Company>) -> FetchPredicate) throws
    -> [String]
  {
    var request = FetchRequest<Company>(where: query)
    request.sortDescriptors = [FetchOrder(\Company.name)]
    return try context.fetch(request).map(\.name)
  }

  private let paris = Address(street: "Rue A", place: Place(code: 75, city: "Paris"))

  @Test(
    "A composite struct keeps its value before and after a save"
  )
  func typed() throws {
    let sandbox = try Sandbox(Company.self, Clerk.self, Branch.self)
    let context = sandbox.container.newContext()
    let branch = Branch(context: context)
    #expect(branch.size == 5 && branch.number == nil && branch.main == Place())
    branch.name = "b"
    branch.address = paris
    branch.address?.place?.code = 76
    branch.main.city = "m"
    branch.number = 7
    branch.size = 6
    try context.save()
    let same = try #require(try sandbox.container.newContext().fetch(FetchRequest<Branch>()).first)
    #expect(same.address == Address(street: "Rue A", place: Place(code: 76, city: "Paris")))
    #expect(same.main.city == "m" && same.number == 7 && same.size == 6 && same.name == "b")
    same.address = nil
    #expect(same.address == nil && same.value(forKey: "address.country") == nil)
  }

  @Test("By name, a composite reads as a dictionary of its elements, and each element has a path")
  func byName() throws {
    let context = try context()
    let company = company("a", nil, context)
    company.address = nil
    #expect(company.value(forKey: "address") == nil)
    company.setValue(["street": "S", "place": ["city": "C"]] as [String: Any], forKey: "address")
    let value = try #require(company.value(forKey: "address") as? [String: Any?])
    #expect(value["street"] as? String == "S" && value.keys.sorted() == ["country", "place", "street"])
    let place = try #require(value["place"] as? [String: Any?])
    #expect(place["city"] as? String == "C" && place["code"] as? Int32 == nil)
    #expect(company.value(forKeyPath: "address.place.city") as? String == "C")
    #expect(company.value(forKey: "address.place.city") as? String == "C")
    #expect(company.value(forKeyPath: "address.country") == nil)
    company.setValue("D", forKey: "address.place.city")
    company.setValue(Place(code: 3), forKey: "main")
    #expect(company.address?.place?.city == "D" && company.main == Place(code: 3))
    company.setValue(nil, forKey: "address")
    #expect(company.address == nil)
    let clerk = Clerk(context: context)
    clerk.company = company
    company.address = paris
    #expect(clerk.value(forKeyPath: "company.address.place.city") as? String == "Paris")
  }

  @Test("Changed and committed values contain the whole composite")
  func changes() throws {
    let context = try context()
    let company = company("a", paris, context)
    try context.save()
    company.address?.street = "Rue B"
    #expect(company.changedValues().keys.sorted() == ["address"])
    let changed = try #require(company.changedValues()["address"] as? [String: Any?])
    #expect(changed["street"] as? String == "Rue B")
    let committed = try #require(company.committedValues(forKeys: nil)["address"] as? [String: Any?])
    #expect(committed["street"] as? String == "Rue A" && committed["country"] as? String == "FR")
    context.rollback()
    #expect(company.address == paris && !company.isUpdated)
  }

  @Test(
    "Predicates and sort descriptors use paths through composites and relationships")
  func queries() throws {
    let context = try context()
    for (name, city) in [("a", "Rome"), ("b", "Paris"), ("c", nil)] {
      let company = company(
        name, city.map { Address(street: name, place: Place(code: 1, city: $0)) }, context)
      let clerk = Clerk(context: context)
      clerk.name = "clerk of \(name)"
      clerk.company = company
    }
    for _ in 0..<2 {
      #expect(try names(context) { $0.address.place.city == "Paris" } == ["b"])
      #expect(try names(context) { $0.address == nil } == ["c"])
      #expect(try names(context) { $0.address.place.city != nil && $0.main.code == 1 } == ["a", "b"])
      let format = try FetchPredicate(format: "company.address.place.city == 'Rome'")
      #expect(try context.fetch(FetchRequest<Clerk>(predicate: format)).map(\.name) == ["clerk of a"])
      let absent = try FetchPredicate(format: "company.address != nil")
      #expect(try context.count(for: FetchRequest<Clerk>(predicate: absent)) == 2)
      let any = try FetchPredicate(
        format: "SUBQUERY(workers, $w, $w.company.address.street == 'a').@count > 0")
      #expect(try context.fetch(FetchRequest<Company>(predicate: any)).map(\.name) == ["a"])
      let by = FetchRequest<Company>(sortDescriptors: [FetchOrder("address.place.city", ascending: false)])
      #expect(try context.fetch(by).map(\.name) == ["a", "b", "c"])
      let typed = FetchRequest<Clerk>(sortDescriptors: [
        FetchOrder(Clerk.self) { $0.company.address.place.city }
      ])
      #expect(try context.fetch(typed).map(\.name) == ["clerk of c", "clerk of b", "clerk of a"])
      try context.save()
    }
    // With these objects, the plan uses the index.
    for number in 0..<4 { _ = company("\(number)", nil, context) }
    try context.save()
    let request = FetchRequest<Company> { $0.address.place.city == "Paris" }
    let plan = try context.explain(request)
    #expect(plan.contains("address.place.city") && !plan.contains("filter:"), "\(plan)")
    #expect(throws: FetchError.self) {
      try context.fetch(FetchRequest<Company>(predicate: FetchPredicate(format: "address.town == 'x'")))
    }
    #expect(throws: FetchError.self) {
      try context.fetch(FetchRequest<Company>(predicate: FetchPredicate(format: "address == 'x'")))
    }
  }

  /// Validates nil for a key. Returns the code and the property of the error, if any.
  private func refusal(of object: ManagedObject, _ key: String) -> String? {
    var value: Any?
    do {
      try object.validateValue(&value, forKey: key)
      return nil
    } catch {
      return (error as? PerdureError)?.details.map { "\($0.code.rawValue) \($0.property)" }.joined()
        ?? "\(error)"
    }
  }

  @Test("validateValue rejects nil for the last element of a required composite, as a save does")
  func lastPart() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "E",
        properties: [
          .composite(
            "home",
            [.composite("place", [.string("city"), .string("land")], optional: false), .int64("floor")])
        ])
    ])
    let context = try Sandbox(model).container.newContext()
    let object = context.insertNewObject(forEntityName: "E")
    object["home"] = ["place": ["city": "x", "land": "y"], "floor": 1] as [String: Any]
    #expect(refusal(of: object, "home.place.city") == nil)
    object["home.place.land"] = nil
    #expect(refusal(of: object, "home.place.city") == "1570 home.place")
    object["home.place.city"] = nil
    #expect(refusals(context) == ["1570 home.place"])
    object["home.place.city"] = "x"
    object["home.floor"] = nil
    #expect(refusal(of: object, "home.place.city") == nil)
    object["home.place.city"] = nil
    #expect(refusals(context) == [])
  }

  @Test("Elements have defaults, rules and requirements, and errors name the whole path")
  func validation() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "E",
        properties: [
          .composite(
            "home",
            [
              .string("street", rules: [.minimumLength(2)]),
              .composite("place", [.string("city", optional: false), .int16("n")], optional: false),
            ]),
          .composite("work", [.string("street"), .int16("floor")], optional: false),
          .composite("preset", [.string("a", default: "x"), .uuid("id", default: .newUUID)]),
        ], indexes: [FetchIndexDescription(on: "home.place.city", "work.floor")],
        uniquenessConstraints: [["home.place.city", "work.street"]])
    ])
    let context = try Sandbox(model).container.newContext()
    let object = context.insertNewObject(forEntityName: "E")
    #expect(object["preset.a"] as? String == "x" && object["preset.id"] is UUID)
    #expect(refusals(context) == ["1570 work"])
    object["work.floor"] = 3
    object["home.street"] = "s"
    #expect(refusals(context) == ["1670 home.street", "1570 home.place"])
    object["home.street"] = "street"
    object["home.place.n"] = 1
    #expect(refusals(context) == ["1570 home.place.city"])
    object["home.place.city"] = "c"
    object["work.street"] = "w"
    try context.save()
    object["home.place.city"] = nil
    #expect(refusals(context) == ["1570 home.place.city"])
    object["home"] = nil
    #expect(refusals(context) == [])
    let parts = ["home.place.city", "home.place"]
    #expect(parts.map { refusal(of: object, $0) } == [nil, nil])
    object["home.street"] = "street"
    #expect(parts.map { refusal(of: object, $0) } == [nil, "1570 home.place"])
    object["home.place.n"] = 1
    #expect(parts.map { refusal(of: object, $0) } == ["1570 home.place.city", "1570 home.place"])
    object["home"] = nil
    object["work"] = nil
    #expect(refusals(context) == ["1570 work"])
    context.rollback()
    let values = ["street": "xx", "place": ["city": "c"]] as [String: Any]
    for object in [object, context.insertNewObject(forEntityName: "E")] {
      object["home"] = values
      object["work"] = ["street": "w"]
    }
    let error = try #require(throws: PerdureError.self) { try context.save() }
    #expect(error.code == .constraintConflict)
  }

  @Test("Snapshots and descriptions have elements by path, and typed snapshots have composites")
  func snapshots() throws {
    let company = company("a", paris, try context())
    let picture = try TypedSnapshot(company)
    #expect(picture.address == paris && picture.main.city == "a" && picture.size == 5)
    #expect(picture.contents["address.place.city"]?.value == .string("Paris"))
    let text = try JSONEncoder().encode(picture.contents)
    #expect(try JSONDecoder().decode(ObjectSnapshot.self, from: text) == picture.contents)
    #expect("\(company)".contains("address.place.city = \"Paris\""))
    #expect(
      "\(company.entity)".contains(
        "address (street string, place (code int32!, city string), country string!)"))
  }

  @Test("A store accepts an added element with a default only in a required composite")
  func elementsWithDefaults() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/c.perdure"
    func container(
      _ optional: [PropertyDescription] = [], required: [PropertyDescription] = []
    ) throws -> PersistentContainer {
      let model = try ManagedObjectModel([
        EntityDescription(
          "E",
          properties: [
            .string("name"), .composite("c", [.string("a", optional: false)] + optional),
            .composite("r", [.composite("in", [.string("a")] + required, optional: false)], optional: false),
          ])
      ])
      let container = PersistentContainer(name: "E", model: model, description: .init(path: path))
      try container.loadPersistentStores()
      return container
    }
    let first = try container()
    let context = first.newContext()
    context.insertNewObject(forEntityName: "E")["r.in.a"] = "x"
    try context.save()
    try first.close()
    let preset = PropertyDescription.int64("b", default: 4)
    let sure = PropertyDescription.int64("b", optional: false, default: 4)
    for (added, place) in [(preset, "c.b"), (sure, "c.b"), (.composite("d", [preset]), "c.d")] {
      let error = try #require(throws: PerdureError.self) { try container([added]) }
      #expect(error.code == .incompatibleModel)
      #expect("\(error)".contains("E.\(place): ") && "\(error)".contains("without a default"), "\(error)")
    }
    let second = try container([.int64("b"), .composite("d", [.int64("b")])], required: [sure])
    let later = second.newContext()
    let found = try #require(try later.fetch(FetchRequest<ManagedObject>(entityName: "E")).first)
    #expect(found["c"] == nil && found["r.in.a"] as? String == "x" && found["r.in.b"] as? Int == 4)
    found["name"] = "n"
    try later.save()
    try second.close()
    // A default that is added later applies to new objects only. This object keeps its nil.
    let third = try container([preset, .composite("d", [.int64("b")])], required: [sure])
    let last = try #require(try third.newContext().fetch(FetchRequest<ManagedObject>(entityName: "E")).first)
    #expect(last["c"] == nil && last["r.in.b"] as? Int == 4)
  }
}

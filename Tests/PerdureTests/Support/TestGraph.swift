// A small graph with every kind of property, in a naive store, filled at random.

import FoundationEssentials
import Perdure
import PerdureLog
import PerdureModel
import PerdurePredicates
import PerdureTestSupport

/// The entities of the tests of fetching.
enum TestModel {
  /// - Parameter derives: Whether the model has derived attributes besides the count, and an
  ///   ordered relationship.
  static func model(indexed: Bool, derives: Bool = true) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      entities(indexed: indexed).map { entity in
        var entity = entity
        if derives { entity.properties += derived[entity.name] ?? [] }
        if derives, indexed, entity.name == "Employee" {
          entity.indexes += ["companyName", "bossLevel", "bossCompany"].map { FetchIndexDescription(on: $0) }
        }
        return entity
      })
  }

  private static let derived: [String: [PropertyDescription]] = [
    "Company": [
      .derived("payroll", "employees.salary.@sum", type: .double), .derived("bigs", "employees.@sum.big"),
      .derived("levels", "employees.mid.@sum", type: .decimal),
    ],
    "Employee": [
      .derived("companyName", "company.name", type: .string),
      .derived("bossLevel", "boss.level", type: .decimal),
      .derived("bossCompany", "boss.companyName", type: .string),
      .derived("plain", "canonical:(name)", type: .string),
      .derived("bossPlain", "uppercase:(boss.plain)", type: .string), .derived("rank", "age", type: .int16),
      .toMany("errands", "Tag", inverse: "runners", ordered: true),
    ],
    "Tag": [.toMany("runners", "Employee", inverse: "errands")],
    "Badge": [.derived("ownerAge", "owner.rank", type: .int16)],
  ]

  private static func entities(indexed: Bool) -> [EntityDescription] {
    [
      EntityDescription(
        "Party", isAbstract: true,
        properties: [.string("name"), .string("note")],
        indexes: indexed ? [FetchIndexDescription(on: "name")] : []),
      EntityDescription(
        "Company", superentity: "Party",
        properties: [
          .date("founded"), .uri("site"), .toMany("employees", "Employee", inverse: "company"),
          .derived("employeeCount", "employees.@count"),
        ], indexes: indexed ? [FetchIndexDescription(on: "employeeCount")] : []),
      EntityDescription(
        "Employee", superentity: "Party",
        properties: [
          .boolean("active"), .int16("age"), .int32("mid"), .int64("big"), .float("score"),
          .double("salary"), .decimal("level"), .date("hired"), .uuid("code"), .binary("photo"),
          .toOne("company", "Company", inverse: "employees"),
          .toOne("boss", "Employee", inverse: "reports"),
          .toMany("reports", "Employee", inverse: "boss"),
          .toMany("tags", "Tag", inverse: "holders"),
          .toMany("friends", "Employee", inverse: "friends"),
          .toOne("badge", "Badge", inverse: "owner"),
        ], indexes: indexed ? employeeIndexes : [],
        uniquenessConstraints: indexed ? [["big"]] : []),
      EntityDescription("Manager", superentity: "Employee", properties: [.int64("budget")]),
      EntityDescription(
        "Tag",
        properties: [
          .string("label"), .int32("weight"), .toMany("holders", "Employee", inverse: "tags"),
        ], indexes: indexed ? [FetchIndexDescription(on: "label")] : []),
      EntityDescription(
        "Badge", properties: [.int32("number"), .toOne("owner", "Employee", inverse: "badge")]),
    ]
  }

  private static let employeeIndexes = [
    FetchIndexDescription(
      "age_salary", [.init("age"), .init("salary", ascending: false)]),
    FetchIndexDescription(on: "salary"), FetchIndexDescription(on: "hired"),
    FetchIndexDescription(on: "level"), FetchIndexDescription(on: "code"),
    FetchIndexDescription(on: "active"), FetchIndexDescription(on: "score"),
    FetchIndexDescription("note_down", [.init("note", ascending: false)]),
    FetchIndexDescription(on: "company", "name"), FetchIndexDescription(on: "photo"),
  ]

  static func schema(indexed: Bool, derives: Bool = true) throws -> StoreSchema {
    StoreSchema(try StoredModel.initial(for: try model(indexed: indexed, derives: derives)))
  }
}

/// The content of one object, before it becomes a row.
struct TestObject {
  let reference: ObjectReference
  var values: [String: Value]
  var links: [String: [ObjectReference]] = [:]
}

/// A store with given objects. The objects are the same with and without indexes in the model.
struct TestGraph {
  let store: NaiveStore
  let schema: StoreSchema
  private(set) var objects: [ObjectReference: TestObject] = [:]

  init(_ objects: [TestObject], indexed: Bool) throws {
    try self.init(objects, TestModel.schema(indexed: indexed))
  }

  init(_ objects: [TestObject], _ schema: StoreSchema) throws {
    self.schema = schema
    store = NaiveStore(schema)
    var change = StoreChange(view: store.view(), schema: store.schema, durability: .relaxed)
    for object in objects {
      self.objects[object.reference] = object
      change.puts.append(object.reference, try Self.row(of: object, schema))
      change.linksAdded += Self.links(of: object, schema)
      change.places += Self.places(of: object, schema)
    }
    _ = try store.commit(change)
  }

  static func row(of object: TestObject, _ schema: StoreSchema) throws -> [UInt8] {
    let entity = schema.entity(object.reference.entityNumber)
    return RowWriter(entity.layouts!).row { slot in
      .value(object.values[entity.properties[slot].name] ?? .null)
    }
  }

  /// The links whose source is the object.
  static func links(of object: TestObject, _ schema: StoreSchema) -> [StoreLink] {
    let entity = schema.entity(object.reference.entityNumber)
    return object.links.flatMap { name, targets -> [StoreLink] in
      guard let slot = entity.slot(named: name),
        case .inverse(_, let index, _, true) = entity.properties[slot].form
      else { return [] }
      return targets.map { StoreLink(index: index, source: object.reference, target: $0) }
    }
  }

  /// The order keys of members of ordered relationships, in the order of the links.
  static func places(of object: TestObject, _ schema: StoreSchema) -> [StoreOrderKey] {
    let entity = schema.entity(object.reference.entityNumber)
    return object.links.flatMap { name, targets -> [StoreOrderKey] in
      guard let slot = entity.slot(named: name), let order = entity.properties[slot].order else { return [] }
      var last: OrderKey?
      return targets.compactMap { target in
        last = OrderKey.between(last, nil)
        let link = StoreLink(index: order.keys, source: object.reference, target: target)
        return last.map { StoreOrderKey(link: link, key: $0) }
      }
    }
  }

  /// Random objects of all entities, with links among them.
  static func objects(_ random: inout SeededGenerator, employees: Int = 40) throws -> [TestObject] {
    let schema = try TestModel.schema(indexed: false)
    func number(_ name: String) -> UInt16 { schema.entity(named: name)!.number }
    func references(_ name: String, _ count: Int) -> [ObjectReference] {
      (0..<count).map { ObjectReference(entity: number(name), id: UInt64($0 + 1)) }
    }
    let companies = references("Company", 6)
    let tags = references("Tag", 7)
    let badges = references("Badge", employees / 2)
    let staff = references("Employee", employees) + references("Manager", employees / 4)
    var objects = (companies + tags + badges + staff).map { reference in
      TestObject(reference: reference, values: attributes(schema.entity(reference.entityNumber), &random))
    }
    var freeBadges = badges
    for position in objects.indices where staff.contains(objects[position].reference) {
      let me = objects[position].reference
      objects[position].values["big"] = random.chance(10) ? .null : .integer(Int64(me.rawValue % 997))
      if random.chance(70) { objects[position].values["company"] = .reference(random.pick(companies)) }
      if random.chance(60) { objects[position].values["boss"] = .reference(random.pick(staff)) }
      objects[position].links["tags"] = tags.filter { _ in random.chance(25) }
      objects[position].links["errands"] = tags.filter { _ in random.chance(35) }.shuffled(using: &random)
      if random.chance(40), let badge = freeBadges.popLast() {
        objects.link(me, "badge", badge, "owner", schema)
      }
    }
    objects.befriend(staff, &random)
    return objects
  }

  private static func attributes(
    _ entity: EntityStorage, _ random: inout SeededGenerator
  ) -> [String: Value] {
    var values: [String: Value] = [:]
    for property in entity.properties {
      guard case .attribute(let kind) = property.form else { continue }
      values[property.name] = random.chance(15) ? .null : RandomValue.of(kind, &random)
    }
    return values
  }
}

extension [TestObject] {
  /// Sets a one-to-one link on the side that has the column.
  fileprivate mutating func link(
    _ left: ObjectReference, _ leftName: String, _ right: ObjectReference, _ rightName: String,
    _ schema: StoreSchema
  ) {
    let entity = schema.entity(left.entityNumber)
    let isHere = entity.slot(named: leftName).map {
      if case .toOne = entity.properties[$0].form { true } else { false }
    }
    let (owner, name, target) = isHere == true ? (left, leftName, right) : (right, rightName, left)
    for position in indices where self[position].reference == owner {
      self[position].values[name] = .reference(target)
    }
  }

  /// Friendship is its own inverse: each link is stored in both directions.
  fileprivate mutating func befriend(_ staff: [ObjectReference], _ random: inout SeededGenerator) {
    var friends: [ObjectReference: Set<ObjectReference>] = [:]
    for left in staff where random.chance(50) {
      let right = random.pick(staff)
      friends[left, default: []].insert(right)
      friends[right, default: []].insert(left)
    }
    for position in indices {
      guard let found = friends[self[position].reference] else { continue }
      self[position].links["friends"] = found.sorted { $0.rawValue < $1.rawValue }
    }
  }
}

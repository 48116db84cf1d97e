import Foundation
import Perdure
import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@Entity private final class Landlord: ManagedObject {
  var name: String?
  @Relationship(inverse: "landlord") var houses: ToMany<House>
}

@Entity private final class House: ManagedObject {
  @Attribute(.indexed) var name: String?
  @Relationship(inverse: "houses") var landlord: Landlord?
  @Relationship(inverse: "house") var rooms: ToMany<Room>
  @Attribute(derived: "rooms.@count") var roomCount: Int
  @Attribute(.indexed, derived: "rooms.rent.@sum") var rent: Int
  @Attribute(.indexed, derived: "rooms.size.@sum") var size: Double
  @Attribute(.indexed, derived: "rooms.deposit.@sum") var deposit: Decimal
  /// A sum over an attribute that no index contains.
  @Attribute(derived: "rooms.width.@sum") var width: Double
  @Attribute(.indexed, derived: "landlord.name") var landlordName: String?
}

@Entity private final class Room: ManagedObject {
  var name: String = ""
  var rent: Int = 0
  var size: Double?
  var width: Float = 0
  var deposit: Decimal?
  @Relationship(inverse: "rooms") var house: House?
  @Attribute(.indexed, derived: "house.name") var houseName: String?
  @Attribute(.indexed, derived: "house.landlord.name") var landlordName: String?
  @Attribute(derived: "canonical:(house.landlordName)") var plainLandlord: String?
  @Attribute(derived: "uppercase:(name)") var shout: String?
  @Attribute(derived: "house.rent") var houseRent: Int?
  @Attribute(derived: "house.size") var houseSize: Double?
}

/// Compares predicates and orders on derived attributes with the same predicates and orders on
/// their derivations, and with the values of each object.
@Suite("Fetching by derived attributes")
struct DerivedFetchTests {
  private struct Question: Sendable {
    let derived: String
    let expression: String
    let holds: @Sendable (Room) -> Bool

    init(_ derived: String, _ expression: String, _ holds: @escaping @Sendable (Room) -> Bool) {
      self.derived = derived
      self.expression = expression
      self.holds = holds
    }
  }

  private static let questions: [Question] = [
    Question("houseName == 'h1'", "house.name == 'h1'") { $0.houseName == "h1" },
    Question("houseName != 'h1'", "house.name != 'h1'") { $0.houseName != "h1" },
    Question("houseName == nil", "house.name == nil") { $0.houseName == nil },
    Question("houseName IN {'h0', 'h2'}", "house.name IN {'h0', 'h2'}") {
      ["h0", "h2"].contains($0.houseName)
    },
    Question("houseName BEGINSWITH 'h' AND rent > 1", "house.name BEGINSWITH 'h' AND rent > 1") {
      $0.houseName?.hasPrefix("h") == true && $0.rent > 1
    },
    Question("landlordName == 'L1'", "house.landlord.name == 'L1'") { $0.landlordName == "L1" },
    Question("house.landlordName == 'É0'", "house.landlord.name == 'É0'") { $0.house?.landlordName == "É0" },
    Question("plainLandlord == 'e0'", "canonical:(house.landlord.name) == 'e0'") { $0.plainLandlord == "e0" },
    Question("plainLandlord == nil", "canonical:(house.landlord.name) == nil") { $0.plainLandlord == nil },
    Question("shout == 'R3'", "uppercase:(name) == 'R3'") { $0.shout == "R3" },
    Question("houseRent > 6", "house != nil AND house.rooms.rent.@sum > 6") { ($0.houseRent ?? 0) > 6 },
    Question("house.rent > 6", "house.rooms.@sum.rent > 6") { ($0.house?.rent ?? 0) > 6 },
    Question("house.deposit == 1.5", "house.rooms.deposit.@sum == 1.5") { $0.house?.deposit == 1.5 },
    Question("house.deposit > 1e41", "house.rooms.@sum.deposit > 1e41") {
      ($0.house?.deposit ?? 0) > Decimal(sign: .plus, exponent: 41, significand: 1)
    },
    Question("house.size == 1", "house.rooms.size.@sum == 1") { $0.house?.size == 1 },
    Question("house.size != house.width", "house.rooms.size.@sum != house.rooms.width.@sum") {
      $0.house?.size != $0.house?.width
    },
    Question("houseSize == nil", "house == nil") { $0.houseSize == nil },
    Question(
      "houseSize > 2 OR houseRent == 0",
      "house.rooms.size.@sum > 2 OR house != nil AND house.rooms.rent.@sum == 0"
    ) {
      ($0.houseSize ?? 0) > 2 || $0.houseRent == 0
    },
    Question("ANY house.rooms.houseName == 'h2'", "ANY house.rooms.house.name == 'h2'") { room in
      room.house?.rooms.contains { $0.houseName == "h2" } ?? false
    },
    Question(
      "SUBQUERY(house.rooms, $r, $r.landlordName == 'L1' AND $r.shout != 'R1').@count > 0",
      "SUBQUERY(house.rooms, $r, $r.house.landlord.name == 'L1' AND uppercase:($r.name) != 'R1').@count > 0"
    ) { room in
      room.house?.rooms.contains { $0.landlordName == "L1" && $0.shout != "R1" } ?? false
    },
  ]
  private static let orders: [(key: String, value: @Sendable (Room) -> Value)] = [
    ("houseName", { text($0.house?.name) }), ("landlordName", { text($0.house?.landlord?.name) }),
    ("house.landlordName", { text($0.house?.landlord?.name) }),
    (
      "house.rent",
      { room in room.house.map { .integer(Int64($0.rooms.reduce(0) { $0 + $1.rent })) } ?? .null }
    ),
    (
      "houseRent",
      { room in room.house.map { .integer(Int64($0.rooms.reduce(0) { $0 + $1.rent })) } ?? .null }
    ),
    ("houseSize", { room in room.house.map { .double($0.size) } ?? .null }),
    ("house.deposit", { room in room.house.map { .decimal($0.deposit) } ?? .null }),
    ("plainLandlord", { text($0.plainLandlord) }), ("shout", { text($0.name.uppercased()) }),
  ]
  private static let houseOrders: [(key: String, value: @Sendable (House) -> Value)] = [
    ("rent", { .integer(Int64($0.rooms.reduce(0) { $0 + $1.rent })) }), ("size", { .double($0.size) }),
    ("deposit", { .decimal($0.deposit) }), ("width", { .double($0.width) }),
    ("roomCount", { .integer(Int64($0.rooms.count)) }), ("landlordName", { text($0.landlord?.name) }),
  ]

  private static func text(_ text: String?) -> Value { text.map(Value.string) ?? .null }

  private func ids(_ context: ManagedObjectContext, _ format: String) throws -> Set<ManagedObjectID> {
    let request = FetchRequest<Room>(predicate: try FetchPredicate(format: format))
    let found = try context.fetchIDs(request)
    #expect(try context.count(for: request) == found.count, "\(format)")
    return Set(found)
  }

  /// Expects that a fetch sorts by the objects' values, and equal values by ids. With a limit, it
  /// must return the first of these objects.
  private func checkOrder<T: ManagedObject>(
    _ context: ManagedObjectContext, _ key: String, _ value: (T) -> Value
  ) throws {
    for isAscending in [true, false] {
      var request = FetchRequest<T>(sortDescriptors: [FetchOrder(key, ascending: isAscending)])
      let all = try context.fetch(request)
      let unordered = try context.fetch(FetchRequest<T>())
      #expect(Set(all) == Set(unordered) && all.count == unordered.count, "\(key)")
      for (object, next) in zip(all, all.dropFirst()) {
        let order = Value.sortOrder(value(object), value(next))
        #expect(order == .same || order == (isAscending ? .ascending : .descending), "\(key) \(isAscending)")
      }
      request.fetchLimit = 4
      #expect(try context.fetch(request) == Array(all.prefix(4)), "\(key) \(isAscending)")
    }
  }

  private func check(_ context: ManagedObjectContext) throws {
    let rooms = try context.fetch(Room.fetchRequest())
    for question in Self.questions {
      let naive = Set(rooms.filter(question.holds).map(\.objectID))
      #expect(try ids(context, question.derived) == naive, "\(question.derived)")
      #expect(try ids(context, question.expression) == naive, "\(question.expression)")
    }
    for (key, value) in Self.orders { try checkOrder(context, key, value) }
    for (key, value) in Self.houseOrders { try checkOrder(context, key, value) }
    for house in try context.fetch(FetchRequest<House>()) {
      let rooms = Array(house.rooms)
      let sums: [(Value, [Value])] = [
        (.double(house.size), rooms.compactMap { $0.size.map(Value.double) }),
        (.decimal(house.deposit), rooms.compactMap { $0.deposit.map(Value.decimal) }),
        (.double(house.width), rooms.map { .double(Double($0.width)) }),
      ]
      for (kept, members) in sums {
        let wanted = try Aggregation.sum(members)
        #expect(Value.sortOrder(kept, wanted) == .same, "\(kept) \(wanted)")
      }
    }
  }

  @Test("A derived attribute is equivalent to its derivation, before and after a save")
  func differential() throws {
    var random = SeededGenerator.forTest("derived attributes in fetches")
    let classes: [ManagedObject.Type] = [Landlord.self, House.self, Room.self]
    let container = PersistentContainer(
      name: "Rent", model: try ManagedObjectModel(classes.map { $0.entityDescription }), classes: classes,
      description: .inMemory, factory: StoreKind.current.factory)
    try container.loadPersistentStores()
    let context = container.newContext()
    for number in 0..<12 {
      if number < 3 { Landlord(context: context).name = number == 0 ? "É0" : "L\(number)" }
      if number < 4 { House(context: context).name = "h\(number)" }
      Room(context: context).name = "r\(number)"
    }
    try context.save()
    for round in 0..<12 {
      for _ in 0..<Int.random(in: 1...8, using: &random) { try edit(context, &random) }
      try check(context)
      if round % 4 == 3 { context.rollback() } else { try context.save() }
      try check(context)
      try check(container.newContext())
    }
  }

  @Test("Text longer than the indexed prefix is found, even through related objects")
  func longText() throws {
    let directory = try TemporaryDirectory()
    let container = try PersistentContainer(
      name: "Rooms", classes: [Landlord.self, House.self, Room.self],
      description: .init(path: directory.file("rooms.perdure")))
    try container.loadPersistentStores()
    let context = container.newContext()
    let long = String(repeating: "n", count: 65_100)
    for name in [long, long + "o", "n"] {
      let room = Room(context: context)
      room.house = House(context: context)
      room.house?.name = name
    }
    try context.save()
    for key in ["houseName", "house.name"] {
      for (comparison, count) in [("==", 1), ("BEGINSWITH", 2), (">=", 2), ("<", 1), ("<=", 2), (">", 1)] {
        var request = FetchRequest<Room>(
          predicate: try FetchPredicate(format: "\(key) \(comparison) %@", long))
        #expect(try context.fetch(request).count == count, "\(key) \(comparison)")
        request.sortDescriptors = [FetchOrder(key)]
        #expect(try context.fetch(request).count == count, "\(key) \(comparison), in order")
      }
    }
  }

  private static let deposits: [Decimal] = ["0", "1.5", "1e41", "-1e41", "1e-45", "2e100", "-2e100"].map {
    Decimal(string: $0) ?? .nan
  }

  private func edit(_ context: ManagedObjectContext, _ random: inout SeededGenerator) throws {
    let rooms = try context.fetch(
      FetchRequest<Room>(sortDescriptors: [FetchOrder("name"), FetchOrder("rent")]))
    let houses = try context.fetch(FetchRequest<House>(sortDescriptors: [FetchOrder("name")]))
    let landlords = try context.fetch(FetchRequest<Landlord>(sortDescriptors: [FetchOrder("name")]))
    let (room, house, landlord) = (random.pick(rooms), random.pick(houses), random.pick(landlords))
    switch Int.random(in: 0..<10, using: &random) {
    case 0, 1: room.rent = Int.random(in: 0..<5, using: &random)
    case 2:
      room.size = random.chance(20) ? nil : random.pick([0, 0.5, 1, 1e16, -1e16, 0.1, 1e-300])
      room.width = random.pick([0, 0.1, -0.1, 1e30, -1e30])
      room.deposit = random.chance(20) ? nil : random.pick(Self.deposits)
    case 3, 4: room.house = random.chance(20) ? nil : house
    case 5: house.name = random.chance(20) ? nil : "h\(Int.random(in: 0..<4, using: &random))"
    case 6: house.landlord = random.chance(20) ? nil : landlord
    case 7: landlord.name = random.chance(20) ? nil : "L\(Int.random(in: 0..<3, using: &random))"
    case 8: if houses.count > 2 { context.delete(house) } else { House(context: context).name = "h1" }
    default:
      if rooms.count > 10 {
        context.delete(room)
      } else {
        Room(context: context).name = "r\(random.next() % 5)"
      }
    }
  }
}

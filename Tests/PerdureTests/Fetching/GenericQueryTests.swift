import FoundationEssentials
import Perdure
import PerdurePredicates
import Synchronization
import Testing

@testable import Perdure

private protocol Named {
  var name: String { get }
  var nick: String? { get }
  var isOpen: Bool { get }
  var isShut: Bool { get }
  var size: Int { get }
  var shout: String { get }
}

private protocol Dated {
  var day: Date? { get set }
  var weight: Decimal { get set }
  var code: UUID? { get set }
}

@Entity private class Place: ManagedObject {
  var name: String
  var nick: String?
  var isBig: Bool = false
  var isOpen: Bool = false
  var size: Int = 0
  @Relationship(inverse: "places") var region: Region?

  var shout: String { name.uppercased() }
  var isShut: Bool { !isOpen }
  var shownName: String { nick ?? name }
  var label: String { name.isEmpty ? "unnamed" : name }
  var trimmed: String { String(name.drop { $0 == " " }) }
  var atLeastZero: Int { max(0, size) }
  var small: String { name.lowercased() }
}

@Entity private final class Harbour: Place {
  var day: Date?
  var weight: Decimal = 0
  var code: UUID?
  var other: Decimal = 0
}

@Entity private final class Region: ManagedObject {
  var name: String
  @Relationship(inverse: "region") var places: ToMany<Place>
}

@Entity private final class Hooked: ManagedObject {
  static let insertions = Mutex(0)

  var name: String
  var nick: String?
  var isOpen: Bool = false
  var size: Int = 0
  var shout: String { name }
  var isShut: Bool { !isOpen }

  override func awakeFromInsert() { Self.insertions.withLock { $0 += 1 } }
}

private protocol Housed {
  associatedtype Home: ManagedObject & QueryableObject
  associatedtype Neighbour: ManagedObject & QueryableObject
  var home: Home { get }
  var towedBy: Neighbour? { get }
  var tows: ToMany<Neighbour> { get }
}

private protocol Sorted {
  associatedtype Part: ManagedObject & QueryableObject
  var parts: OrderedToMany<Part> { get }
}

@Entity private final class Box: ManagedObject {
  @Relationship(inverse: "box") var parts: OrderedToMany<Item>
  var allParts: OrderedToMany<Item> { parts }
  @Relationship(inverse: "lid") var lidOf: Box?
  @Relationship(inverse: "lidOf") var lid: Box?
  @Relationship(inverse: "spareBox") var spares: ToMany<Item>
  var isOpen: Bool = false
  var shown: ToMany<Item> { isOpen ? spares : ToMany.init(reading: self) }
  var anyLid: Box { lid ?? lidOf ?? self }
  var lidOrSelf: Box { lid ?? self }
  var noLid: Box? {
    _ = lid
    return nil
  }
}

@Entity private final class Item: ManagedObject {
  var number: Int = 0
  @Relationship(inverse: "parts") var box: Box?
  @Relationship(inverse: "spares") var spareBox: Box?
  var place: Box? { box ?? spareBox }
  var boxAlias: Box? { box }
}

extension Box: Sorted {}

extension ToMany where Element == Item {
  fileprivate init(reading box: Box) { self = box.spares }
}

/// A class without `@Entity`: it does not override `entityDescription`. Its accessors, except
/// `note` and `heir`, assume that the values exist.
private final class Strict: ManagedObject {
  var title: String { value(forKey: "title") as! String }
  var size: Int { value(forKey: "size") as! Int }
  var note: String? { value(forKey: "note") as? String }
  var owner: Strict { value(forKey: "owner") as! Strict }
  var heir: Strict? { value(forKey: "heir") as? Strict }
  var owned: Set<Strict> { value(forKey: "owned") as! Set<Strict> }
  var ownedView: ToMany<ManagedObject> { mutableSetValue(forKey: "owned") }
  var loud: String { title + "!" }
  var big: Set<Strict> { owned.filter { $0.size > 1 } }

  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel([
      EntityDescription(
        "Strict",
        properties: [
          .string("title"), .int64("size"), .string("note"), .toOne("owner", "Strict", inverse: "owned"),
          .toMany("owned", "Strict", inverse: "owner"), .toOne("heir", "Strict"),
        ])
    ])
  }
}

/// A class without `@Entity`: it does not override `entityDescription`. Its accessors use names.
private final class Plain: ManagedObject {
  var title: String {
    get { value(forKey: "title") as? String ?? "" }
    set { setValue(newValue, forKey: "title") }
  }
  var size: Int {
    get { value(forKey: "size") as? Int ?? 0 }
    set { setValue(newValue, forKey: "size") }
  }
  var loud: String { title + "!" }
}

private enum Size: Int, AttributeValue, CaseIterable { case small, large }
private enum Berth: String, AttributeValue, CaseIterable { case open, closed, unknown }

private protocol Moored {
  var berth: Berth { get }
  var spare: Berth? { get }
  var draught: Double { get }
  var log: Data { get }
  var port: ManagedObjectID { get }
}

/// A class with computed properties that read values which a new object does not have.
@Entity private final class Ship: ManagedObject {
  var name: String
  var berth: Berth = Berth.open
  var spare: Berth?
  var draught: Double = 0
  var log: Data = Data()
  var tons: Int = 0
  var port: ManagedObjectID
  @Relationship(inverse: "ships") var home: Quay
  @Relationship(inverse: "tows") var towedBy: Ship?
  @Relationship(inverse: "towedBy") var tows: ToMany<Ship>
  @Relationship(inverse: "owner") var owned: ToMany<Quay>

  var homeName: String { home.name }
  var homeRegionName: String { home.owner.tows.isEmpty ? home.name : name }
  var nameAtHome: String { home.name.isEmpty ? "none" : name }
  var nameIfAlone: String { tows.isEmpty ? name : "fleet" }
  var nameIfTowed: String { towedBy?.name ?? name }
  var nameIfSaved: String { isInserted ? "new" : name }
  var nameTwice: String { name.isEmpty ? "" : name }
  var keyedHome: String { value(forKey: "home") == nil ? name : "" }
  var firstMaster: String {
    var ship = self
    while ship.home.owner !== ship { ship = ship.home.owner }
    return ship.name
  }
  var cappedTons: Int { min(tons, 1_000_000) }
  var tonsButOne: Int { tons == .max ? 0 : tons }
  var shortName: String { String(name.prefix(500)) }
  var knownName: String { name == "unknown" ? "" : name }
  var shownDraught: Double { draught.isFinite ? draught : 0 }
  var shownBerth: Berth { berth == .unknown ? .open : berth }
  var size: Size { name.isEmpty ? .small : .large }
  var load: Berth { tons == 0 ? .open : .closed }
  var initial: String { "\(name.first!)" }
  var number: Int { Int(name)! }
}

@Entity private final class Quay: ManagedObject {
  var name: String
  @Relationship(inverse: "home") var ships: ToMany<Ship>
  @Relationship(inverse: "owned") var owner: Ship
}

extension Ship: Moored {}
extension Ship: Housed {}

extension Place: Named {}
extension Harbour: Dated {}
extension Hooked: Named {}

private func named<T: ManagedObject & Named>(
  _ type: T.Type, _ name: String, in context: ManagedObjectContext
) throws -> [T] {
  try context.fetch(T.fetchRequest { $0.name == name && $0.size >= 0 && !$0.isOpen })
}

private func nicked<T: ManagedObject & Named>(_ type: T.Type) -> FetchRequest<T> {
  T.fetchRequest { $0.nick.hasPrefix("n") && $0.nick != nil }
}

private func ordered<T: ManagedObject & Named>(_ type: T.Type) -> FetchRequest<T> {
  FetchRequest<T>(sortDescriptors: [FetchOrder(\T.size, ascending: false), FetchOrder(\T.name)])
}

private func dated<T: ManagedObject & Dated>(_ day: Date, _ code: UUID) -> FetchRequest<T> {
  T.fetchRequest { $0.day == day && $0.weight > 2 && $0.code == code }
}

@Suite("Queries in code that is generic over a protocol")
struct GenericQueryTests {
  private func context() throws -> ManagedObjectContext {
    let container = try PersistentContainer(
      name: "Places", classes: [Place.self, Harbour.self, Region.self, Hooked.self], description: .inMemory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  @Test("Key paths of a protocol resolve to properties of a class and a subclass, also in sort descriptors")
  func found() throws {
    let context = try context()
    let (place, harbour) = (Place(context: context), Harbour(context: context))
    (place.name, place.size, place.isBig) = ("P", 3, true)
    (harbour.name, harbour.size, harbour.nick) = ("H", 5, "nick")
    (harbour.day, harbour.weight, harbour.code) = (Date(timeIntervalSince1970: 7), 3, UUID())
    for _ in 0..<2 {
      #expect(try named(Place.self, "P", in: context) == [place])
      #expect(try named(Place.self, "H", in: context) == [harbour])
      #expect(try named(Harbour.self, "H", in: context) == [harbour])
      #expect(try named(Harbour.self, "P", in: context) == [])
      #expect(try context.fetch(nicked(Place.self)) == [harbour])
      #expect(try context.fetch(ordered(Place.self)) == [harbour, place])
      let request: FetchRequest<Harbour> = dated(Date(timeIntervalSince1970: 7), try #require(harbour.code))
      #expect(try context.fetch(request) == [harbour])
      try context.save()
    }
    #expect("\(nicked(Place.self).predicate ?? .false)" == "nick BEGINSWITH \"n\" AND nick != NULL")
  }

  @Test("`>` and `<=` on an optional date match only objects that have a date")
  func optionalDates() throws {
    let context = try context()
    let day = { Date(timeIntervalSince1970: $0) }
    let harbours = [day(1), day(3), nil].map { day in
      let harbour = Harbour(context: context)
      (harbour.name, harbour.day) = ("H", day)
      return harbour
    }
    for _ in 0..<2 {
      #expect(try context.fetch(Harbour.fetchRequest { $0.day > day(2) }) == [harbours[1]])
      #expect(try context.fetch(Harbour.fetchRequest { $0.day <= day(2) }) == [harbours[0]])
      #expect(try context.fetch(Harbour.fetchRequest { $0.day == nil }) == [harbours[2]])
      #expect(try context.count(for: Harbour.fetchRequest { $0.day != day(1) }) == 2)
      try context.save()
    }
  }

  @Test(
    "A fetch throws for a computed property unless it returns one stored property unchanged; a negation also throws"
  )
  func computed() throws {
    let context = try context()
    func request<T: ManagedObject & Named>(_ type: T.Type) -> [FetchRequest<T>] {
      [
        T.fetchRequest { $0.shout == "X" }, T.fetchRequest { !$0.isShut },
        FetchRequest<T>(sortDescriptors: [FetchOrder(\T.shout)]),
      ]
    }
    for request in request(Place.self) {
      let error = #expect(throws: FetchError.self) { try context.fetch(request) }
      #expect(error?.code == .unknownProperty)
      #expect(error?.message.contains("does not read exactly one stored property of Place") == true)
    }
    for request in [
      Place.fetchRequest { $0.shownName == "X" }, Place.fetchRequest { $0.label == "X" },
      Place.fetchRequest { $0.trimmed == "X" }, Place.fetchRequest { $0.atLeastZero == 0 },
      Place.fetchRequest { $0.small == "x" },
      FetchRequest<Place>(sortDescriptors: [FetchOrder(\Place.shownName)]),
      Place.fetchRequest { $0.shout == "X" },
      FetchRequest<Place>(sortDescriptors: [FetchOrder(\Place.region?.name)]),
    ] {
      #expect(throws: FetchError.self) { try context.fetch(request) }
    }
  }

  @Test("Resolving a key path calls no hook of the class")
  func noHooks() throws {
    let context = try context()
    let hooked = Hooked(context: context)
    hooked.name = "a"
    #expect(Hooked.insertions.withLock { $0 } == 1)
    #expect(try named(Hooked.self, "a", in: context) == [hooked])
    #expect(Hooked.insertions.withLock { $0 } == 1)
  }

  @Test(
    "A query throws for a computed property that reads a relationship or several values, or changes only a few values"
  )
  func unusual() throws {
    let container = try PersistentContainer(
      name: "Ships", classes: [Ship.self, Quay.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    for keyPath in [
      \Ship.homeName, \.homeRegionName, \.nameAtHome, \.nameIfAlone, \.nameIfTowed, \.nameIfSaved,
      \.nameTwice,
      \.keyedHome, \.firstMaster, \.shortName, \.knownName, \.initial, \.home.name,
    ] as [KeyPath<Ship, String>] {
      #expect(throws: FetchError.self) {
        try context.fetch(FetchRequest<Ship>(sortDescriptors: [FetchOrder(keyPath)]))
      }
    }
    for keyPath in [\Ship.cappedTons, \.tonsButOne, \.number] as [KeyPath<Ship, Int>] {
      let order = FetchOrder(keyPath)
      let error = #expect(throws: FetchError.self) {
        try context.fetch(FetchRequest<Ship>(sortDescriptors: [order]))
      }
      #expect(error?.code == .unknownProperty)
    }
    for request in [
      Ship.fetchRequest { $0.shownDraught > 1 }, Ship.fetchRequest { $0.shownBerth == .open },
      Ship.fetchRequest { $0.size == .small }, Ship.fetchRequest { $0.load == .open },
      Ship.fetchRequest { $0.homeName == "x" },
    ] {
      #expect(throws: FetchError.self) { try context.fetch(request) }
    }
  }

  @Test("Key paths of a protocol compare numbers, data, ids and enumerations with several cases")
  func enumerations() throws {
    let container = try PersistentContainer(
      name: "Ships", classes: [Ship.self, Quay.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let (quay, ship) = (Quay(context: context), Ship(context: context))
    (ship.name, ship.berth, ship.spare, ship.draught, ship.home) = ("S", .closed, .open, 2.5, quay)
    (ship.log, quay.owner, quay.name, ship.port) = (Data([1]), ship, "Q", quay.objectID)
    let port = quay.objectID
    func found<T: ManagedObject & Moored>(_ type: T.Type) throws -> [T] {
      try context.fetch(
        T.fetchRequest {
          $0.berth == .closed && $0.spare == .open && $0.draught == 2.5 && $0.log == Data([1])
            && $0.port == port
        })
    }
    #expect(try found(Ship.self) == [ship])
    try context.save()
    #expect(try found(Ship.self) == [ship])
  }

  @Test("Typed predicates and sort descriptors work for a class whose accessors call value(forKey:)")
  func accessorsByName() throws {
    let wide = EntityDescription(
      "Plain",
      properties: [
        .attribute(AttributeDescription("title", .string)), .attribute(AttributeDescription("size", .int64)),
      ])
    // Before a container has registered the entity, the key path has no name. This result must not
    // be cached.
    _ = Plain.fetchRequest { $0.title == "a" }
    let container = PersistentContainer(
      name: "Plain", model: try ManagedObjectModel([wide]), classes: [Plain.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    for (title, size) in [("a", 2), ("b", 1), ("a", 1)] {
      let object = Plain(context: context)
      (object.title, object.size) = (title, size)
    }
    let request = Plain.fetchRequest { $0.title == "a" && $0.size > 0 }
    #expect(try context.count(for: request) == 2)
    let ordered = FetchRequest<Plain>(sortDescriptors: [FetchOrder(\Plain.title), FetchOrder(\Plain.size)])
    #expect(try context.fetch(ordered).map { "\($0.title)\($0.size)" } == ["a1", "a2", "b1"])
    let error = #expect(throws: FetchError.self) { try context.fetch(Plain.fetchRequest { $0.loud == "a!" }) }
    #expect(error?.code == .unknownProperty)
  }

  @Test("Key paths of a protocol find relationships in queries, prefetching and snapshots")
  func relationships() throws {
    let container = try PersistentContainer(
      name: "Ships", classes: [Ship.self, Quay.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let quay = Quay(context: context)
    let ships = ["A", "B", "C"].map { name in
      let ship = Ship(context: context)
      (ship.name, ship.home, ship.port) = (name, quay, quay.objectID)
      return ship
    }
    (quay.name, quay.owner, ships[1].towedBy) = ("Q", ships[0], ships[0])
    func check<T: ManagedObject & Housed>(_ type: T.Type) throws {
      func names(_ request: FetchRequest<T>) throws -> [String] {
        try context.fetch(request).compactMap { $0.value(forKey: "name") as? String }.sorted()
      }
      let home = try #require(quay as? T.Home)
      let first = try #require(ships[0] as? T.Neighbour)
      #expect(try names(T.fetchRequest { $0.home.is(home) }) == ["A", "B", "C"])
      #expect(try names(T.fetchRequest { $0.towedBy.is(first) }) == ["B"])
      #expect(try names(T.fetchRequest { $0.tows.count > 0 }) == ["A"])
      var request = FetchRequest<T>()
      request.prefetch { $0.home }
      request.prefetch { $0.tows }
      #expect(request.relationshipKeyPathsForPrefetching == ["home", "tows"])
      #expect(try names(request) == ["A", "B", "C"])
      let ship = try #require(ships[0] as? T)
      let picture = try TypedSnapshot<T>(ship, including: \.home, \.tows, \.towedBy)
      #expect(picture.home.objectID == quay.objectID && picture.towedBy == nil)
      #expect(picture.tows.map(\.objectID) == [ships[1].objectID])
    }
    try check(Ship.self)
    try context.save()
    try check(Ship.self)
  }

  @Test(
    "A property that does not return exactly one relationship is an error in a query; an alias of one is not")
  func computedRelationships() throws {
    let container = try PersistentContainer(
      name: "Boxes", classes: [Box.self, Item.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let (box, item) = (Box(context: context), Item(context: context))
    box.parts.append(item)
    func sorted<T: ManagedObject & Sorted>(_ type: T.Type) throws -> Int {
      try context.count(for: T.fetchRequest { $0.parts.count == 1 })
    }
    #expect(try sorted(Box.self) == 1)
    #expect(try context.count(for: Box.fetchRequest { $0.allParts.count == 1 }) == 1)
    #expect(try context.fetch(Item.fetchRequest { $0.boxAlias.is(box) }) == [item])
    for request in [
      Box.fetchRequest { $0.shown.count == 0 }, Box.fetchRequest { $0.anyLid.is(box) },
      Box.fetchRequest { $0.lidOrSelf.is(box) }, Box.fetchRequest { $0.noLid.is(box) },
    ] {
      let error = #expect(throws: FetchError.self) { try context.fetch(request) }
      #expect(error?.code == .unknownProperty && error?.message.contains("reads exactly one") == false)
    }
    var request = FetchRequest<Item>()
    request.prefetch { $0.place }
    let error = #expect(throws: FetchError.self) { try context.fetch(request) }
    #expect(error?.code == .unknownProperty && error?.key?.hasPrefix("\\") == true)
    request.relationshipKeyPathsForPrefetching = []
    request.prefetch { $0.boxAlias.shown }
    #expect(throws: FetchError.self) { try context.fetch(request) }
  }

  @Test("Accessors by name may use forced casts, even of optional attributes and relationships")
  func forcedCasts() throws {
    let container = PersistentContainer(
      name: "Strict", model: try Strict.model(), classes: [Strict.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let (first, second) = (Strict(context: context), Strict(context: context))
    for (object, title, size) in [(first, "a", 1), (second, "b", 2)] {
      object.setValue(title, forKey: "title")
      object.setValue(size, forKey: "size")
      object.setValue(first, forKey: "owner")
    }
    second.setValue(first, forKey: "heir")
    #expect(try context.fetch(Strict.fetchRequest { $0.title == "a" && $0.size > 0 }) == [first])
    #expect(try context.fetch(Strict.fetchRequest { $0.note == nil && $0.size == 2 }) == [second])
    let order = FetchOrder(\Strict.title, ascending: false)
    #expect(try context.fetch(FetchRequest<Strict>(sortDescriptors: [order])) == [second, first])
    #expect(try context.count(for: Strict.fetchRequest { $0.owner.is(first) }) == 2)
    #expect(try context.fetch(Strict.fetchRequest { $0.heir.is(first) }) == [second])
    #expect(try context.fetch(Strict.fetchRequest { $0.owned.count == 2 }) == [first])
    #expect(try context.fetch(Strict.fetchRequest { $0.ownedView.count == 2 }) == [first])
    #expect(throws: FetchError.self) { try context.fetch(Strict.fetchRequest { $0.loud == "a!" }) }
    #expect(throws: FetchError.self) { try context.fetch(Strict.fetchRequest { $0.big.count == 1 }) }
    var request = FetchRequest<Strict>()
    request.prefetch { $0.owner.owned }
    #expect(request.relationshipKeyPathsForPrefetching == ["owner.owned"])
    #expect(try context.fetch(request).count == 2)
    let picture = try TypedSnapshot(second, including: \.owner, \.heir, \.owned)
    #expect(picture.title == "b" && picture.size == 2 && picture.note == nil)
    #expect(picture.owner.title == "a" && picture.heir?.title == "a")
  }
}

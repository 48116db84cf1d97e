import FoundationEssentials
import Perdure
import Testing

// These classes have the form of a user's classes. The macros run when this target is built.

@Entity(isAbstract: true)
class Creature: ManagedObject {
  @Attribute(.indexed) var name: String
  var born: Date?
  @Relationship(inverse: "friends") var friends: ToMany<Creature>
}

/// Comments with { and "quotes" have no effect.
@Entity("Feline", indexes: [["weight", "name"]])
final class Cat: Creature {
  @Attribute(.unique, originalName: "label") var tag: String?  // var no: Int
  var weight: Double = 4.5
  var unit: String { "kg" }
  @Relationship(inverse: "cats", deleteRule: .deny, optional: false) var home: Cattery?
  @Transient var purrs = 0
  @Transient let sound: String = "{"
  #if os(Linux)
    func onlyThere() {}
  #endif
}

@Entity
final class Cattery: ManagedObject {
  var `default`: Bool = { true }()
  var street: String = """
    Main "{
    """
  var number: Int16 = 7
  var floors: Int32?
  var rent: Decimal = 1.5
  var key: UUID
  var page: URL?
  var plan: Data = Data([1, 2])
  @Relationship(inverse: "home", deleteRule: .cascade) var cats: ToMany<Cat>
  @Attribute(.indexed, derived: "cats.@count") private(set) var catCount: Int
}

@Entity
private final class Hermit: ManagedObject {
  @Relationship(maxCount: 1) var friend: ToMany<Hermit>
}

@Entity(
  indexes: [
    ["title", .descending("volume")], [.descending("title"), "volume"], ["canonical:(title)"],
    .init("loud", ["volume"], where: "volume > 5"), FetchIndexDescription("quiet", [.descending("volume")]),
  ], userInfo: ["table": "tunes"], versionHashModifier: "t2")
private final class Tune: ManagedObject {
  @Attribute(.userInfo(["column": "name"]), .userInfo(["width": "9"])) var title: String
  @Attribute(.versionHashModifier("decibel")) var volume: Int
  @Attribute(.composite, .userInfo(["kind": "pair"]), .versionHashModifier("c")) var pair: Pair?
  @Attribute(.transient, .userInfo(["kept": "no"])) var mark: Int?
  @Relationship(inverse: "previous", userInfo: ["to": "one"], versionHashModifier: "n") var next: Tune?
  @Relationship(inverse: "next", deleteRule: .cascade, userInfo: ["from": "one"]) var previous: Tune?
  @Relationship(userInfo: ["to": "many"]) var others: ToMany<Tune>
}

@Composite private struct Pair {
  @Attribute(.userInfo(["side": "left"]), .versionHashModifier("l")) var left: Int?
}

@Suite("Classes with macros are entities")
struct EntityMacroTests {
  static let classes: [ManagedObject.Type] = [Creature.self, Cat.self, Cattery.self]

  func context() throws -> ManagedObjectContext {
    let container = PersistentContainer(
      name: "Cats", model: try ManagedObjectModel(Self.classes.map(\.entityDescription)),
      classes: Self.classes, description: .inMemory, factory: StoreKind.naive.factory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  @Test("An entity description has the properties, indexes and constraints of its class")
  func description() {
    let cat = Cat.entityDescription
    #expect(cat.name == "Feline" && cat.managedObjectClassName == "Cat" && cat.superentityName == "Creature")
    #expect(!cat.isAbstract && Creature.entityDescription.isAbstract)
    #expect(
      cat.properties == [
        .attribute(AttributeDescription("tag", .string, renamingIdentifier: "label")),
        .attribute(AttributeDescription("weight", .double, isOptional: false, defaultValue: 4.5)),
        .toOne("home", "Cattery", inverse: "cats", optional: false, deleteRule: .deny),
      ])
    #expect(cat.uniquenessConstraints == [["tag"]])
    #expect(cat.indexes == [FetchIndexDescription(on: "weight", "name")])
    #expect(Creature.entityDescription.indexes == [FetchIndexDescription(on: "name")])
  }

  @Test(
    "Indexes have directions, functions and predicates, and default names from their elements")
  func indexes() throws {
    let tune = Tune.entityDescription
    #expect(
      tune.indexes.map(\.name) == [
        "by_title_volume_descending", "by_title_descending_volume", "by_canonical_title", "loud", "quiet",
      ])
    #expect(
      tune.indexes.map { $0.elements.map(\.isAscending) } == [
        [true, false], [false, true], [true], [true], [false],
      ])
    #expect(tune.indexes[3].partialPredicate == (try FetchPredicate(format: "volume > 5")))
    #expect(tune.indexes[2].elements.map(\.propertyName) == ["canonical:(title)"])
    let model = try ManagedObjectModel([tune])
    let container = PersistentContainer(
      name: "Tunes", model: model, classes: [Tune.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    for number in 0..<50 {
      let tune = Tune(context: context)
      (tune.title, tune.volume) = ("t", number)
    }
    try context.save()
    let request = Tune.fetchRequest { $0.volume == 47 }
    let plan = try context.explain(request)
    #expect(plan.contains("where volume > 5") && plan.contains("candidates: 1 "), "\(plan)")
    #expect(try context.fetch(request).map(\.volume) == [47])
  }

  @Test("Entities, attributes, composites, elements and relationships have user info and hash modifiers")
  func userInfo() throws {
    let tune = Tune.entityDescription
    #expect(tune.userInfo == ["table": "tunes"] && tune.versionHashModifier == "t2")
    #expect(
      tune.properties.map(\.userInfo) == [
        ["column": "name", "width": "9"], [:], ["kind": "pair"], ["kept": "no"], ["to": "one"],
        ["from": "one"],
        ["to": "many"],
      ])
    #expect(tune.properties.map(\.versionHashModifier) == [nil, "decibel", "c", nil, "n", nil, nil])
    #expect(Pair.compositeElements.map(\.userInfo) == [["side": "left"]])
    #expect(Pair.compositeElements.map(\.versionHashModifier) == ["l"])
  }

  @Test("Attributes of many types can have a default or be optional")
  func attributes() {
    #expect(
      Cattery.entityDescription.properties == [
        .boolean("default", optional: false, default: true),
        .string("street", optional: false, default: "Main \"{"),
        .int16("number", optional: false, default: 7),
        .int32("floors"), .decimal("rent", optional: false, default: .decimal(1.5)),
        .uuid("key", optional: false), .uri("page"),
        .binary("plan", optional: false, default: .data(Data([1, 2]))),
        .toMany("cats", "Feline", inverse: "home", deleteRule: .cascade), .derived("catCount", "cats.@count"),
      ])
  }

  @Test("The classes form a valid model")
  func model() throws {
    let model = try ManagedObjectModel(Self.classes.map(\.entityDescription))
    #expect(model.entities.map(\.name) == ["Creature", "Feline", "Cattery"])
  }

  @Test("A subclass's slots follow those of its superclass")
  func slots() {
    #expect(Creature._Slot._count == 3)
    #expect(Cat._Slot.tag == 3 && Cat._Slot.home == 5 && Cat._Slot._count == 6)
  }

  @Test("Key paths from the class and from every subclass give the name of the property")
  func keyPaths() {
    #expect(Cat._propertyNamesByKeyPath[\Cat.weight] == "weight")
    #expect(Cat._propertyNamesByKeyPath[\Cat.name] == "name")
    #expect(Creature._propertyNamesByKeyPath[\Creature.name] == "name")
    #expect(Cattery._propertyNamesByKeyPath[\Cattery.default] == "default")
    #expect(Cat._propertyNamesByKeyPath[\Cat.purrs] == nil)
    #expect(Cat._propertyNamesByKeyPath.count == 6)
  }

  @Test("Accessors read and write attributes, and relationships on both sides")
  func accessors() throws {
    let context = try context()
    let cattery = Cattery(context: context)
    let cat = Cat(context: context)
    #expect(cattery.default && cattery.number == 7 && cattery.rent == 1.5 && cattery.floors == nil)
    #expect(cat.weight == 4.5 && cat.tag == nil && cat.purrs == 0)
    (cat.name, cat.tag, cat.weight, cat.purrs) = ("Minka", "m", 3, 1)
    cattery.key = UUID()
    (cattery.floors, cattery.page, cattery.default) = (2, URL(string: "https://example.org"), false)
    cattery.addToCats(cat)
    #expect(cat.home === cattery && cattery.cats.count == 1 && cattery.catCount == 1)
    cattery.removeFromCats([cat])
    #expect(cat.home == nil && cattery.catCount == 0)
    cat.home = cattery
    try context.save()
    #expect(cat.name == "Minka" && cat.tag == "m" && cat.weight == 3 && cat.purrs == 1)
    #expect(cattery.floors == 2 && cattery.page?.host() == "example.org" && !cattery.default)
    #expect(cattery.cats.map(\.name) == ["Minka"])
  }

  #if os(Linux) || os(macOS)
    @Test(
      "A to-many relationship with a maximum of 1 stops the program; the message has the right declaration")
    func toManyOfOne() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = Hermit.entityDescription
      }
      let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(
        message.contains(
          "The relationship friend is to-many with maxCount: 1. Declare it as an optional object"))
    }
  #endif
}

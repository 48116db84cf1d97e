import Foundation
import Perdure
import Testing

/// A class without an entity, whose accessors its subclasses share.
@Accessors private class Labelled: ManagedObject {
  var label: String
}

@Accessors private final class Firm: Labelled {
  var workers: ToMany<Hand>
  var queue: OrderedToMany<Hand>
  private(set) var workerCount: Int
}

@Accessors private final class Hand: Labelled {
  var age: Int16
  var isActive: Bool
  var email: String?
  var born: TimeInterval
  var left: TimeInterval?
  var firm: Firm?
  @Attribute(.transient) var mark: Any?
  @Attribute(.composite) var home: Home?
  @Attribute(.transformed(by: "AccessorClassTests")) var colour: [UInt8]?
  @Transient var seen: Int = 0
  var shout: String { label.uppercased() }

  func validateAge(_ age: Int16) throws {
    if age > 100 { throw PerdureError.invalid(self, "age", "must be at most 100") }
  }
  override func willSave() { seen += 1 }
}

@Composite private struct Home: Equatable { var city: String? }

private struct Bytes: Perdure.ValueTransformer {
  func data(from value: Any) throws -> Data { Data(value as? [UInt8] ?? []) }
  func value(from data: Data) throws -> Any { Array(data) }
}

@Accessors private final class Misspelt: ManagedObject {
  override class var entityDescription: EntityDescription {
    EntityDescription("Word", properties: [.string("firstName"), .string("lastName"), .int16("age")])
  }
  var firstName: String
  var lastNam: String
}

@Accessors private final class Mistyped: ManagedObject {
  var age: String
  var name: Double?
  var next: ToMany<Mistyped>
  var all: Mistyped?
  var some: OrderedToMany<Mistyped>
  var place: String?
}

@Accessors private final class Unsuited: ManagedObject {
  var recent: ToMany<Unsuited>
  var colour: Data?
  var sound: String?
  @Attribute(.transformed(by: "AccessorClassTests")) var seal: Data?
}

/// A class whose list of accessors is handwritten.
private class ByHand: ManagedObject {
  override class var entityDescription: EntityDescription {
    EntityDescription("ByHand", properties: [.string("name"), .int16("age")])
  }
  override class var _propertyNamesByKeyPath: [AnyKeyPath: String] { [\ByHand.age: "age"] }
  var age: Int64 { _get(1) }
}

/// A class with `@Entity`, below a class that describes its own entity without a macro.
@Entity private final class Below: ByHand { var other: String }

@Suite("Classes with @Accessors")
struct AccessorClassTests {
  private static let home = CompositeAttributeDescription("home", [.string("city")])

  private func model() throws -> ManagedObjectModel {
    ValueTransformers.register(Bytes(), named: "AccessorClassTests")
    return try ManagedObjectModel([
      EntityDescription(
        "Firm", className: "Firm",
        properties: [
          .derived("workerCount", "workers.@count"), .int16("unused"), .string("label", optional: false),
          .toMany("queue", "Hand", inverse: "queued", ordered: true),
          .toMany("workers", "Hand", inverse: "firm"),
        ]),
      EntityDescription(
        "Hand", className: "Hand",
        properties: [
          .toOne("queued", "Firm", inverse: "queue"), .toOne("firm", "Firm", inverse: "workers"),
          .date("born"), .date("left"), .composite(Self.home), .boolean("isActive"),
          .string("email", optional: false), .int16("age"), .string("label"),
          .attribute(AttributeDescription("mark", .undefined, isTransient: true)),
          .attribute(
            AttributeDescription("colour", .transformable, valueTransformerName: "AccessorClassTests")),
        ]),
    ])
  }

  private func context() throws -> ManagedObjectContext {
    try Sandbox(model(), Firm.self, Hand.self).container.newContext()
  }

  @Test("Accessors find their properties by name, in any order of the model")
  func byName() throws {
    let context = try context()
    let (firm, hand) = (Firm(context: context), Hand(context: context))
    firm.label = "Acme"
    (hand.label, hand.email, hand.age, hand.isActive) = ("Ada", "a@b", 7, true)
    (hand.mark, hand.home, hand.colour) = (3, Home(city: "Paris"), [1, 2])
    firm.addToWorkers(hand)
    firm.queue.append(hand)
    try context.save()
    context.refreshAllObjects()
    #expect(hand.value(forKey: "label") as? String == "Ada" && hand.shout == "ADA")
    #expect(hand.value(forKey: "email") as? String == "a@b" && hand.email == "a@b")
    #expect(hand.value(forKey: "age") as? Int16 == 7 && hand.age == 7 && hand.isActive)
    #expect(hand.firm === firm && firm.workerCount == 1 && Array(firm.queue) == [hand])
    #expect(hand.home == Home(city: "Paris") && hand.colour == [1, 2])
    #expect(try context.fetch(Hand.fetchRequest { $0.label == "Ada" && $0.age == 7 }) == [hand])
  }

  @Test("An optional attribute without a value reads as zero through a variable that is not optional")
  func zero() throws {
    let context = try context()
    let hand = Hand(context: context)
    hand.email = "a@b"
    try context.save()
    #expect(hand.age == 0 && hand.isActive == false && hand.label == "" && hand.born == 0)
    #expect(hand.value(forKey: "age") == nil && hand.left == nil)
    hand.age += 1
    try context.save()
    #expect(hand.value(forKey: "age") as? Int16 == 1)
    hand.setValue(nil, forKey: "age")
    try context.save()
    #expect(hand.age == 0 && hand.value(forKey: "age") == nil)
  }

  @Test("A required attribute without a value reads as nil through an optional variable; a save throws 1570")
  func required() throws {
    let context = try context()
    let hand = Hand(context: context)
    #expect(hand.email == nil)
    #expect(refusals(context) == ["1570 email"])
    hand.email = "a@b"
    #expect(refusals(context) == [])
    hand.email = nil
    #expect(refusals(context) == ["1570 email"])
  }

  @Test("Hooks and validation functions of a class with @Accessors are called")
  func hooks() throws {
    let context = try context()
    let hand = Hand(context: context)
    (hand.email, hand.age) = ("a@b", 101)
    #expect(refusals(context) == ["1550 age"] && hand.seen == 1)
    hand.age = 100
    #expect(refusals(context) == [] && hand.seen == 2)
  }

  @Test("A variable of the type TimeInterval reads a date as seconds since the reference date")
  func seconds() throws {
    let context = try context()
    let hand = Hand(context: context)
    (hand.email, hand.born, hand.left) = ("a@b", 5, -2.5)
    #expect(hand.value(forKey: "born") as? Date == Date(timeIntervalSinceReferenceDate: 5))
    try context.save()
    context.refreshAllObjects()
    #expect(hand.born == 5 && hand.left == -2.5)
    #expect(hand.value(forKey: "left") as? Date == Date(timeIntervalSinceReferenceDate: -2.5))
    hand.left = nil
    try context.save()
    #expect(hand.value(forKey: "left") == nil)
    let early = Date(timeIntervalSinceReferenceDate: 4)
    #expect(
      try context.fetch(FetchRequest<Hand>(predicate: FetchPredicate(format: "born > %@", early))) == [hand])
  }

  @Test("An accessor without a property is refused when the store is loaded")
  func misspelt() throws {
    let error = #expect(throws: PerdureError.self) { try Sandbox(Misspelt.self) }
    #expect(error?.code == .openFailed)
    #expect(
      error?.message.hasPrefix(
        "Misspelt.lastNam is an accessor, but the entity Word has no property \"lastNam\". Correct the name, or add "
          + "the property to the model.") == true)
    #expect(error?.message.contains("lastName") == true)
  }

  @Test("One error names all accessors whose types do not match their properties")
  func mistyped() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "Thing", className: "Mistyped",
        properties: [
          .int16("age"), .string("name"), .toOne("next", "Thing"), .toMany("all", "Thing"),
          .toMany("some", "Thing"), .composite(CompositeAttributeDescription("place", [.string("city")])),
        ])
    ])
    let error = #expect(throws: PerdureError.self) { try Sandbox(model, Mistyped.self) }
    #expect(error?.code == .openFailed)
    let said = error?.message ?? ""
    for sentence in [
      "Mistyped.age has the type String, but Thing.age is an attribute of the type int16. Declare it as Int16.",
      "Mistyped.all has the type Mistyped?, but Thing.all is a relationship to many objects.",
      "Mistyped.name has the type Double?, but Thing.name is an attribute of the type string.",
      "Mistyped.next has the type ToMany<Mistyped>, but Thing.next is a relationship to one object.",
      "Mistyped.place has the type String?, but Thing.place is a composite attribute.",
      "Mistyped.some has the type OrderedToMany<Mistyped>, but Thing.some is a relationship to many objects.",
    ] { #expect(said.contains(sentence), "\(said)") }
  }

  @Test("Accessors of fetched properties, and of transformed attributes without .transformed, are refused")
  func unsuited() throws {
    let transformed = ["colour", "sound", "seal"].map { name in
      PropertyDescription.attribute(
        AttributeDescription(name, .transformable, valueTransformerName: "AccessorClassTests"))
    }
    let model = try ManagedObjectModel([
      EntityDescription(
        "Thing", className: "Unsuited", properties: transformed,
        fetchedProperties: [FetchedPropertyDescription("recent", "Thing")])
    ])
    let error = #expect(throws: PerdureError.self) { try Sandbox(model, Unsuited.self) }
    #expect(error?.code == .openFailed)
    let said = error?.message ?? ""
    for sentence in [
      "Unsuited.recent is an accessor, but Thing.recent is a fetched property, which has no accessor. Read it with "
        + "fetchedObjects(forKey:as:).",
      "Unsuited.colour is an accessor without .transformed(by:), but Thing.colour has the value transformer "
        + "AccessorClassTests. Mark the variable with @Attribute(.transformed(by: \"AccessorClassTests\")).",
      "Unsuited.sound is an accessor without .transformed(by:)",
    ] { #expect(said.contains(sentence), "\(said)") }
    #expect(!said.contains("Unsuited.seal"), "\(said)")
  }

  @Test("A handwritten list of accessors is checked too")
  func byHand() throws {
    let error = #expect(throws: PerdureError.self) { try Sandbox(ByHand.self) }
    #expect(
      error?.message.contains(
        "ByHand.age has the type Int64, but ByHand.age is an attribute of the type int16")
        == true)
  }

  #if os(Linux) || os(macOS)
    @Test("A class with @Entity cannot inherit from a class whose entity is described by hand")
    func belowByHand() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = Below.entityDescription
      }
      let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      let expected = "Below inherits from ByHand, whose entity is not described by @Entity"
      #expect(said.contains(expected), "\(said)")
    }
  #endif

  @Test("One class with @Accessors serves several entities whose slots differ")
  func several() throws {
    let model = try ManagedObjectModel([
      EntityDescription("Town", className: "Labelled", properties: [.string("label")]),
      EntityDescription("Road", className: "Labelled", properties: [.int16("width"), .string("label")]),
    ])
    let context = try Sandbox(model, Labelled.self).container.newContext()
    for name in ["Town", "Road"] {
      let object = context.insertNewObject(forEntityName: name)
      (object as? Labelled)?.label = name
      #expect(object.value(forKey: "label") as? String == name)
      #expect((object as? Labelled)?.label == name)
    }
    try context.save()
  }
}

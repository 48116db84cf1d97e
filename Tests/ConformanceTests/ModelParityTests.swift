import Foundation
import Perdure
import PerdureModel
import Testing

// Parity with Core Data for models and attributes.

@Entity private final class Gauge: ManagedObject {
  var small: Int16
  var middle: Int32
  var large: Int64
  var exact: Decimal
  var double: Double
  var single: Float
  var text: String
  var flag: Bool
  var date: Date
  var bytes: Data
  var key: UUID
  var link: URL?
  var other: ManagedObjectID?
}

@Entity private final class Parcel: ManagedObject {
  var label: String
  var weight: Int = 5
  var note: String? = "fragile"
  var sent: Date?

  override func awakeFromInsert() {
    super.awakeFromInsert()
    note = note.map { $0 + "!" }
  }
}

@Entity private final class Attachment: ManagedObject {
  var text: String
  var bytes: Data
}

@Suite("Parity with Core Data: models and attributes")
struct ModelParityTests {
  private func model(_ properties: PropertyDescription...) throws -> ManagedObjectModel {
    try ManagedObjectModel([EntityDescription("Thing", properties: properties)])
  }

  // MARK: Models

  @Test(
    "M1 A model lists its entities, configurations and identifiers, and keeps them if a description changes")
  func frozen() throws {
    var entity = EntityDescription("Thing", properties: [.string("name")])
    let model = try ManagedObjectModel(
      [entity], configurations: ["All": ["Thing"]], versionIdentifiers: ["1.0"])
    #expect(model.entities.map(\.name) == ["Thing"] && model.entitiesByName["Thing"] != nil)
    #expect(model.configurations == ["All"] && model.versionIdentifiers == ["1.0"])
    entity.properties.append(.int64("size"))
    entity.name = "Other"
    #expect(model.entitiesByName["Thing"]?.properties.count == 1 && model.entitiesByName["Other"] == nil)
  }

  @Test("M4 Models are merged, and the error about two different descriptions names the entity")
  func merging() throws {
    let (first, second) = (try model(.string("name")), try model(.string("name"), .int64("size")))
    let other = try ManagedObjectModel([EntityDescription("Other", properties: [])])
    let merged = try ManagedObjectModel(merging: [first, other, first])
    #expect(Set(merged.entitiesByName.keys) == ["Thing", "Other"])
    let error = #expect(throws: ModelError.self) { try ManagedObjectModel(merging: [first, second]) }
    #expect(error.map { "\($0)" }?.contains("Thing") == true)
  }

  @Test("M9 Entities and properties have userInfo, and userInfo does not affect the version")
  func userInfo() throws {
    var attribute = AttributeDescription("name", .string)
    attribute.userInfo = ["sync.key": "n"]
    var entity = EntityDescription("Thing", properties: [.attribute(attribute)])
    entity.userInfo = ["sync": "yes"]
    let noted = try ManagedObjectModel([entity])
    #expect(noted.entitiesByName["Thing"]?.userInfo == ["sync": "yes"])
    #expect(noted.entitiesByName["Thing"]?.attributes.first?.userInfo == ["sync.key": "n"])
    #expect(try noted.versionHash == model(.string("name")).versionHash)
  }

  @Test("M12 The version hash covers names, types, requirements and the modifier, but not defaults")
  func versionHash() throws {
    let plain = try model(.int64("size")).versionHash
    for other in [
      try model(.int64("length")), try model(.int32("size")), try model(.int64("size", optional: false)),
      try model(.int64("size"), .string("name")),
    ] {
      #expect(other.versionHash != plain)
    }
    #expect(try model(.int64("size", default: 7)).versionHash == plain)
    var modified = EntityDescription("Thing", properties: [.int64("size")])
    modified.versionHashModifier = "2"
    #expect(try ManagedObjectModel([modified]).versionHash != plain)
  }

  // MARK: Attributes

  @Test("A1, A8 Values of every type are read from the store unchanged")
  func types() throws {
    let container = try Sandbox(Gauge.self).container
    let context = container.newContext()
    let gauge = Gauge(context: context)
    (gauge.small, gauge.middle, gauge.large) = (.min, .max, .min)
    gauge.exact = try #require(Decimal(string: "12345678901234567890.123456789"))
    (gauge.double, gauge.single, gauge.text, gauge.flag) = (-0.1, 0.1, "ä\u{0}é", true)
    (gauge.date, gauge.bytes) = (Date(timeIntervalSinceReferenceDate: -1.5), Data([0, 255]))
    let key = UUID()
    (gauge.key, gauge.link) = (key, URL(string: "https://example.org/?q=1"))
    gauge.other = gauge.objectID
    try context.save()
    let same = try #require(try container.newContext().existingObject(with: gauge.objectID) as? Gauge)
    #expect(same.small == .min && same.middle == .max && same.large == .min)
    #expect(same.exact == Decimal(string: "12345678901234567890.123456789"))
    #expect(same.double == -0.1 && same.single == 0.1 && same.text == "ä\u{0}é" && same.flag)
    #expect(same.date.timeIntervalSinceReferenceDate == -1.5 && same.bytes == Data([0, 255]))
    #expect(same.key == key && same.link?.absoluteString == "https://example.org/?q=1")
    #expect(same.other == gauge.objectID)
  }

  @Test("A2 A required value is checked at a save and not at assignment: 1570")
  func optional() throws {
    let context = try Sandbox(Parcel.self).container.newContext()
    let parcel = Parcel(context: context)
    parcel.setValue(nil, forKey: "label")
    #expect(refusals(context) == ["1570 label"])
    parcel.label = ""
    #expect(refusals(context) == [])
  }

  @Test("A3 A number without a value reads as 0 if the property cannot be nil")
  func scalars() throws {
    let context = try Sandbox(Parcel.self).container.newContext()
    let parcel = Parcel(context: context)
    parcel.setValue(nil, forKey: "weight")
    #expect(parcel.weight == 0 && parcel.value(forKey: "weight") == nil)
  }

  @Test("A4 Defaults are set once, before awakeFromInsert, and not when an object is fetched")
  func defaults() throws {
    let container = try Sandbox(Parcel.self).container
    let context = container.newContext()
    let parcel = Parcel(context: context)
    #expect(parcel.weight == 5 && parcel.note == "fragile!")
    (parcel.label, parcel.note, parcel.weight) = ("a", nil, 0)
    try context.save()
    let same = try #require(try container.newContext().existingObject(with: parcel.objectID) as? Parcel)
    #expect(same.note == nil && same.weight == 0)
  }

  @Test("A11 A property keeps its earlier name, and two properties cannot have the same earlier name")
  func earlierNames() throws {
    func attribute(_ name: String) -> PropertyDescription {
      .attribute(AttributeDescription(name, .string, renamingIdentifier: "old"))
    }
    #expect(try model(attribute("a")).entities.first?.attributes.first?.renamingIdentifier == "old")
    let error = #expect(throws: ModelError.self) { try model(attribute("a"), attribute("b")) }
    #expect(error?.problems.count == 1)
  }

  @Test("A5 Large values are read completely, and after a save their replacements are read")
  func large() throws {
    let container = try Sandbox(Attachment.self).container
    let context = container.newContext()
    let attachment = Attachment(context: context)
    attachment.text = String(repeating: "long ", count: 200_000)
    attachment.bytes = Data(repeating: 7, count: 3_000_000)
    try context.save()
    let other = container.newContext()
    let same = try #require(try other.existingObject(with: attachment.objectID) as? Attachment)
    #expect(same.text == attachment.text && same.bytes == attachment.bytes)
    same.bytes = Data()
    try other.save()
    let last = try #require(
      try container.newContext().existingObject(with: attachment.objectID) as? Attachment)
    #expect(last.bytes.isEmpty && last.text.utf8.count == 1_000_000)
  }

  @Test("1650 A date that is NaN is saved and read unchanged")
  func notANumber() throws {
    let container = try Sandbox(Parcel.self).container
    let context = container.newContext()
    let parcel = Parcel(context: context)
    (parcel.label, parcel.sent) = ("a", Date(timeIntervalSinceReferenceDate: .nan))
    #expect(refusals(context) == [])
    let same = try #require(try container.newContext().existingObject(with: parcel.objectID) as? Parcel)
    #expect(same.sent?.timeIntervalSinceReferenceDate.isNaN == true)
  }
}

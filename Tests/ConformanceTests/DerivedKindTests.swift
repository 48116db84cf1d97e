import Foundation
import Perdure
import PerdureTestSupport
import Testing

private struct Look: CodableAttributeValue, Equatable { var theme = "light" }

private struct Ink: Equatable { var red: UInt8 }

private struct Refusal: Error {}

private struct InkTransformer: ValueTransformer {
  func data(from value: Any) throws -> Data {
    guard let ink = value as? Ink else { throw Refusal() }
    return Data([ink.red])
  }

  func value(from data: Data) throws -> Any {
    guard data.count == 1 else { throw Refusal() }
    return Ink(red: data[data.startIndex])
  }
}

@Entity private final class Sheet: ManagedObject {
  @Relationship(inverse: "sheet") var notes: ToMany<Note>
  var seen: ManagedObjectID?
  var look: Look?
}

@Entity private final class Note: ManagedObject {
  @Relationship(inverse: "notes") var sheet: Sheet?
  @Attribute(derived: "sheet.seen") var seen: ManagedObjectID?
  @Attribute(derived: "sheet.look") var look: Look?
}

/// Behaviour D1 of Core Data (README.md), for attributes whose values are converted from the values
/// in rows.
@Suite("Derived attributes of ids and of transformed values")
struct DerivedKindTests {
  private func note() throws -> (Note, ManagedObjectContext) {
    let context = try Sandbox(Sheet.self, Note.self).container.newContext()
    let sheet = Sheet(context: context)
    let note = Note(context: context)
    note.sheet = sheet
    sheet.look = Look(theme: "dark")
    try context.save()
    sheet.seen = sheet.objectID
    try context.save()
    return (note, context)
  }

  @Test("By name, a copied attribute has the same value as its property")
  func byName() throws {
    let (note, context) = try note()
    #expect(note.seen == note.sheet?.objectID && note.look == Look(theme: "dark"))
    #expect(note.value(forKey: "seen") as? ManagedObjectID == note.seen)
    #expect(note.value(forKey: "look") as? Look == note.look)
    withExtendedLifetime(context) {}
  }

  @Test("The committed value of a copy is the committed value of its source")
  func committed() throws {
    let (note, context) = try note()
    let sheet = try #require(note.sheet)
    let id = sheet.objectID
    (sheet.seen, sheet.look) = (nil, nil)
    let values = note.committedValues(forKeys: ["seen", "look"])
    #expect(values["seen"] as? ManagedObjectID == id)
    #expect(values["look"] as? Data == sheet.committedValues(forKeys: ["look"])["look"] as? Data)
    #expect(values["look"] is Data)
    #expect(note.seen == nil && note.value(forKey: "look") == nil)
    try context.save()
  }

  @Test("Reads by name of a copied transformed attribute return transformed values, also committed ones")
  func transformed() throws {
    ValueTransformers.register(InkTransformer(), named: "DerivedKindTests.ink")
    func ink(_ derivation: String? = nil) -> PropertyDescription {
      .attribute(
        AttributeDescription(
          "ink", .transformable, derivation: derivation, valueTransformerName: "DerivedKindTests.ink"))
    }
    let model = try ManagedObjectModel([
      EntityDescription("Sheet", properties: [ink()]),
      EntityDescription("Note", properties: [.toOne("sheet", "Sheet"), ink("sheet.ink")]),
    ])
    let context = try Sandbox(model).container.newContext()
    let sheet = context.insertNewObject(forEntityName: "Sheet")
    let note = context.insertNewObject(forEntityName: "Note")
    (note["sheet"], sheet["ink"]) = (sheet, Ink(red: 7))
    #expect(note["ink"] as? Ink == Ink(red: 7))
    try context.save()
    sheet["ink"] = Ink(red: 8)
    #expect(note["ink"] as? Ink == Ink(red: 8))
    #expect(note.committedValues(forKeys: ["ink"])["ink"] as? Ink == Ink(red: 7))
  }
}

/// Opens a store again with changed derivations of its derived attributes.
@Suite("Stores with changed derivations")
struct OtherDerivationTests {
  private static func model(_ derivation: String) throws -> ManagedObjectModel {
    var firm = EntityDescription(
      "Firm",
      properties: [
        .toMany("hands", "Hand", inverse: "firm"), .toMany("rooms", "Room", inverse: "firm"),
      ])
    firm.properties.append(.derived("number", derivation))
    firm.indexes = [FetchIndexDescription(on: "number")]
    return try ManagedObjectModel([
      firm,
      EntityDescription(
        "Hand", properties: [.toOne("firm", "Firm", inverse: "hands"), .int64("pay"), .int64("age")]),
      EntityDescription("Room", properties: [.toOne("firm", "Firm", inverse: "rooms")]),
    ])
  }

  @Test("If a derivation changed, requests find and sort objects by the new values of the attribute")
  func reopened() throws {
    let directory = try TemporaryDirectory()
    let steps: [(String, [Int])] = [
      ("hands.@count", [0, 1, 2]), ("rooms.@count", [2, 1, 0]), ("hands.pay.@sum", [0, 5, 10]),
      ("hands.@sum.pay", [0, 5, 10]), ("hands.age.@sum", [0, 30, 60]),
      ("rooms.@count", [2, 1, 0]), ("hands.@count", [0, 1, 2]),
    ]
    for (step, (derivation, numbers)) in steps.enumerated() {
      let container = PersistentContainer(
        name: "Firms", model: try Self.model(derivation),
        description: .init(path: directory.file("firms.perdure")))
      try container.loadPersistentStores()
      let context = container.newContext()
      if step == 0 {
        for number in 0..<3 {
          let firm = context.insertNewObject(forEntityName: "Firm")
          for _ in 0..<number {
            let hand = context.insertNewObject(forEntityName: "Hand")
            (hand["firm"], hand["pay"], hand["age"]) = (firm, 5, 30)
          }
          for _ in number..<2 { context.insertNewObject(forEntityName: "Room")["firm"] = firm }
        }
        try context.save()
      }
      for number in numbers {
        let request = FetchRequest<ManagedObject>(
          entityName: "Firm", predicate: try FetchPredicate(format: "number == \(number)"))
        #expect(try context.count(for: request) == 1, "\(derivation) \(number)")
      }
      let request = FetchRequest<ManagedObject>(
        entityName: "Firm", sortDescriptors: [FetchOrder("number")])
      let found = try context.fetch(request).compactMap { $0["number"] as? Int }
      #expect(found == numbers.sorted().map { Int($0) }, "\(derivation)")
      try container.close()
    }
  }
}

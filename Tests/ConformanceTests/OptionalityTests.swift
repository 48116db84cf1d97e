import Foundation
import Perdure
import Testing

@Entity private final class Guest: ManagedObject {
  @Attribute(.optional) var age: Int16
  @Attribute(.optional) var weight: Double = 2.5
  @Attribute(.required, .indexed) var name: String?
  @Attribute(.required) var arrival: Date?
  @Attribute(.optional) var tags: [String]
  @Attribute(.required, .transformed(by: "OptionalityTests")) var picture: String?
}

private struct Plain: Perdure.ValueTransformer {
  func data(from value: Any) throws -> Data { Data((value as? String ?? "").utf8) }
  func value(from data: Data) throws -> Any { String(decoding: data, as: UTF8.self) }
}

/// Behaviours A2 and A3 of Core Data (README.md).
@Suite(
  "Optional attributes with variables that are not optional, and required attributes with optional variables")
struct OptionalityTests {
  private func context() throws -> ManagedObjectContext {
    ValueTransformers.register(Plain(), named: "OptionalityTests")
    return try Sandbox(Guest.self).container.newContext()
  }

  @Test("A3 An optional attribute reads as zero without a value, and is saved without one")
  func optional() throws {
    let context = try context()
    let guest = Guest(context: context, name: "Ada", arrival: .now, picture: "p")
    #expect(guest.age == 0 && guest.tags == [] && guest.weight == 2.5)
    try context.save()
    #expect(guest.value(forKey: "age") == nil && guest.value(forKey: "tags") == nil)
    guest.setValue(nil, forKey: "weight")
    #expect(guest.weight == 0)
    try context.save()
    let without = FetchRequest<Guest>(predicate: try FetchPredicate(format: "age == nil AND weight == nil"))
    #expect(try context.fetch(without) == [guest])
    #expect(try context.fetch(Guest.fetchRequest { $0.age == 0 }) == [])
    let snapshot = try guest.snapshot()
    #expect(TypedSnapshot<Guest>(snapshot).age == 0)
    guest.age = 3
    try context.save()
    #expect(try context.fetch(Guest.fetchRequest { $0.age == 3 }) == [guest])
  }

  @Test("A2 A required attribute reads as nil until it is set, and a save without it throws 1570")
  func required() throws {
    let context = try context()
    let guest = Guest(context: context)
    #expect(guest.name == nil && guest.arrival == nil && guest.picture == nil)
    #expect(refusals(context) == ["1570 name", "1570 arrival", "1570 picture"])
    (guest.name, guest.arrival, guest.picture) = ("Ada", .now, "p")
    #expect(refusals(context) == [])
    guest.name = nil
    #expect(refusals(context) == ["1570 name"])
  }
}

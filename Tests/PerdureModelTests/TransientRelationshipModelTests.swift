import Testing

@testable import PerdureModel

@Suite("Transient relationships in models")
struct TransientRelationshipModelTests {
  private static func entities(transient: Bool) -> [EntityDescription] {
    [
      entity("A", .string("name"), .toMany("b", "B", inverse: "a", transient: transient)),
      entity(
        "B", .toOne("a", "A", inverse: "b", transient: transient), .toOne("one", "A", transient: transient)),
    ]
  }

  private static func model(transient: Bool = true) throws -> ManagedObjectModel {
    try ManagedObjectModel(entities(transient: transient))
  }

  @Test(
    "Stored models and hashes include transient relationships, which have numbers but no row positions"
  )
  func roundTrip() throws {
    let stored = try StoredModel.initial(for: Self.model())
    let read = try StoredModel(decoding: stored.encode())
    #expect(read.model.entities == Self.entities(transient: true) && read.encode() == stored.encode())
    #expect(read.model.schemas[1].properties.allSatisfy { $0.isTransient && $0.linkStorage == nil })
    #expect(stored.layouts.map(\.propertyNumbers.count) == [1, 0] && stored.lastNumbers.property == 4)
    #expect(try Self.model().versionHash != Self.model(transient: false).versionHash)
    #expect(try !StoredModel.initial(for: Self.model(transient: false)).isEqual(to: stored))
  }

  @Test("A transient relationship has the expected bytes")
  func golden() throws {
    let hex = try StoredModel.initial(for: Self.model()).encode().map { byte in
      String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }.joined()
    let relationship =
      "01" + "0100000062" + "0100000042" + "01" + "0100000061" + "00000000" + "00000000" + "01" + "01" + "00"
      + "00" + "01" + "00000000" + "00"  // not ordered, transient, no info
    #expect(hex.contains(relationship))
  }

  @Test("Both ends must be transient, or both stored, and a transient end cannot be ordered")
  func ends() {
    let mixed = problems(of: [
      entity("A", .toMany("b", "B", inverse: "a", transient: true)),
      entity("B", .toOne("a", "A", inverse: "b")),
    ])
    #expect(
      mixed.filter { $0.rule == .transientRelationship }.map { "\($0.entity).\($0.property ?? "")" }
        == ["A.b", "B.a"])
    let ordered = problems(of: [entity("A", .toMany("b", "A", ordered: true, transient: true))])
    #expect(ordered.map(\.rule).contains(.transientRelationship))
  }

  @Test("Derivations and indexes reject transient relationships")
  func uses() {
    let derived = problems(of: [
      entity(
        "A", .string("name"), .toMany("b", "B", inverse: "a", transient: true), .derived("n", "b.@count")),
      entity(
        "B", .toOne("a", "A", inverse: "b", transient: true), .derived("copy", "a.name", type: .string)),
    ])
    let flaws = derived.filter { $0.rule == .derivation }
    #expect(flaws.map(\.entity) == ["A", "B"] && flaws.allSatisfy { $0.message.contains("is transient") })
    var indexed = entity("A", .toOne("a", "A", transient: true))
    indexed.indexes = [FetchIndexDescription(on: "a")]
    #expect(problems(of: [indexed]).contains { $0.rule == .indexProperty })
  }

  @Test("Transient relationships may be added or removed, but cannot become stored")
  func differences() throws {
    let without = try ManagedObjectModel([entity("A", .string("name")), entity("B")])
    let (model, stored) = (try Self.model(), try Self.model(transient: false))
    #expect(ModelDifference.differences(from: without, to: model).allSatisfy { $0.isCompatible })
    #expect(ModelDifference.differences(from: model, to: without).allSatisfy { $0.isCompatible })
    let turned = ModelDifference.differences(from: model, to: stored)
    #expect(turned.map(\.kind) == [.transientChanged, .transientChanged, .transientChanged])
    #expect(turned.allSatisfy { !$0.isCompatible && $0.message == "The relationship became stored." })
    let numbered = try StoredModel.initial(for: model)
    #expect(try numbered.adopting(without).stored.layouts == numbered.layouts)
  }

  @Test("A required transient relationship can be added without a default")
  func required() throws {
    let before = try ManagedObjectModel([entity("A", .string("name"))])
    let after = try ManagedObjectModel([
      entity("A", .string("name"), .toOne("a", "A", optional: false, transient: true))
    ])
    #expect(ModelDifference.differences(from: before, to: after).allSatisfy { $0.isCompatible })
  }

  @Test("A description shows which relationships are transient")
  func words() throws {
    #expect("\(Self.entities(transient: true)[0])" == "A: name string, b ->> B.a transient")
  }
}

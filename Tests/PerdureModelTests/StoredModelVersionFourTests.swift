import Testing

@testable import PerdureModel

@Suite("Version 4 of the stored model: ordered relationships")
struct StoredModelVersionFourTests {
  private static func model(ordered: Bool = true) throws -> ManagedObjectModel {
    try ManagedObjectModel([
      entity("A", .toMany("b", "B", inverse: "a", ordered: ordered)),
      entity("B", .toOne("a", "A", inverse: "b")),
    ])
  }

  @Test("An ordered relationship is encoded and decoded, and changes the hash")
  func roundTrip() throws {
    let stored = try StoredModel.initial(for: Self.model())
    let read = try StoredModel(decoding: stored.encode())
    #expect(read.model.entities == stored.model.entities && read.encode() == stored.encode())
    #expect(
      read.model.entities[0].relationships[0].isOrdered && read.model.schemas[0].properties[0].isOrdered)
    #expect(try Self.model().versionHash != Self.model(ordered: false).versionHash)
    #expect(try !StoredModel.initial(for: Self.model(ordered: false)).isEqual(to: stored))
  }

  @Test("A relationship in version 4 has the expected bytes")
  func golden() throws {
    let hex = try withoutSections(StoredModel.initial(for: Self.model()).encode()).map { byte in
      String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }.joined()
    #expect(hex.hasPrefix("504d444c" + "0400"))
    let relationship =
      "01" + "0100000062" + "0100000042" + "01" + "0100000061" + "00000000" + "00000000" + "01" + "01" + "00"
      + "01" + "00" + "00000000" + "00"  // ordered, not transient, no info
    #expect(hex.contains(relationship))
  }

  @Test("Bytes of version 3 are decoded, and adopting the same model changes nothing")
  func versionThree() throws {
    let old = try bytes(StoredModelOfVersionThree.sample)
    let read = try StoredModel(decoding: old)
    #expect(read.model.entities == Sample.entities && read.model.versionHash == 0x7828_1215_5a59_f791)
    let same = try read.adopting(Sample.model()).stored
    #expect(same.isEqual(to: read) && same.encode() != old)
    let full = try StoredModel(decoding: bytes(StoredModelOfVersionThree.everything))
    #expect(full.model.versionHash == StoredModelOfVersionThree.hashOfEverything)
    #expect(full.model.entities[0].relationships.map(\.isOrdered) == [false])
    #expect(full.model.entities[0].relationships[0].deleteRule == .cascade)
    #expect(full.model.versionIdentifiers == ["3"])
  }

  @Test("Bytes with a relationship that is transient at only one end throw an error")
  func oneSided() throws {
    var bytes = try StoredModel.initial(for: Self.model()).encode()
    let name = Array("B".utf8) + [1, 1, 0, 0, 0] + Array("a".utf8)
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: name) })
    // `transient` follows the counts, `optional`, the delete rule, the flag of the absent renaming
    // identifier, and `ordered`.
    bytes[place + name.count + 8 + 1 + 1 + 1 + 1] = 1
    let error = try #require(throws: ModelError.self) { try StoredModel(decoding: bytes) }
    #expect(!error.problems.isEmpty && error.problems.allSatisfy { $0.rule == .transientRelationship })
  }

  @Test("A to-one relationship cannot be ordered")
  func toOne() {
    var to = RelationshipDescription("a", to: "E", maxCount: 1)
    to.isOrdered = true
    #expect(problems(of: [entity("E", .relationship(to))]).contains { $0.rule == .orderedToOne })
  }
}

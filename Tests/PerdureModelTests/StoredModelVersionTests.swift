import Foundation
import PerdurePredicates
import Testing

@testable import PerdureModel

@Suite("Version 2 of the stored model: rules, user info, modifiers, configurations, identifiers")
struct StoredModelVersionTests {
  /// A model with all parts that version 2 of the format introduced.
  static func model(identifiers: Set<String> = ["1.2", "é"]) throws -> ManagedObjectModel {
    var company = EntityDescription(
      "Company",
      properties: [
        .attribute(
          AttributeDescription(
            "name", .string, isOptional: false,
            rules: [
              .minimumLength(1), .maximumLength(40), .pattern("\\p{L}.*"),
              .predicate(try FetchPredicate(format: "SELF != 'x' AND length:(SELF) < 50"), message: "no x"),
            ], userInfo: ["sync.key": "name", "é": "", "a": "b"], versionHashModifier: "n2")),
        .transient("anything"),
        .transient("shown", .decimal, optional: false, default: 0, rules: [.minimum(0), .maximum(10)]),
        .toMany("workers", "Worker", inverse: "company"),
      ], userInfo: ["k": "v"], versionHashModifier: "2")
    company.properties[3] = .relationship(
      RelationshipDescription(
        "workers", to: "Worker", inverse: "company", maxCount: 0, userInfo: ["r": "1"],
        versionHashModifier: "w"))
    let worker = entity("Worker", .toOne("company", "Company", inverse: "workers"), .int64("salary"))
    return try ManagedObjectModel(
      [company, worker, entity("Log", .date("at"))],
      configurations: ["Main": ["Worker", "Company"], "Logs": ["Log"]], versionIdentifiers: identifiers)
  }

  @Test("Rules, user info, modifiers, configurations and identifiers are encoded and decoded")
  func roundTrip() throws {
    let stored = try StoredModel.initial(for: Self.model())
    let read = try StoredModel(decoding: stored.encode())
    #expect(read.model.entities == stored.model.entities)
    #expect(read.model.versionHash == stored.model.versionHash)
    #expect(read.model.versionIdentifiers == ["1.2", "é"])
    #expect(read.model.configurations == ["Logs", "Main"])
    #expect(read.model.entities(forConfigurationName: "Main")?.map(\.name) == ["Company", "Worker"])
    #expect(read.isEqual(to: stored) && read.encode() == stored.encode())
    let other = try stored.adopting(Self.model(identifiers: ["1.3"])).stored
    #expect(!other.isEqual(to: stored))
  }

  @Test("Transient attributes have numbers but no positions in rows")
  func transient() throws {
    let stored = try StoredModel.initial(for: Self.model())
    #expect(stored.propertyNumbers(ofEntityAt: 0) == [1, 2, 3, 4])
    #expect(stored.currentLayout(ofEntityAt: 0).propertyNumbers == [1, 4])
    #expect(stored.rowPositions(bySlotIn: stored.currentLayout(ofEntityAt: 0)) == [0, nil, nil, 1])
  }

  @Test("Bytes of version 1 are decoded, and adopting the same model changes nothing")
  func versionOne() throws {
    let old = try bytes(StoredModelOfVersionOne.sample)
    let read = try StoredModel(decoding: old)
    #expect(read.model.entities == Sample.entities)
    #expect(read.model.versionHash == 0x7828_1215_5a59_f791)
    let same = try read.adopting(Sample.model()).stored
    #expect(same.isEqual(to: read) && same.encode() != old)
    let values = try StoredModel(decoding: bytes(StoredModelOfVersionOne.values))
    #expect(values.model.entities[0].renamingIdentifier == "D")
    let defaults: [DefaultValue?] = [
      .integer(-1), .double(-0.5), .string("é🐘"), .bool(true),
      .date(Date(timeIntervalSinceReferenceDate: 1.25)),
      .uuid(try #require(UUID(uuidString: "01234567-89AB-CDEF-0123-456789ABCDEF"))),
      .url(try #require(URL(string: "https://example.org/"))), .data(Data([0, 255, 1])),
      .decimal(try #require(Decimal(string: "-1.125"))),
    ]
    #expect(values.model.entities[0].attributes.map(\.defaultValue) == defaults)
  }

  @Test("Damaged bytes of a model with all parts are decoded or throw an error")
  func hostile() throws {
    let bytes = try StoredModel.initial(for: Self.model()).encode()
    for length in stride(from: 0, to: bytes.count, by: 7) {
      #expect(throws: ModelError.self) { try StoredModel(decoding: Array(bytes[..<length])) }
    }
    for offset in bytes.indices {
      var changed = bytes
      changed[offset] = offset.isMultiple(of: 2) ? 0 : bytes[offset] ^ 32
      guard let stored = try? StoredModel(decoding: changed) else { continue }
      #expect((try? StoredModel(decoding: stored.encode()))?.isEqual(to: stored) == true)
    }
  }

  @Test("Decoding a model does not compile stored patterns")
  func foreignPattern() throws {
    let good = try ManagedObjectModel([entity("E", .string("a", default: "b", rules: [.pattern("[ab]")]))])
    var bytes = try StoredModel.initial(for: good).encode()
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("[ab]".utf8)) })
    bytes[place + 3] = UInt8(ascii: "(")
    let read = try StoredModel(decoding: bytes)
    #expect(read.model.entities[0].attributes[0].rules == [.pattern("[ab(")])
  }

  @Test("A stored name that only a later version reserves is accepted")
  func reservedLater() throws {
    let good = try ManagedObjectModel([
      entity("E", .attribute(AttributeDescription("predicateValuf", .string, renamingIdentifier: "old")))
    ])
    var bytes = try StoredModel.initial(for: good).encode()
    let name = Array("predicateValuf".utf8)
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: name) })
    bytes[place + name.count - 1] = UInt8(ascii: "e")
    #expect(try StoredModel(decoding: bytes).model.entities[0].attributes[0].name == "predicateValue")
  }

  @Test("An unreadable predicate of a stored rule is kept as text")
  func foreignPredicate() throws {
    let rule = ValidationRule.predicate(try FetchPredicate(format: "SELF < 10"), message: "must be small")
    let good = try ManagedObjectModel([entity("E", .int64("a", rules: [rule]))])
    var bytes = try StoredModel.initial(for: good).encode()
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("SELF <".utf8)) })
    bytes[place + 5] = UInt8(ascii: "?")
    let read = try StoredModel(decoding: bytes)
    let foreign = ValidationRule.unreadablePredicate("SELF ? 10", message: "must be small")
    #expect(read.model.entities[0].attributes[0].rules == [foreign])
    #expect(read.encode() == bytes && "\(foreign)" == "must be small")
    let broken = try CompiledRules([foreign], type: .int64).broken(by: .integer(1))
    #expect(broken.first?.cause?.code == .unsupportedFunction)
    #expect(try CompiledRules([foreign], type: .int64).broken(by: .null).isEmpty)
    #expect(try read.adopting(good).differences.map(\.kind) == [.rulesChanged])
    #expect(throws: ModelError.self) { try ManagedObjectModel([entity("E", .int64("a", rules: [foreign]))]) }
  }

  @Test("A model with rules, user info and a transient attribute has the expected bytes")
  func golden() throws {
    let model = try ManagedObjectModel(
      [
        EntityDescription(
          "E",
          properties: [
            .attribute(
              AttributeDescription(
                "a", .int16, rules: [.minimum(1), .maximum(2)],
                userInfo: ["k": "v"], versionHashModifier: "m")),
            .transient("t"),
          ])
      ], configurations: ["C": ["E"]], versionIdentifiers: ["i"])
    let hex = try withoutSections(StoredModel.initial(for: model).encode()).map { byte in
      String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }.joined()
    #expect(
      hex == "504d444c" + "0400" + "0100" + "02000000" + "0100"
        + "01000000" + "0100000045" + "00" + "00" + "0100000045" + "00" + "02000000"
        + "00" + "0100000061" + "6400" + "01" + "00" + "00" + "00" + "00"  // a, stored
        + "02000000" + "00" + "01" + "0100000000000000" + "01" + "01" + "0200000000000000"  // its rules
        + "00"  // no transformer
        + "01000000" + "010000006b" + "0100000076" + "01" + "010000006d"  // k: v, modifier m
        + "00" + "0100000074" + "0000" + "01" + "00" + "00" + "00" + "01" + "00000000" + "00"  // t, transient
        + "00000000" + "00"  // no info
        + "00000000" + "00000000" + "00000000" + "00"  // no indexes, constraints, info
        + "0100" + "0100" + "02000000" + "01000000" + "02000000"  // its numbers
        + "01000000" + "0100" + "0100" + "01000000" + "01000000"  // layout 1: a alone
        + "01000000" + "0100000069" + "01000000" + "0100000043" + "01000000" + "0100000045")
  }
}

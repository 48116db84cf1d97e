import Foundation
import PerdurePredicates
import Testing

@testable import PerdureModel

/// The bytes of a text of hexadecimal digits.
func bytes(_ hex: String) throws -> [UInt8] {
  let digits = Array(hex.utf8)
  return try stride(from: 0, to: digits.count, by: 2).map {
    try #require(UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16))
  }
}

@Suite("Version 3 of the stored model: composites, transformers, partial indexes, generated defaults")
struct StoredModelVersionThreeTests {
  /// A composite that contains a composite.
  static func address(
    optional: Bool = true, _ more: PropertyDescription...
  ) -> PropertyDescription {
    .composite(
      "address",
      [.string("street"), .composite("place", [.int32("code"), .string("city", optional: false)])] + more,
      optional: optional)
  }

  /// A stored model with all parts that version 3 of the format introduced.
  static func model(_ properties: PropertyDescription..., predicate: String = "made > nil") throws
    -> ManagedObjectModel
  {
    var entity = EntityDescription("E", properties: properties)
    if entity.properties.isEmpty {
      entity.properties = [
        Self.address(), .attribute(AttributeDescription("a", .binary, valueTransformerName: "T")),
        .date("made", default: .now), .uuid("u", default: .newUUID),
      ]
    }
    entity.indexes = [
      FetchIndexDescription(
        "i", [.init("address.street")], partialPredicate: try FetchPredicate(format: predicate))
    ]
    return try ManagedObjectModel([entity], configurations: [:], versionIdentifiers: [], isStored: true)
  }

  static func stored(_ address: PropertyDescription) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      [entity("E", address)], configurations: [:], versionIdentifiers: [], isStored: true)
  }

  private func hex(_ model: ManagedObjectModel) throws -> String {
    try withoutSections(StoredModel.initial(for: model).encode()).map { byte in
      String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }.joined()
  }

  @Test("Parts of version 3 are encoded and decoded, and elements of composites have numbers")
  func roundTrip() throws {
    let stored = try StoredModel.initial(for: Self.model())
    let read = try StoredModel(decoding: stored.encode())
    #expect(read.model.entities == stored.model.entities)
    #expect(read.model.versionHash == stored.model.versionHash)
    #expect(read.isEqual(to: stored) && read.encode() == stored.encode())
    #expect(
      read.model.schemas[0].properties.map(\.name)
        == ["address.street", "address.place.code", "address.place.city", "a", "made", "u"])
    #expect(read.propertyNumbers(ofEntityAt: 0) == [1, 2, 3, 4, 5, 6])
    #expect(read.currentLayout(ofEntityAt: 0).propertyNumbers == [1, 2, 3, 4, 5, 6])
  }

  @Test("A model with all parts of version 3 has the expected bytes")
  func golden() throws {
    #expect(
      try hex(Self.model(predicate: "made != nil"))
        == "504d444c" + "0400" + "0100" + "06000000" + "0100"
        + "01000000" + "0100000045" + "00" + "00" + "0100000045" + "00" + "04000000"
        + "02" + "0700000061646472657373" + "01" + "00" + "02000000"  // composite address
        + "00" + "06000000737472656574" + "bc02" + "01" + "000000" + "00" + "00000000" + "00" + "00000000"
        + "00"
        + "02" + "05000000706c616365" + "01" + "00" + "02000000"  // composite place in it
        + "00" + "04000000636f6465" + "c800" + "01" + "000000" + "00" + "00000000" + "00" + "00000000" + "00"
        + "00" + "0400000063697479" + "bc02" + "00" + "000000" + "00" + "00000000" + "00" + "00000000" + "00"
        + "00000000" + "00" + "00000000" + "00"  // infos of place and address
        + "00" + "0100000061" + "e803" + "01" + "000000" + "00" + "00000000" + "01" + "0100000054"
        + "00000000" + "00"
        + "00" + "040000006d616465" + "8403" + "01" + "0109" + "0000" + "00" + "00000000" + "00" + "00000000"
        + "00"
        + "00" + "0100000075" + "4c04" + "01" + "010a" + "0000" + "00" + "00000000" + "00" + "00000000" + "00"
        + "01000000" + "0100000069" + "01000000" + "0e000000616464726573732e737472656574" + "01"  // index i
        + "01" + "0c0000006d61646520213d204e554c4c"  // its predicate
        + "00000000" + "00000000" + "00" + "0100" + "0100"
        + "06000000" + "010000000200000003000000040000000500000006000000"
        + "01000000" + "0100" + "0100" + "06000000" + "010000000200000003000000040000000500000006000000"
        + "00000000" + "00000000")
  }

  @Test("Bytes of version 2 are decoded, and adopting the same model changes nothing")
  func versionTwo() throws {
    let old = try bytes(StoredModelOfVersionTwo.sample)
    let read = try StoredModel(decoding: old)
    #expect(read.model.entities == Sample.entities && read.model.versionHash == 0x7828_1215_5a59_f791)
    let same = try read.adopting(Sample.model()).stored
    #expect(same.isEqual(to: read) && same.encode() != old)
    let full = try StoredModel(decoding: bytes(StoredModelOfVersionTwo.everything))
    let model = try StoredModelVersionTests.model()
    #expect(full.model.entities == model.entities && full.model.versionIdentifiers == ["1.2", "é"])
    #expect(full.model.versionHash == StoredModelOfVersionTwo.hashOfEverything)
    #expect(model.versionHash == StoredModelOfVersionTwo.hashOfEverything)
    #expect(full.model.entities(forConfigurationName: "Main")?.map(\.name) == ["Company", "Worker"])
  }

  @Test("Parts of version 3 in bytes of version 2 throw errors")
  func newerParts() throws {
    let address = try StoredModel.initial(for: Self.stored(Self.address())).encode()
    let made = try StoredModel.initial(for: ManagedObjectModel([entity("E", .date("d", default: .now))]))
      .encode()
    for var bytes in try [address, made].map(withoutSections) {
      #expect(throws: Never.self) { try StoredModel(decoding: bytes) }
      bytes[4] = 2
      #expect(throws: ModelError.self) { try StoredModel(decoding: bytes) }
    }
  }

  @Test("Damaged bytes are decoded or throw errors, and the depth of composites is limited")
  func hostile() throws {
    let bytes = try StoredModel.initial(for: Self.model()).encode()
    for offset in bytes.indices {
      #expect(throws: ModelError.self) { try StoredModel(decoding: Array(bytes[..<offset])) }
      var changed = bytes
      changed[offset] = offset.isMultiple(of: 2) ? 2 : bytes[offset] ^ 32
      guard let stored = try? StoredModel(decoding: changed) else { continue }
      #expect((try? StoredModel(decoding: stored.encode()))?.isEqual(to: stored) == true)
    }
    let deep = (0..<8).reduce(PropertyDescription.string("s")) { .composite("c\($1)", [$0]) }
    let encoded = try StoredModel.initial(for: Self.stored(deep)).encode()
    #expect(try StoredModel(decoding: encoded).model.entities[0].properties == [deep])
    #expect(
      findings([entity("E", .composite("d", [deep]))]).contains { $0.hasPrefix("compositeShape E.d.c7") })
  }

  @Test("The hash covers elements of composites in any order, but not value transformers")
  func hash() throws {
    let hash = try Self.stored(Self.address()).versionHash
    let turned = PropertyDescription.composite(
      "address",
      [.composite("place", [.string("city", optional: false), .int32("code")]), .string("street")])
    #expect(try Self.stored(turned).versionHash == hash)
    #expect(try Self.stored(Self.address(optional: false)).versionHash != hash)
    #expect(try Self.stored(Self.address(.boolean("poBox"))).versionHash != hash)
    func transformed(_ name: String?) throws -> UInt64 {
      try Self.stored(.attribute(AttributeDescription("a", .binary, valueTransformerName: name))).versionHash
    }
    #expect(try transformed("T") == transformed(nil))
  }

  @Test("Differences within composites name the element's path")
  func differences() throws {
    func differences(_ old: PropertyDescription?, _ new: PropertyDescription?) throws -> [String] {
      let empty = PropertyDescription.string("other")
      return try ModelDifference.differences(from: Self.stored(old ?? empty), to: Self.stored(new ?? empty))
        .filter { $0.property != "other" }
        .map { "\($0.kind.rawValue) \($0.property ?? "")\($0.isCompatible ? "" : "!")" }
    }
    let address = Self.address()
    #expect(try differences(nil, address) == ["propertyAdded address"])
    #expect(try differences(nil, Self.address(optional: false)) == ["propertyAdded address!"])
    #expect(try differences(address, nil) == ["propertyRemoved address!"])
    let withDefault = PropertyDescription.composite(
      "address", [.string("country", optional: false, default: "FR"), .string("city")], optional: false)
    #expect(try differences(nil, withDefault) == ["propertyAdded address"])
    #expect(try differences(address, Self.address(.boolean("poBox"))) == ["propertyAdded address.poBox"])
    #expect(
      try differences(address, Self.address(.string("n", optional: false))) == ["propertyAdded address.n!"])
    #expect(try differences(address, Self.address(optional: false)) == ["optionalChanged address!"])
    let changed = PropertyDescription.composite(
      "address",
      [
        .string("street", rules: [.minimumLength(1)]),
        .composite("place", [.int64("code"), .string("city")]),
      ])
    #expect(
      try differences(address, changed) == [
        "rulesChanged address.street", "typeChanged address.place.code!",
        "optionalChanged address.place.city!",
      ])
    #expect(try differences(address, .string("address")) == ["propertyKindChanged address!"])
    #expect(try differences(nil, .date("d", optional: false, default: .now)) == ["propertyAdded d!"])
  }

  @Test("An unreadable predicate of a stored index is kept as text")
  func foreignPredicate() throws {
    var bytes = try StoredModel.initial(for: Self.model(predicate: "made != nil")).encode()
    let place = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("made !=".utf8)) })
    bytes[place + 5] = UInt8(ascii: "?")
    let read = try StoredModel(decoding: bytes)
    let index = read.model.entities[0].indexes[0]
    #expect(index.partialPredicate == nil && index.unreadablePartialPredicate == "made ?= NULL")
    #expect(read.encode() == bytes)
    #expect(throws: ModelError.self) { try ManagedObjectModel(read.model.entities) }
  }

  @Test("Invalid composites and defaults are all reported together")
  func rules() {
    let wrong = entity(
      "E",
      .composite(
        "c",
        [.transient("t"), .toOne("r", "E"), .string("1"), .string("s"), .string("s"), .composite("d", [])]),
      .transient("n", .date, default: .now), .string("u", default: .newUUID),
      .attribute(AttributeDescription("a", .binary, valueTransformerName: "T")))
    let found = findings([wrong])
    for finding in [
      "compositeShape E.c.t", "compositeShape E.c.r", "nameSyntax E.c.1", "duplicateProperty E.c.s",
      "compositeShape E.c.d", "defaultType E.n", "defaultType E.u", "valueTransformer E.a",
    ] {
      #expect(found.contains(finding), "\(finding) is not in \(found)")
    }
  }
}

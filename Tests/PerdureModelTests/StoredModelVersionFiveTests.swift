import Foundation
import Testing

@testable import PerdureModel

@Suite("Version 5 of the stored model: sections, origins of properties, the history of versions")
struct StoredModelVersionFiveTests {
  private static func model(
    _ properties: PropertyDescription..., identifiers: Set<String> = []
  ) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      [EntityDescription("E", properties: [.string("n")] + properties)], versionIdentifiers: identifiers)
  }

  private static func adopted(_ models: ManagedObjectModel...) throws -> StoredModel {
    var stored = try StoredModel.initial(for: models[0], at: 3)
    for (place, model) in models.enumerated().dropFirst() {
      stored = try stored.adopting(model, at: UInt64(10 * place)).stored
    }
    let read = try StoredModel(decoding: stored.encode())
    #expect(read.isEqual(to: stored) && read.encode() == stored.encode())
    #expect(read.origins == stored.origins && read.history == stored.history)
    return read
  }

  /// The bytes of a section.
  private func section(_ number: UInt16, required: Bool, _ content: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    writer.integer(number)
    writer.integer(UInt16(required ? 1 : 0))
    writer.data(content)
    return writer.bytes
  }

  /// The bytes of a stored model with an additional section at the end.
  private func encoded(_ stored: StoredModel, adding section: [UInt8]) -> [UInt8] {
    var bytes = stored.encode() + section
    bytes[6] += 1
    return bytes
  }

  @Test("A property keeps its first default and the version that added the property")
  func origins() throws {
    let stored = try Self.adopted(
      Self.model(), Self.model(.int64("a", default: 1)),
      Self.model(.int64("a", default: 2), .date("d", default: .now), .int16("b", default: 7)),
      Self.model(.int64("a"), .date("d"), .int16("b", default: 9)))
    let numbers = stored.propertyNumbers(ofEntityAt: 0)
    let names = stored.model.schemas[0].properties.map(\.name)
    let standIns = zip(names, numbers).map { ($0, stored.standIn(ofProperty: $1)) }
    #expect(Dictionary(uniqueKeysWithValues: standIns) == ["n": nil, "a": 1, "d": nil, "b": 7])
    let versions = zip(names, numbers).map { ($0, stored.version(ofProperty: $1)) }
    #expect(Dictionary(uniqueKeysWithValues: versions) == ["n": 1, "a": 2, "d": 3, "b": 3])
  }

  @Test("The value for older rows has the property's type: an integer default of a double is a double")
  func forms() throws {
    let stored = try Self.adopted(
      Self.model(), Self.model(.double("x", default: 3), .decimal("y", default: 4)))
    let numbers = stored.propertyNumbers(ofEntityAt: 0)
    #expect(stored.standIn(ofProperty: numbers[1]) == .double(3))
    #expect(stored.standIn(ofProperty: numbers[2]) == .decimal(4))
  }

  @Test("Each new hash, and each new set of identifiers, adds a version with its commit to the history")
  func history() throws {
    let stored = try Self.adopted(
      Self.model(identifiers: ["1"]), Self.model(identifiers: ["1"]),
      Self.model(.int64("a"), identifiers: ["1"]),
      Self.model(.int64("a", default: 4), identifiers: ["1"]), Self.model(.int64("a"), identifiers: ["2"]))
    #expect(stored.history.versions.map(\.number) == [1, 2, 3])
    #expect(stored.history.versions.map(\.identifiers) == [["1"], ["1"], ["2"]])
    #expect(stored.history.versions.map(\.sequence) == [3, 20, 40])
    #expect(stored.history.versions[1].hash == stored.model.versionHash)
  }

  @Test("The history keeps the newest 256 versions and continues their numbers")
  func thousandVersions() throws {
    var stored = try StoredModel.initial(for: Self.model(identifiers: ["1"]))
    for number in 2...1_000 {
      stored = try stored.adopting(Self.model(identifiers: ["\(number)"])).stored
    }
    let read = try StoredModel(decoding: stored.encode())
    #expect(read.history.versions.map(\.number) == Array(745...1_000))
    #expect(stored.encode().count < 12_000)
  }

  @Test("An unknown optional section is preserved, even when another model is adopted")
  func skippedSection() throws {
    let stored = try Self.adopted(Self.model())
    let later = section(34, required: false, [1, 2, 3])
    let read = try StoredModel(decoding: encoded(stored, adding: later))
    #expect(read.encode() == encoded(stored, adding: later) && !read.isEqual(to: stored))
    let next = try read.adopting(Self.model(.int64("a"))).stored
    #expect(next.encode().suffix(later.count) == later[...])
    #expect(try StoredModel(decoding: next.encode(), as: next.model).skippedSections == read.skippedSections)
  }

  @Test(
    "An unknown required section throws an error that names the section",
    arguments: [
      (UInt16(35), "section 35 (external values)"), (36, "section 36 (migration mappings)"),
      (99, "section 99,"),
    ])
  func requiredSection(number: UInt16, text: String) throws {
    let stored = try Self.adopted(Self.model())
    let unknown = encoded(stored, adding: section(number, required: true, [9]))
    let error = try #require(throws: ModelError.self) { try StoredModel(decoding: unknown) }
    #expect(error.code == .unreadableModel && error.section == number)
    #expect(error.message.contains(text) && error.message.contains("newer version"))
  }

  @Test("Unordered, repeated or missing sections, unknown flags and additional bytes throw errors")
  func wrongSections() throws {
    let stored = try Self.adopted(Self.model())
    let good = stored.encode()
    func refuses(_ bytes: [UInt8], _ text: String, _ location: SourceLocation = #_sourceLocation) {
      let error = #expect(throws: ModelError.self, sourceLocation: location) {
        try StoredModel(decoding: bytes)
      }
      #expect(error?.message.contains(text) == true, "\(error?.message ?? "")", sourceLocation: location)
    }
    refuses(encoded(stored, adding: section(6, required: false, [])), "out of order")
    refuses(encoded(stored, adding: section(0, required: false, [])), "out of order")
    var flags = good
    flags[12] = 3
    refuses(flags, "flags")
    flags[12] = 0
    refuses(flags, "flags")
    var missing = good
    missing[10] = 7
    refuses(missing, "does not know section 7,")
    refuses(Array("PMDL".utf8) + [5, 0, 0, 0, 0, 0], "section 1 is missing")
    refuses(good + [0], "bytes follow")
  }

  @Test("Origins that contradict their properties throw errors")
  func wrongOrigins() throws {
    let stored = try Self.adopted(Self.model(.int64("a", default: 1)))
    func refuses(_ origins: [UInt32: PropertyOrigin]) {
      let wrong = stored.with(origins: origins)
      #expect(throws: ModelError.self) { try StoredModel(decoding: wrong.encode()) }
      #expect(throws: ModelError.self) { try StoredModel(decoding: wrong.encode(), as: stored.model) }
    }
    let fine = stored.origins
    refuses([:])
    refuses(fine.merging([9: PropertyOrigin(version: 1, standIn: nil)]) { $1 })
    for standIn in [
      DefaultValue.string("x"), .double(1), .newUUID, .date(Date(timeIntervalSinceReferenceDate: .nan)),
    ] {
      refuses(fine.merging([2: PropertyOrigin(version: 1, standIn: standIn)]) { $1 })
    }
    refuses(fine.merging([2: PropertyOrigin(version: 2, standIn: 1)]) { $1 })
    refuses(fine.merging([2: PropertyOrigin(version: 0, standIn: 1)]) { $1 })
  }

  @Test(
    "A stored model of version 4 keeps its own defaults for older rows"
  )
  func versionFour() throws {
    let old = try bytes(StoredModelOfVersionFour.sample)
    let read = try StoredModel(decoding: old)
    #expect(read.model.entities == Sample.entities && read.model.versionHash == 0x7828_1215_5a59_f791)
    #expect(read.history.versions.map(\.number) == [1] && read.history.newest.sequence == 0)
    #expect(try read.adopting(Sample.model()).stored.isEqual(to: read) && read.encode() != old)
    let full = try StoredModel(decoding: bytes(StoredModelOfVersionFour.everything))
    #expect(full.model.versionHash == StoredModelOfVersionThree.hashOfEverything)
    var entities = Sample.entities
    let place = try #require(entities.firstIndex { $0.name == "Worker" })
    entities[place].properties = entities[place].properties.map { property in
      guard case .attribute(var salary) = property, salary.name == "salary" else { return property }
      salary.defaultValue = 5
      return .attribute(salary)
    }
    let next = try StoredModel(decoding: read.adopting(ManagedObjectModel(entities)).stored.encode())
    let worker = try #require(next.model.schema(named: "Worker"))
    let slot = try #require(worker.slot(named: "salary"))
    #expect(worker.properties[slot].defaultValue == .double(5))
    #expect(
      next.standIn(ofProperty: next.propertyNumber(atSlot: slot, ofEntityAt: worker.index)) == .double(1))
  }

  @Test("A program for version 4 finds an unknown version number in the header")
  func headForOlderPrograms() throws {
    let bytes = try Self.adopted(Self.model()).encode()
    // All versions begin with the magic bytes and the version number. A program for version 4 stops
    // after an unknown version number.
    #expect(Array(bytes[0..<4]) == Array("PMDL".utf8))
    let version = UInt16(bytes[4]) | UInt16(bytes[5]) << 8
    #expect(version == 5 && !(1...4).contains(version))
  }

  @Test("Decoding reuses a known model, even for bytes of version 4")
  func known() throws {
    let model = try Sample.model()
    #expect(try StoredModel(decoding: StoredModel.initial(for: model).encode(), as: model).model === model)
    #expect(try StoredModel(decoding: bytes(StoredModelOfVersionFour.sample), as: model).model === model)
    let other = try Self.model()
    #expect(try StoredModel(decoding: StoredModel.initial(for: model).encode(), as: other).model !== other)
  }
}

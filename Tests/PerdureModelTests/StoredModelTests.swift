import Foundation
import PerdureTestSupport
import Testing

@testable import PerdureModel

@Suite("Numbers and bytes of stored models")
struct StoredModelTests {
  @Test("An initial model is numbered from 1, and inherited properties are numbered once")
  func initial() throws {
    let stored = try StoredModel.initial(for: Sample.model())
    #expect((0..<4).map { stored.entityNumber(at: $0) } == [1, 2, 3, 4])
    #expect(stored.propertyNumbers(ofEntityAt: 0) == [1, 2, 3])
    #expect(stored.propertyNumbers(ofEntityAt: 1) == [8, 9, 10, 4, 5, 6, 7])
    #expect(stored.propertyNumber(atSlot: 3, ofEntityAt: 1) == 4)
    #expect(stored.entityIndex(numbered: 4) == 3 && stored.entityIndex(numbered: 5) == nil)
    #expect(stored.layouts.map(\.number) == [1, 2, 3, 4])
    #expect(stored.layouts.map(\.entityNumber) == [1, 2, 3, 4])
    #expect(stored.currentLayout(ofEntityAt: 1).propertyNumbers == [8, 9, 10, 4, 5, 6, 7])
    #expect(stored.layout(numbered: 5) == nil && stored.layout(numbered: 0) == nil)
  }

  @Test("A decoded model equals the encoded model and has the same numbers")
  func roundTrip() throws {
    let stored = try StoredModel.initial(for: Sample.model())
    let read = try StoredModel(decoding: stored.encode())
    #expect(read.isEqual(to: stored))
    #expect(read.encode() == stored.encode())
    #expect(read.model.versionHash == stored.model.versionHash)
    #expect(read.model.warnings == stored.model.warnings)
  }

  @Test("Default values of every type are encoded and decoded")
  func defaults() throws {
    let values: [PropertyDescription] = [
      .int16("a", default: -1), .int64("b", default: .integer(.min)), .double("c", default: -0.0),
      .float("d", default: .double(.infinity)), .string("e", default: "é🐘"), .boolean("f", default: true),
      .date("g", default: .date(Date(timeIntervalSinceReferenceDate: 1.25))),
      .uuid("h", default: .uuid(try #require(UUID(uuidString: "01234567-89AB-CDEF-0123-456789ABCDEF")))),
      .uri("i", default: .url(try #require(URL(string: "https://example.org/a?b=c#d")))),
      .binary("j", default: .data(Data([0, 255, 1]))),
      .decimal("k", default: .decimal(try #require(Decimal(string: "-123456789012345678901234567890.125")))),
    ]
    let model = try ManagedObjectModel([EntityDescription("E", properties: values)])
    let read = try StoredModel(decoding: StoredModel.initial(for: model).encode())
    #expect(read.model.entities == model.entities)
  }

  @Test("A small model has the expected bytes")
  func golden() throws {
    let model = try ManagedObjectModel([entity("E", .string("a", optional: false))])
    let hex = try withoutSections(StoredModel.initial(for: model).encode()).map { byte in
      String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }.joined()
    #expect(
      hex == "504d444c" + "0400" + "0100" + "01000000" + "0100"  // magic, version, last numbers
        + "01000000" + "0100000045" + "00" + "00" + "0100000045" + "00"  // entity E, class E
        + "01000000" + "00" + "0100000061" + "bc02" + "00" + "00" + "00" + "00"  // attribute a
        + "00" + "00000000" + "00" + "00000000" + "00"  // stored, no rules, no transformer, no info
        + "00000000" + "00000000" + "00000000" + "00"  // no indexes, constraints, info
        + "0100" + "0100" + "01000000" + "01000000"  // its numbers
        + "01000000" + "0100" + "0100" + "01000000" + "01000000"  // layout
        + "00000000" + "00000000")  // no identifiers, no configurations
  }

  @Test("Decoding reuses a known model only if the bytes encode that model")
  func known() throws {
    let model = try Sample.model()
    let stored = try StoredModel.initial(for: model)
    let read = try StoredModel(decoding: stored.encode(), as: model)
    #expect(read.model === model && read.isEqual(to: stored) && read.entityNumber(at: 0) == 1)
    let (same, differences) = try read.adopting(model)
    #expect(same.isEqual(to: stored) && differences.isEmpty)
    let other = try ManagedObjectModel(model.entities, versionIdentifiers: ["2"])
    let own = try StoredModel(decoding: stored.encode(), as: other)
    #expect(own.model !== other && own.model.versionIdentifiers.isEmpty)
    #expect(try own.adopting(other).stored.model.versionIdentifiers == ["2"])
    let fewer = try ManagedObjectModel([EntityDescription("Only", properties: [.string("text")])])
    #expect(try StoredModel(decoding: stored.encode(), as: fewer).isEqual(to: stored))
  }

  @Test("An unknown format version throws an error")
  func unknownVersion() throws {
    var bytes = try StoredModel.initial(for: Sample.model()).encode()
    bytes[4] = 6
    let error = try #require(throws: ModelError.self) { try StoredModel(decoding: bytes) }
    #expect(error.code == .unreadableModel && error.offset == 6)
    #expect(error.message.contains("format version 6 is unknown"))
  }

  @Test("Damaged bytes are decoded or throw an error")
  func hostileBytes() throws {
    var random = SeededGenerator.forTest("damaged models")
    let seed = random.seed
    let bytes = try StoredModel.initial(for: Sample.model()).encode()
    for length in 0..<bytes.count {
      #expect(throws: ModelError.self) { try StoredModel(decoding: Array(bytes[..<length])) }
    }
    for offset in LongRun.cases(Array(bytes.indices), &random) {
      for value in [0, 1, 255, bytes[offset] ^ UInt8(1 << Int.random(in: 0..<8, using: &random))] {
        var changed = bytes
        changed[offset] = value
        readBack(changed, seed)
      }
    }
    for _ in 0..<LongRun.count(2_000) {
      var changed = bytes
      for _ in 0...Int.random(in: 0..<8, using: &random) {
        changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8(
          Int.random(in: 0..<256, using: &random))
      }
      if Int.random(in: 0..<4, using: &random) == 0 {
        changed.removeSubrange(Int.random(in: 0..<200, using: &random)..<210)
      }
      readBack(changed, seed)
    }
  }

  /// If the bytes can be decoded, checks that the model is equal after encoding and decoding again.
  private func readBack(_ bytes: [UInt8], _ seed: UInt64) {
    guard let stored = try? StoredModel(decoding: bytes) else { return }
    let again = try? StoredModel(decoding: stored.encode())
    #expect(again?.isEqual(to: stored) == true, "PERDURE_SEED=\(seed)")
  }

  @Test("Numbers that violate an invariant throw an error")
  func wrongNumbers() throws {
    let stored = try StoredModel.initial(for: Sample.model())
    /// Whether a model with these numbers cannot be decoded.
    func isRefused(_ last: StoredModel.LastNumbers?, _ layouts: [LayoutSchema]) -> Bool {
      let wrong = stored.with(layouts: layouts, lastNumbers: last)
      let known = try? StoredModel(decoding: wrong.encode(), as: stored.model)
      #expect((known == nil) == ((try? StoredModel(decoding: wrong.encode())) == nil))
      return known == nil
    }
    let layouts = stored.layouts
    let base = layouts.dropLast()
    let lists: [[LayoutSchema]] = [
      layouts.reversed(), Array(base),
      layouts + [LayoutSchema(number: 5, entityNumber: 1, propertyNumbers: [])],
      base + [LayoutSchema(number: 4, entityNumber: 9, propertyNumbers: [])],
      base + [LayoutSchema(number: 4, entityNumber: 4, propertyNumbers: [1, 1])],
    ]
    let lasts: [StoredModel.LastNumbers] = [
      .init(entity: 3, property: 12, layout: 4), .init(entity: 4, property: 11, layout: 4),
      .init(entity: 4, property: 12, layout: 3), .init(),
    ]
    #expect(lists.map { isRefused(nil, $0) } == lists.map { _ in true })
    #expect(lasts.map { isRefused($0, layouts) } == lasts.map { _ in true })
    let unharmed = isRefused(nil, layouts)
    #expect(!unharmed)
  }
}

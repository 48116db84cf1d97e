import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Ranges of a derived index")
struct IndexRangeTests {
  /// Random bytes, including the values that are special in prefixes and ends of ranges.
  private static func randomBytes(_ random: inout SeededGenerator, _ lengths: ClosedRange<Int>) -> [UInt8] {
    (0..<Int.random(in: lengths, using: &random)).map { _ in random.pick([0, 1, 2, 0x61, 0xFE, 0xFF]) }
  }

  /// A random bound: any bytes, a key, a prefix of a key, or a key with further bytes.
  private static func bound(_ keys: [[UInt8]], _ random: inout SeededGenerator) -> [UInt8] {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return randomBytes(&random, 0...12)
    case 1: return random.pick(keys)
    case 2: return Array(random.pick(keys).prefix(Int.random(in: 0...4, using: &random)))
    default: return random.pick(keys) + randomBytes(&random, 1...10)
    }
  }

  private struct Entry: Equatable {
    let key: [UInt8]
    let reference: UInt64
  }

  /// Defines an index of values, and puts objects. A bound may be a key with further bytes. The
  /// position of this bound must not depend on the reference after that key, so the references
  /// begin with different bytes.
  private static func entries(
    ofLength length: Int, in store: Store, _ random: inout SeededGenerator
  ) throws -> (DerivedIndex, [Entry]) {
    let objects = try store.keyspace("objects", .bytes)
    let slices = SliceExtractor.parameters([.valueRest(offset: 0)], reference: .keyPrefix)
    let index = try store.defineIndex(
      .init(
        name: "by value",
        source: .records(keyspaces: [objects], extractor: SliceExtractor.name, parameters: slices)))
    var entries: [Entry] = []
    try store.write { transaction in
      for number in 1...600 as ClosedRange<UInt64> {
        let value = randomBytes(&random, length...length)
        let reference = UInt64(random.pick([0, 1, 2, 0x61, 0xFE, 0xFF])) << 56 | number
        entries.append(Entry(key: IndexKey.text(value), reference: reference))
        try transaction.put(value, key: withUnsafeBytes(of: reference.bigEndian) { Array($0) }, in: objects)
      }
    }
    entries.sort {
      $0.key == $1.key ? $0.reference < $1.reference : $0.key.lexicographicallyPrecedes($1.key)
    }
    return (index, entries)
  }

  @Test(
    "For any bounds, walks in both directions and counts match a filter of the keys", arguments: [2, 3, 8])
  func walks(length: Int) throws {
    var random = SeededGenerator.forTest("ranges of a derived index \(length)")
    let store = try MemoryStore().open()
    let (index, entries) = try Self.entries(ofLength: length, in: store, &random)
    let (keys, snapshot) = (entries.map(\.key), store.snapshot())
    for _ in 0..<400 {
      let lower = Self.bound(keys, &random)
      let upper = random.chance(20) ? nil : Self.bound(keys, &random)
      let range = KeyRange(lower: lower, upper: upper)
      let wanted = entries.filter { entry in
        !entry.key.lexicographicallyPrecedes(lower)
          && (upper.map { entry.key.lexicographicallyPrecedes($0) } ?? true)
      }
      var (up, down) = ([Entry](), [Entry]())
      try snapshot.visit(index, range, descending: false) {
        up.append(Entry(key: Array($0), reference: $1))
        return true
      }
      try snapshot.visit(index, range, descending: true) {
        down.append(Entry(key: Array($0), reference: $1))
        return true
      }
      // Compares outside of `#expect`, so a failure does not print hundreds of entries.
      let agree = (up == wanted, down.reversed() == wanted)
      #expect(agree == (true, true), "\(lower) to \(upper ?? [])")
      #expect(try snapshot.count(in: index, range: range) == wanted.count)
    }
  }
}

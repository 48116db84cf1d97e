import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A model of an ordered tree: a sorted array.
struct OrderedModel {
  struct Entry: Equatable {
    var key: [UInt8]
    var payload: UInt64
  }

  private(set) var entries: [Entry] = []

  var count: Int { entries.count }

  /// The number of entries whose keys are less than `key`.
  func rank(of key: [UInt8]) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].key.lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func get(_ key: [UInt8]) -> UInt64? {
    let index = rank(of: key)
    return index < count && entries[index].key == key ? entries[index].payload : nil
  }

  mutating func put(_ key: [UInt8], _ payload: UInt64) -> UInt64? {
    let index = rank(of: key)
    if index < count, entries[index].key == key {
      let old = entries[index].payload
      entries[index].payload = payload
      return old
    }
    entries.insert(Entry(key: key, payload: payload), at: index)
    return nil
  }

  mutating func remove(_ key: [UInt8]) -> UInt64? {
    let index = rank(of: key)
    guard index < count, entries[index].key == key else { return nil }
    return entries.remove(at: index).payload
  }

  mutating func removeAll() { entries = [] }

  func entries(from lower: [UInt8], to upper: [UInt8]?) -> ArraySlice<Entry> {
    let start = rank(of: lower)
    return entries[start..<max(start, upper.map { rank(of: $0) } ?? count)]
  }
}

extension OrderedTree {
  func get(_ key: [UInt8]) -> UInt64? { key.withUnsafeBytes { get($0) } }

  mutating func put(_ key: [UInt8], _ payload: UInt64, in arena: NodeArena) -> UInt64? {
    key.withUnsafeBytes { put($0, payload, in: arena) }
  }

  mutating func remove(_ key: [UInt8], in arena: NodeArena) -> UInt64? {
    key.withUnsafeBytes { remove($0, in: arena) }
  }

  func rank(of key: [UInt8]) -> Int { key.withUnsafeBytes { rank(of: $0) } }

  /// All entries in ascending order.
  var entries: [OrderedModel.Entry] {
    var cursor = OrderedCursor(self)
    var result: [OrderedModel.Entry] = []
    while cursor.next() {
      result.append(OrderedModel.Entry(key: [UInt8](cursor.key), payload: cursor.payload))
    }
    return result
  }
}

/// Calls `body` with a range over the bytes of two arrays.
func withKeyRange<R>(_ lower: [UInt8], _ upper: [UInt8]?, _ body: (RawKeyRange) -> R) -> R {
  lower.withUnsafeBytes { lower in
    guard let upper else { return body(RawKeyRange(lower: lower, upper: nil)) }
    return upper.withUnsafeBytes { body(RawKeyRange(lower: lower, upper: $0)) }
  }
}

/// Kinds of keys that test different parts of a node's layout.
enum KeyShape: String, CaseIterable, CustomTestStringConvertible {
  /// Sixteen random bytes.
  case random16
  /// Up to six bytes, each one of four values, including the empty key. Many keys are prefixes of
  /// others.
  case short
  /// Up to twelve bytes, each 0x00 or 0xFF.
  case extremes
  /// Keys with one of three long prefixes, like index keys.
  case sharedPrefix
  /// Numbers as big-endian bytes.
  case integers
  /// Short keys, and keys of up to 2000 bytes. Nine in ten of the latter need blocks.
  case long
  /// Long keys in two groups. The keys of a group differ only near their end, so the separators
  /// between them are long.
  case longPrefix
  /// Lengths around the limit of inline keys.
  case aroundLimit
  /// Runs of one byte, short or out of line, and up to three other bytes. Neighbours have common
  /// prefixes of many lengths. A longer node prefix saves no space for out-of-line keys, because a
  /// block stores the whole key.
  case runs

  var testDescription: String { rawValue }

  func makeKey(_ random: inout SeededGenerator) -> [UInt8] {
    switch self {
    case .random16: Self.bytes(16, in: 0...255, &random)
    case .short: Self.bytes(.random(in: 0...6, using: &random), in: 97...100, &random)
    case .extremes:
      Self.bytes(.random(in: 0...12, using: &random), in: 0...1, &random).map { $0 == 0 ? 0 : 0xFF }
    case .sharedPrefix:
      Self.repeating(UInt8.random(in: 65...67, using: &random), 40)
        + Self.bytes(.random(in: 0...9, using: &random), in: 0...255, &random)
    case .integers:
      withUnsafeBytes(of: UInt64.random(in: 0...3000, using: &random).bigEndian) { [UInt8]($0) }
    case .long:
      Bool.random(using: &random)
        ? Self.bytes(.random(in: 0...2000, using: &random), in: 0...255, &random)
        : Self.bytes(3, in: 0...255, &random)
    case .longPrefix:
      Self.repeating(UInt8.random(in: 65...66, using: &random), 500)
        + Self.bytes(.random(in: 0...3, using: &random), in: 0...40, &random)
    case .aroundLimit:
      Self.bytes(OrderedNode.inlineKeyLimit + .random(in: -3...3, using: &random), in: 0...3, &random)
    case .runs:
      Self.repeating(
        UInt8.random(in: 65...69, using: &random),
        random.chance(20) ? .random(in: 0...60, using: &random) : 300)
        + Self.bytes(.random(in: 0...3, using: &random), in: 0...9, &random)
    }
  }

  private static func bytes(
    _ count: Int, in range: ClosedRange<UInt8>, _ random: inout SeededGenerator
  ) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: range, using: &random) }
  }

  private static func repeating(_ byte: UInt8, _ count: Int) -> [UInt8] {
    Array(repeating: byte, count: count)
  }
}

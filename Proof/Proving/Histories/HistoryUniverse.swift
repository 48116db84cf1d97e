import PerdureLog
import PerdureTestSupport

/// The keyspaces of a history.
package enum HistorySpace: UInt8, CaseIterable, Sendable {
  /// Rows with ids. Derived indexes exist over their groups, the counts of groups, and the unique
  /// serial numbers.
  case rows
  /// Values with byte strings of many kinds as keys.
  case names
  /// Pairs of numbers as keys. A derived index maps the second number to the first.
  case links

  var kind: KeyspaceKind { self == .rows ? .dense : .bytes }
}

/// A range of keys, as positions in the sorted list of keys. The range is empty if the upper bound
/// is not greater than the lower one.
package struct HistoryRange: Hashable, Sendable {
  package var lower: Int
  package var upper: Int
  /// Whether the bounds are directly after the key before the position, instead of on the key at
  /// the position.
  package var isBetween: Bool

  package init(_ lower: Int, _ upper: Int, isBetween: Bool = false) {
    self.lower = lower
    self.upper = upper
    self.isBetween = isBetween
  }

  var positions: Range<Int> { lower..<max(lower, upper) }
}

/// All keys that a history may use, in order. The model is an array with an entry for each key.
package struct HistoryUniverse: Hashable, Sendable {
  package var seed: UInt64
  /// The number of ids.
  package var ids: Int
  /// The number of names.
  package var names: Int
  /// A link is a pair of numbers. Both are less than this.
  package var side: Int

  package init(seed: UInt64, ids: Int, names: Int, side: Int) {
    precondition(ids > 0 && names > 0 && side > 0, "Every keyspace must have at least one key.")
    self.seed = seed
    self.ids = ids
    self.names = names
    self.side = side
  }

  func count(_ space: HistorySpace) -> Int {
    switch space {
    case .rows: ids
    case .names: names
    case .links: side * side
    }
  }
}

/// The keys of a universe.
struct HistoryKeys: Sendable {
  let ids: [UInt64]
  let names: [[UInt8]]
  let links: [[UInt8]]

  init(_ universe: HistoryUniverse) {
    var random = SeededGenerator(seed: universe.seed)
    var ids: Set<UInt64> = []
    while ids.count < universe.ids { ids.insert(Self.id(universe.ids, &random)) }
    self.ids = ids.sorted()
    var names: Set<[UInt8]> = []
    while names.count < universe.names { names.insert(Self.name(&random)) }
    self.names = names.sorted { $0.lexicographicallyPrecedes($1) }
    links = (0..<universe.side * universe.side).map {
      Self.bytes(UInt64($0 / universe.side)) + Self.bytes(UInt64($0 % universe.side))
    }
  }

  /// An id: usually from a dense range, sometimes far from the others, and sometimes the first or
  /// last possible id.
  private static func id(_ count: Int, _ random: inout SeededGenerator) -> UInt64 {
    switch random.pick(0..<40) {
    case 0: random.pick([0, 1, .max, .max - 1, 1 << 32, 1 << 63])
    case 1: random.next()
    case 2: 1 << random.pick(10...60 as ClosedRange<UInt64>)
    default: random.pick(1...UInt64(count + count / 4 + 2))
    }
  }

  /// A name. It is usually short, and often has a prefix that other names share. Some names are
  /// empty, consist of bytes 255, or are long.
  private static func name(_ random: inout SeededGenerator) -> [UInt8] {
    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in random.pick(UInt8.min...UInt8.max) } }
    switch random.pick(0..<400) {
    case 0: return []
    case 1: return [UInt8](repeating: 255, count: random.pick(1...9))
    case 2:
      return [UInt8](repeating: 120, count: random.pick([250, 4_000, 65_535])).dropLast(random.pick(0...2))
    case 3..<40: return [UInt8](repeating: 97, count: random.pick(20...300)) + bytes(random.pick(0...3))
    case 40..<140: return Array("customer/\(random.pick(0...99))/order/\(random.pick(0...99))".utf8)
    case 140..<200: return bytes(random.pick(1...2)) + [0]
    default: return bytes(random.pick(1...12))
    }
  }

  static func bytes(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

  func key(_ space: HistorySpace, _ position: Int) -> Key {
    switch space {
    case .rows: .id(ids[position])
    case .names: .bytes(names[position])
    case .links: .bytes(links[position])
    }
  }

  /// The keys of a keyspace whose keys are byte strings.
  func byteKeys(_ space: HistorySpace) -> [[UInt8]] { space == .links ? links : names }

  func keyRange(_ range: HistoryRange, in space: HistorySpace) -> KeyRange {
    let keys = byteKeys(space)
    func bound(_ position: Int) -> [UInt8] {
      range.isBetween && position > 0 ? keys[position - 1] + [0] : keys[position]
    }
    let lower =
      range.lower == 0 ? [] : range.lower == keys.count ? keys[range.lower - 1] + [0] : bound(range.lower)
    return KeyRange(lower: lower, upper: range.upper == keys.count ? nil : bound(range.upper))
  }

  /// The range of ids; nil if the range is empty, because a closed range cannot be empty.
  func idRange(_ range: HistoryRange) -> ClosedRange<UInt64>? {
    guard range.lower < range.upper else { return nil }
    let (first, last) = (ids[range.lower], ids[range.upper - 1])
    guard range.isBetween else { return first...last }
    let lower = range.lower == 0 ? 0 : ids[range.lower - 1] + 1
    let upper = range.upper == ids.count ? .max : ids[range.upper] - 1
    return lower...upper
  }
}

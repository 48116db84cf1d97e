import PerdureLog

/// The required content of a store: the value of each key of the universe, in order. Copies share
/// storage until one of them changes. So a held snapshot keeps its required content at low cost.
struct HistoryContent: Sendable, Equatable {
  struct Entry: Sendable, Equatable {
    /// The sequence number of the commit that put the value; 0 if the key is absent.
    var version: UInt32 = 0
    var value = HistoryValue(length: 0)

    var isThere: Bool { version > 0 }
  }

  private var rows: [Entry]
  private var names: [Entry]
  private var links: [Entry]
  private(set) var counts = [0, 0, 0]
  var sequence: UInt64 = 0

  init(_ universe: HistoryUniverse) {
    rows = Array(repeating: Entry(), count: universe.count(.rows))
    names = Array(repeating: Entry(), count: universe.count(.names))
    links = Array(repeating: Entry(), count: universe.count(.links))
  }

  /// All entries of a keyspace, in order.
  func entries(_ space: HistorySpace) -> [Entry] {
    switch space {
    case .rows: rows
    case .names: names
    case .links: links
    }
  }

  subscript(place: HistoryPlace) -> Entry {
    get {
      switch place.space {
      case .rows: rows[place.position]
      case .names: names[place.position]
      case .links: links[place.position]
      }
    }
    set {
      let was = self[place].isThere
      switch place.space {
      case .rows: rows[place.position] = newValue
      case .names: names[place.position] = newValue
      case .links: links[place.position] = newValue
      }
      counts[Int(place.space.rawValue)] += (newValue.isThere ? 1 : 0) - (was ? 1 : 0)
    }
  }

  /// The positions of present keys in a range, in the direction of a walk and up to its limit.
  func walk(_ space: HistorySpace, _ positions: Range<Int>, _ walk: HistoryWalk) -> [Int] {
    var found: [Int] = []
    entries(space).withUnsafeBufferPointer { entries in
      var left = positions
      while found.count < walk.limit, !left.isEmpty {
        let position = walk.isDescending ? left.upperBound - 1 : left.lowerBound
        left = walk.isDescending ? left.dropLast() : left.dropFirst()
        if entries[position].isThere { found.append(position) }
      }
    }
    return found
  }

  func count(_ space: HistorySpace, _ positions: Range<Int>) -> Int {
    entries(space).withUnsafeBufferPointer { entries in
      var count = 0
      for position in positions where entries[position].isThere { count += 1 }
      return count
    }
  }

  /// Whether each key in a range has the same version as in the content `old`, or is absent in
  /// both.
  func isUnchanged(_ space: HistorySpace, _ positions: Range<Int>, since old: HistoryContent) -> Bool {
    entries(space).withUnsafeBufferPointer { new in
      old.entries(space).withUnsafeBufferPointer { old in
        positions.allSatisfy { new[$0].version == old[$0].version }
      }
    }
  }
}

/// An entry of a derived index.
struct HistoryIndexEntry: Hashable, Comparable, Sendable {
  var key: UInt64
  var reference: UInt64

  static func < (a: HistoryIndexEntry, b: HistoryIndexEntry) -> Bool {
    a.key == b.key ? a.reference < b.reference : a.key < b.key
  }
}

extension HistoryContent {
  /// The entries of an index with a key in `keys`, in order.
  func entries(
    of index: HistoryIndex, _ keys: Range<Int>, _ ids: [UInt64], _ universe: HistoryUniverse
  ) -> [HistoryIndexEntry] {
    var found: [HistoryIndexEntry] = []
    switch index {
    case .groups, .serials:
      let isSerial = index == .serials
      for (position, row) in rows.enumerated() where row.isThere {
        guard isSerial ? row.value.hasSerial : row.value.hasGroup else { continue }
        let key = isSerial ? Int(row.value.serial) : Int(row.value.group)
        if keys.contains(key) { found.append(HistoryIndexEntry(key: UInt64(key), reference: ids[position])) }
      }
      return found.sorted()
    case .counts:
      var groups = [Int](repeating: 0, count: 256)
      for row in rows where row.isThere && row.value.hasGroup { groups[Int(row.value.group)] += 1 }
      for (group, count) in groups.enumerated() where count > 0 && keys.contains(count) {
        found.append(HistoryIndexEntry(key: UInt64(count), reference: UInt64(group)))
      }
      return found.sorted()
    case .backlinks:
      for second in keys.clamped(to: 0..<universe.side) {
        for first in 0..<universe.side where links[first * universe.side + second].isThere {
          found.append(HistoryIndexEntry(key: UInt64(second), reference: UInt64(first)))
        }
      }
      return found
    }
  }
}

extension HistoryContent {
  /// For each group: the sum of the serial numbers of its rows, and the number of its rows with a
  /// serial number.
  var serialSums: [UInt64: (sum: Int, count: Int)] {
    rows.reduce(into: [:]) { sums, row in
      guard row.isThere, row.value.hasSerial else { return }
      sums[UInt64(row.value.group), default: (0, 0)].sum += Int(row.value.serial)
      sums[UInt64(row.value.group), default: (0, 0)].count += 1
    }
  }
}

/// The model: the content of the store, and the expected result of each commit.
struct HistoryModel {
  let universe: HistoryUniverse
  let keys: HistoryKeys
  private(set) var content: HistoryContent
  /// The position of the row with each serial number; -1 if no row has it.
  private var holders = [Int32](repeating: -1, count: 65_536)

  init(_ universe: HistoryUniverse) {
    self.universe = universe
    keys = HistoryKeys(universe)
    content = HistoryContent(universe)
  }

  enum Verdict: Equatable {
    /// The commit succeeds with this sequence number. If nothing changed, it is the number of the
    /// last commit.
    case committed(UInt64)
    /// The preconditions with these indexes are false.
    case conflict(Set<Int>)
    /// With the changes, several rows have one of these serial numbers.
    case duplicates(Set<UInt16>)
  }

  /// Notes that the store made a commit by itself.
  mutating func advance() { content.sequence += 1 }
  mutating func setSequence(_ sequence: UInt64) { content.sequence = sequence }

  /// - Parameter failing: The indexes of the preconditions that are false.
  mutating func commit(_ changes: [HistoryChange], failing: Set<Int> = []) -> Verdict {
    guard failing.isEmpty else { return .conflict(failing) }
    let sequence = content.sequence + 1
    var isEmpty = true
    var undo: [(HistoryPlace, HistoryContent.Entry)] = []
    for change in changes {
      let old = content[change.place]
      if change.value == nil && !old.isThere { continue }
      isEmpty = false
      undo.append((change.place, old))
      let entry = change.value.map { HistoryContent.Entry(version: UInt32(sequence), value: $0) }
      content[change.place] = entry ?? HistoryContent.Entry()
    }
    let duplicates = claim(undo)
    guard duplicates.isEmpty else {
      for (place, entry) in undo.reversed() { content[place] = entry }
      return .duplicates(duplicates)
    }
    if !isEmpty { content.sequence = sequence }
    return .committed(content.sequence)
  }

  /// Moves serial numbers from the old rows to the new ones. If two rows claim the same number,
  /// changes nothing and returns these numbers.
  private mutating func claim(_ undo: [(place: HistoryPlace, entry: HistoryContent.Entry)]) -> Set<UInt16> {
    var first: [Int: HistoryContent.Entry] = [:]
    for (place, entry) in undo where place.space == .rows && first[place.position] == nil {
      first[place.position] = entry
    }
    if first.isEmpty { return [] }
    for entry in first.values where entry.isThere && entry.value.hasSerial {
      holders[Int(entry.value.serial)] = -1
    }
    var duplicates: Set<UInt16> = []
    var claimed: [UInt16] = []
    for position in first.keys {
      let entry = content[HistoryPlace(.rows, position)]
      guard entry.isThere, entry.value.hasSerial else { continue }
      if holders[Int(entry.value.serial)] >= 0 {
        duplicates.insert(entry.value.serial)
      } else {
        holders[Int(entry.value.serial)] = Int32(position)
        claimed.append(entry.value.serial)
      }
    }
    if duplicates.isEmpty { return [] }
    for serial in claimed { holders[Int(serial)] = -1 }
    for (position, entry) in first where entry.isThere && entry.value.hasSerial {
      holders[Int(entry.value.serial)] = Int32(position)
    }
    return duplicates
  }
}

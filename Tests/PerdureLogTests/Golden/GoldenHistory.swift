import PerdureLog

/// The commits of every golden store of the engine. They never change, because existing stores have
/// these values. A new kind of store that needs other commits must have its own history.
struct GoldenHistory {
  /// The operation on one key.
  enum Change {
    case put(Key, length: Int)
    case remove(Key)
  }

  /// An id in `rows`, or bytes in `names`.
  enum Key: Hashable {
    case row(UInt64)
    case name([UInt8])
  }

  /// The content of the store after all commits.
  private(set) var contents: [Key: [UInt8]] = [:]
  /// The changes of each commit.
  private(set) var commits: [[Change]] = []

  /// Longer values are in blob files.
  static let blobThresholdBytes = 1024
  static let segmentCapacityBytes = 4096

  init() {
    for id in 1...20 as ClosedRange<UInt64> { commit([.put(.row(id), length: 40)]) }
    commit((1...8 as ClosedRange<UInt8>).map { .put(.name([0x6E, $0]), length: 20 + Int($0)) })
    // This commit is longer than a segment, so it has several parts.
    commit((100...160 as ClosedRange<UInt64>).map { .put(.row($0), length: 60) })
    commit([.put(.row(200), length: 1500), .put(.row(201), length: 1200), .put(.row(202), length: 1100)])
    commit((1...10 as ClosedRange<UInt64>).map { .put(.row($0), length: 48) })
    commit((11...15 as ClosedRange<UInt64>).map { .remove(.row($0)) } + [.remove(.name([0x6E, 3]))])
    commit([.put(.row(201), length: 1300), .remove(.row(202))])
    commit([.put(.row(.max), length: 0), .put(.row(0), length: 9), .put(.name([]), length: 10)])
    commit([.put(.name([UInt8](repeating: 0xFF, count: 300)), length: 10), .put(.row(1), length: 1024)])
    // Puts removed keys again, and removes keys that exist or were removed before.
    commit([.put(.row(12), length: 24), .remove(.row(2))])
    commit([.remove(.row(13)), .put(.name([0x6E, 3]), length: 33)])
  }

  private mutating func commit(_ changes: [Change]) {
    for change in changes {
      switch change {
      case .put(let key, let length): contents[key] = Self.value(key, length, commits.count)
      case .remove(let key): contents[key] = nil
      }
    }
    commits.append(changes)
  }

  /// The value that commit `number` puts. It has a group, a unique part, and padding.
  static func value(_ key: Key, _ length: Int, _ number: Int) -> [UInt8] {
    var start: [UInt8]
    switch key {
    case .row(let id): start = bigEndian(id % 5) + bigEndian(id)
    case .name(let bytes): start = Array(bytes.prefix(9))
    }
    start = Array(start.prefix(length))
    return start + (start.count..<length).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }
  }

  private static func bigEndian(_ number: UInt64) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  /// Writes commits to a store.
  func write(_ numbers: Range<Int>, to store: Store) throws {
    let rows = try store.keyspace("rows", .dense)
    let names = try store.keyspace("names", .bytes)
    for number in numbers {
      try store.write { transaction in
        for change in commits[number] {
          switch change {
          case .put(.row(let id), let length):
            try transaction.put(Self.value(.row(id), length, number), id: id, in: rows)
          case .put(.name(let key), let length):
            try transaction.put(Self.value(.name(key), length, number), key: key, in: names)
          case .remove(.row(let id)): try transaction.remove(id: id, in: rows)
          case .remove(.name(let key)): try transaction.remove(key: key, in: names)
          }
        }
      }
    }
  }

  /// Defines a plain index, a unique index, and an index of group counts.
  static func defineIndexes(in store: Store) throws {
    let rows = try store.keyspace("rows", .dense)
    func define(_ name: String, _ slices: [SliceExtractor.Slice], isUnique: Bool) throws -> DerivedIndex {
      try store.defineIndex(
        IndexDefinition(
          name: name,
          source: .records(
            keyspaces: [rows], extractor: SliceExtractor.name, parameters: SliceExtractor.parameters(slices)),
          isUnique: isUnique))
    }
    let groups = try define("groups", [.value(offset: 0, length: 8)], isUnique: false)
    _ = try define("ids", [.value(offset: 8, length: 8)], isUnique: true)
    _ = try store.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: groups)))
  }

  /// The entries of the store's indexes. Each has the index key as a number, and the reference.
  var entries: [String: Set<[UInt64]>] {
    var entries: [String: Set<[UInt64]>] = ["groups": [], "ids": [], "counts": []]
    var counts: [UInt64: UInt64] = [:]
    for case (.row(let id), let value) in contents where value.count >= 8 {
      entries["groups"]?.insert([id % 5, id])
      counts[id % 5, default: 0] += 1
      if value.count >= 16 { entries["ids"]?.insert([id, id]) }
    }
    for (group, count) in counts { entries["counts"]?.insert([count, group]) }
    return entries
  }
}

extension Store {
  /// The whole content of a store.
  func goldenContents() throws -> [GoldenHistory.Key: [UInt8]] {
    let snapshot = snapshot()
    var found: [GoldenHistory.Key: [UInt8]] = [:]
    for keyspace in try keyspaces {
      switch keyspace.kind {
      case .dense:
        try snapshot.forEach(in: keyspace) { id, value in
          found[.row(id)] = value.withUnsafeBytes { [UInt8]($0) }
          return true
        }
      case .bytes:
        try snapshot.forEach(in: keyspace) { key, value in
          found[.name(key.withUnsafeBytes { [UInt8]($0) })] = value.withUnsafeBytes { [UInt8]($0) }
          return true
        }
      }
    }
    return found
  }

  /// All entries of the store's indexes.
  func goldenEntries() throws -> [String: Set<[UInt64]>] {
    let snapshot = snapshot()
    var found: [String: Set<[UInt64]>] = [:]
    for (index, _) in try indexes {
      var entries: Set<[UInt64]> = []
      try snapshot.forEachEntry(in: index) { key, reference in
        entries.insert([key.withUnsafeBytes { $0.reduce(0) { $0 << 8 | UInt64($1) } }, reference])
        return true
      }
      found[index.name] = entries
    }
    return found
  }
}

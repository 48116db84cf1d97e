import PerdureFileIO
import PerdureFormat
import PerdureLog
import PerdureTestSupport

/// A closed store with an old checkpoint. The log after the checkpoint replaces most rows, so every
/// row has several versions.
///
/// Every record is 64 bytes long and begins at a multiple of 64, so a copied sector contains
/// complete records. The rows have plain, unique and counting indexes, and sums. Each version of a
/// row has another key in the unique index.
struct RotTailStore {
  static let recordLength = 64
  private static let rowCount: UInt64 = 120
  private static let roundsBefore = 4

  let store: RotStore
  /// The segment file and offset of each key's records before the checkpoint, oldest first.
  let versions: [UInt64: [(file: String, offset: Int)]]

  /// - Parameter bindsRecords: Whether the segments bind their records (`RecordCheck`).
  init(seed: UInt64, bindsRecords: Bool) throws {
    var builder = RotTailBuilder(seed: seed, bindsRecords: bindsRecords)
    store = try builder.build(rounds: Self.roundsBefore, rowCount: Self.rowCount)
    versions = try Self.versions(in: store, upTo: builder.checkpointed)
  }

  private static func versions(
    in store: RotStore, upTo end: UInt64
  ) throws -> [UInt64: [(file: String, offset: Int)]] {
    var versions: [UInt64: [(file: String, offset: Int)]] = [:]
    for place in try RecordPlace.all(in: store.files) where place.sequence <= end && place.keyspace != 0 {
      let id = place.key.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self).littleEndian }
      versions[id, default: []].append((place.file, place.offset))
    }
    return versions
  }
}

private struct RotTailBuilder {
  private let fileSystem = InMemoryFileSystem()
  private let bindsRecords: Bool
  private let storeID: StoreID
  private var random: SeededGenerator
  private var content: CrashHistory.Content = [:]
  private var history: [CrashKey: Set<[UInt8]>] = [:]
  private var version: UInt64 = 0
  /// The sequence number of the last commit before the checkpoint.
  private(set) var checkpointed: UInt64 = 0

  init(seed: UInt64, bindsRecords: Bool) {
    self.bindsRecords = bindsRecords
    random = SeededGenerator(seed: seed)
    storeID = StoreID(high: random.next() | 1, low: random.next())
  }

  mutating func build(rounds: Int, rowCount: UInt64) throws -> RotStore {
    var options = RotStore.plainOptions(on: fileSystem)
    options.segmentCapacityBytes = 16 << 10
    options.newStoreID = storeID
    options.bindsRecords = bindsRecords
    try fileSystem.createDirectory(RotStore.path)
    let store = try Store(at: RotStore.path, options: options)
    let rows = try store.keyspace("rows", .dense)
    try RotStore.defineIndexes(over: rows, in: store)
    for _ in 0..<rounds {
      for ids in shuffledParts(of: rowCount) { try commit(ids, removing: 0, in: rows, of: store) }
    }
    checkpointed = store.snapshot().sequence
    try store.checkpoint()
    for ids in shuffledParts(of: rowCount - rowCount / 8) {
      try commit(ids, removing: 8, in: rows, of: store)
    }
    let sequence = store.snapshot().sequence
    try store.close()
    var files: [String: [UInt8]] = [:]
    for name in try fileSystem.contents(of: RotStore.path) {
      let file = try fileSystem.open(RotStore.path + "/" + name, .read)
      files[name] = try file.read(Int(file.size()), at: 0)
    }
    return try RotStore(files, content: content, history: history, sequence: sequence)
  }

  /// The ids up to `count` in random order, divided into commits of different lengths.
  private mutating func shuffledParts(of count: UInt64) -> [[UInt64]] {
    var ids = Array(1...count).shuffled(using: &random)
    var parts: [[UInt64]] = []
    while !ids.isEmpty {
      let length = min(ids.count, Int.random(in: 1...20, using: &random))
      parts.append(Array(ids.suffix(length)))
      ids.removeLast(length)
    }
    return parts
  }

  /// - Parameter share: On average, one of `share` rows is removed; 0 removes none.
  private mutating func commit(
    _ ids: [UInt64], removing share: UInt64, in rows: Keyspace, of store: Store
  ) throws {
    var changes: [(id: UInt64, value: [UInt8]?)] = []
    for id in ids {
      version += 1
      let isRemoved = share > 0 && random.next() % share == 0
      changes.append((id, isRemoved ? nil : RotTailStore.row(id, version: version, &random)))
    }
    try store.write { transaction in
      for change in changes {
        if let value = change.value {
          try transaction.put(value, id: change.id, in: rows)
        } else {
          try transaction.remove(id: change.id, in: rows)
        }
      }
    }
    for change in changes {
      let key = CrashKey(keyspace: "rows", key: .id(change.id))
      content[key] = change.value
      if let value = change.value { history[key, default: []].insert(value) }
    }
  }
}

extension RotTailStore {
  /// A row of 40 bytes: a group, a unique number, and noise.
  static func row(_ id: UInt64, version: UInt64, _ random: inout SeededGenerator) -> [UInt8] {
    func bigEndian(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
    let noise = (0..<24).map { _ in UInt8.random(in: 0...255, using: &random) }
    return bigEndian(random.next() % 7) + bigEndian(version << 16 | id) + noise
  }
}

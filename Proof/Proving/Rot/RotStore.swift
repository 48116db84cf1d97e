package import PerdureFileIO
import PerdureFormat
package import PerdureLog
import PerdureTestSupport

/// A closed store that contains every structure that a store can have. This type has the files of
/// the store and its required content.
///
/// The store has segments that compaction has rewritten, some of them into groups, and other
/// segments. It has commits over several segments, and removals. Values are uncompressed,
/// compressed with either of two dictionaries, or in blob files. The index file has tables and
/// trees, long keys and free units, and the log continues after its checkpoint. The store has
/// plain, unique and counting indexes, sums and their order. A seed determines all bytes of the
/// log, and the lengths of the other files.
package struct RotStore: Sendable {
  /// An entry of a derived index.
  package struct Entry: Hashable, Sendable {
    package var index: String
    package var key: [UInt8]
    package var reference: UInt64
  }

  /// A key and its value, as a scan of a keyspace returns them.
  struct Row: Hashable, Sendable {
    var key: CrashKey
    var value: [UInt8]
  }

  package static let path = "/s.perdure"

  /// The bytes of the files, by name without the directory.
  package private(set) var files: [String: [UInt8]] = [:]
  /// Earlier states of the files, oldest first.
  package private(set) var older: [[String: [UInt8]]] = []
  package let content: CrashHistory.Content
  /// All values that a key ever had.
  package let history: [CrashKey: Set<[UInt8]>]
  /// The required results of a scan of each keyspace and of each index, in order.
  private(set) var walks: [String: [Row]] = [:]
  private(set) var entries: [String: [Entry]] = [:]
  /// The sequence number of the last commit.
  package let sequence: UInt64

  /// The first id of the two commits that are longer than a segment.
  package static let chainStart: UInt64 = 1 << 20
  /// The number of rounds that makes a store of one mebibyte.
  package static let roundsOfMebibyte = 18

  /// - Parameter rounds: The amount of data. 0 makes the smallest store that contains everything,
  ///   and 1 makes a store of 200 KiB. Each further round adds about 50 KiB.
  package init(rounds: Int, seed: UInt64) throws {
    var builder = try RotStoreBuilder(rounds: rounds, seed: seed)
    try builder.build()
    try self.init(
      RotStoreExtras.added(to: builder.files()), older: builder.older, content: builder.content,
      history: builder.history, sequence: builder.sequence)
  }

  /// Makes a store from the files of a closed store.
  init(
    _ files: [String: [UInt8]], older: [[String: [UInt8]]] = [], content: CrashHistory.Content,
    history: [CrashKey: Set<[UInt8]>], sequence: UInt64
  ) throws {
    self.files = files
    self.older = older
    self.content = content
    self.history = history
    self.sequence = sequence
    let store = try Store(at: Self.path, options: Self.options(on: fileSystem()))
    let snapshot = store.snapshot()
    for keyspace in try store.keyspaces {
      walks[keyspace.name] = []
      try CrashOracle.visit(keyspace, of: snapshot) { walks[keyspace.name]?.append(Row(key: $0, value: $1)) }
    }
    for (index, _) in try store.indexes {
      entries[index.name] = []
      try Self.visitEntries(of: index, snapshot) { entries[index.name]?.append($0) }
    }
  }

  /// The number of keys in each keyspace.
  var keyCounts: [String: Int] { content.keys.reduce(into: [:]) { $0[$1.keyspace, default: 0] += 1 } }

  package var byteCount: Int { files.values.reduce(0) { $0 + $1.count } }

  /// A new file system with the files. `others` replaces the bytes of some of them.
  package func fileSystem(
    replacing others: [String: [UInt8]] = [:]
  ) throws(FileIOError) -> InMemoryFileSystem {
    let fileSystem = InMemoryFileSystem()
    try fileSystem.createDirectory(Self.path)
    for (name, bytes) in files {
      try fileSystem.open(Self.path + "/" + name, .create).write(others[name] ?? bytes, at: 0)
    }
    return fileSystem
  }

  /// The options for reading. They cache no decompressed groups.
  package static func options(on fileSystem: any FileSystem, isReadOnly: Bool = true) -> StoreOptions {
    var options = RotStoreBuilder.options(on: fileSystem)
    options.isReadOnly = isReadOnly
    options.compression.groupCacheBytes = 0
    return options
  }

  /// Defines indexes of every kind. The values of the rows begin with a group and a unique number
  /// of 8 bytes each.
  static func defineIndexes(over rows: Keyspace, in store: Store) throws {
    let groups = try store.defineIndex(.slices("groups", rows, .value(offset: 0, length: 8)))
    _ = try store.defineIndex(.slices("ids", rows, .value(offset: 8, length: 8), isUnique: true))
    _ = try store.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: groups)))
    let sums = try store.defineIndex(.sums("sums", rows))
    _ = try store.defineIndex(IndexDefinition(name: "order", source: .sumOrder(of: sums)))
  }

  /// Options for writing stores, without background work.
  static func plainOptions(on fileSystem: any FileSystem) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.blobThresholdBytes = 1024
    options.durability = .relaxed
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.reserveBytes = 0
    return options
  }

  /// Visits every entry of a derived index, in order.
  static func visitEntries(
    of index: DerivedIndex, _ snapshot: Snapshot, _ body: (Entry) throws -> Void
  ) throws {
    try snapshot.forEachEntry(in: index) { key, reference in
      try body(Entry(index: index.name, key: key.withUnsafeBytes { Array($0) }, reference: reference))
      return true
    }
  }
}

/// Writes the files of a `RotStore`.
private struct RotStoreBuilder {
  let rounds: Int
  private let isSmallest: Bool
  /// The capacity of segments. Fewer and larger files make openings faster.
  let capacity: Int
  let fileSystem = InMemoryFileSystem()
  private let storeID: StoreID
  var random: SeededGenerator
  var content: CrashHistory.Content = [:]
  var history: [CrashKey: Set<[UInt8]>] = [:]
  var older: [[String: [UInt8]]] = []
  var sequence: UInt64 = 0

  init(rounds: Int, seed: UInt64) throws {
    self.rounds = max(1, rounds)
    isSmallest = rounds == 0
    capacity = rounds == 0 ? 4096 : rounds > 4 ? 64 << 10 : 16 << 10
    random = SeededGenerator(seed: seed)
    var identities = random.derived("identity")
    storeID = StoreID(high: identities.next() | 1, low: identities.next())
  }

  static func options(on fileSystem: any FileSystem, groups: Bool = false) -> StoreOptions {
    var options = RotStore.plainOptions(on: fileSystem)
    options.compression.modes = ["packed": .dictionary]
    options.compression.trainsAutomatically = false
    options.compression.dictionaryBytes = 1024
    options.compression.valueBytesMin = 16
    options.compression.groupsColdRecords = groups
    options.compression.groupLengthTarget = 2048
    return options
  }

  mutating func build() throws {
    try fileSystem.createDirectory(RotStore.path)
    try inStore { builder, store in
      try builder.define(in: store)
      try builder.putRewritten(in: store)
      try store.compact()
    }
    try keep()
    try inStore(groups: true) { builder, store in
      try builder.putGrouped(in: store)
      for _ in 0..<2 { try store.compact() }
      try store.checkpoint()
    }
    try keep()
    try inStore { builder, store in
      try builder.putNames(in: store)
      try builder.putPacked(in: store)
      try builder.putBlobs(in: store)
      try store.checkpoint()
      try builder.putChains(in: store)
      try store.checkpoint()
      try builder.putTail(in: store)
    }
    while try RotStoreExtras.room(in: files()) < RotStoreExtras.length {
      let id = UInt64(1) << 44 + sequence
      try inStore { builder, store in
        try builder.commit([(.id(id), builder.row(id, length: 800))], "rows", in: store)
      }
    }
    // This opening creates the file of the readers.
    _ = try Store(at: RotStore.path, options: RotStore.options(on: fileSystem))
  }

  private mutating func inStore(
    groups: Bool = false, _ body: (inout RotStoreBuilder, Store) throws -> Void
  ) throws {
    var options = Self.options(on: fileSystem, groups: groups)
    options.segmentCapacityBytes = capacity
    options.newStoreID = storeID
    let store = try Store(at: RotStore.path, options: options)
    try body(&self, store)
    sequence = store.snapshot().sequence
    try store.close()
  }

  private mutating func keep() throws { older.append(try files()) }

  func files() throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try fileSystem.contents(of: RotStore.path) {
      let file = try fileSystem.open(RotStore.path + "/" + name, .read)
      files[name] = try file.read(Int(file.size()), at: 0)
    }
    return files
  }

  // MARK: - Content

  private func define(in store: Store) throws {
    let rows = try store.keyspace("rows", .dense)
    _ = try store.keyspace("cold", .dense)
    _ = try store.keyspace("names", .bytes)
    _ = try store.keyspace("packed", .dense)
    try RotStore.defineIndexes(over: rows, in: store)
  }

  /// The change of one key in a commit; nil removes the key.
  private typealias Change = (key: Key, value: [UInt8]?)

  private mutating func commit(_ changes: [Change], _ name: String, in store: Store) throws {
    let kind: KeyspaceKind = name == "names" ? .bytes : .dense
    let keyspace = try store.keyspace(name, kind)
    try store.write { transaction in
      for (key, value) in changes {
        switch (key, value) {
        case (.id(let id), let value?): try transaction.put(value, id: id, in: keyspace)
        case (.id(let id), nil): try transaction.remove(id: id, in: keyspace)
        case (.bytes(let bytes), let value?): try transaction.put(value, key: bytes, in: keyspace)
        case (.bytes(let bytes), nil): try transaction.remove(key: bytes, in: keyspace)
        }
      }
    }
    for (key, value) in changes {
      let place = CrashKey(keyspace: name, key: key)
      content[place] = value
      if let value { history[place, default: []].insert(value) }
    }
  }

  private mutating func noise(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in .random(in: 0...255, using: &random) }
  }

  /// A value of `rows`: a group, a unique number, and noise.
  private mutating func row(_ id: UInt64, length: Int) -> [UInt8] {
    func bigEndian(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
    return bigEndian(id % 7) + bigEndian(id) + noise(length)
  }

  private mutating func text(_ count: Int) -> [UInt8] {
    let words = ["a log ", "of frames, ", "each whole ", "or torn; ", "what was synced ", "stays. "]
    var bytes: [UInt8] = []
    while bytes.count < count { bytes += Array(random.pick(words).utf8) }
    return Array(bytes.prefix(count))
  }

  /// The number of ids in a round.
  private var idCount: UInt64 { isSmallest ? 16 : 64 }

  /// Writes noise, so that compaction does not put it into groups. Overwrites every third value,
  /// and removes one value in each round.
  private mutating func putRewritten(in store: Store) throws {
    for round in 0..<UInt64(rounds) {
      let ids = (idCount * round)..<(idCount * (round + 1))
      for _ in 0..<2 {
        for start in stride(from: ids.lowerBound, to: ids.upperBound, by: 16) {
          let some = (start..<(start + 16)).filter { content[key($0)] == nil || $0 % 3 == 0 }
          // In even rounds, keys and headers are such a small part of the bytes that groups save
          // too little.
          let least = round % 2 == 0 ? 500 : 20
          try commit(
            some.map { (.id($0), row($0, length: least + Int($0 * 7 % 200))) }, "rows", in: store)
        }
      }
      try commit([(.id(ids.lowerBound + 5), nil)], "rows", in: store)
    }
  }

  private func key(_ id: UInt64) -> CrashKey { CrashKey(keyspace: "rows", key: .id(id)) }

  /// Writes text, which is compressed into groups.
  private mutating func putGrouped(in store: Store) throws {
    for round in 0..<UInt64(rounds) {
      for _ in 0..<2 {
        let ids = (idCount * round)..<(idCount * (round + 1))
        try commit(ids.map { (.id($0), text(60 + Int($0 % 90))) }, "cold", in: store)
      }
    }
  }

  /// Writes short and long keys, removes some of them, and puts one of these again.
  private mutating func putNames(in store: Store) throws {
    try commit([(.bytes([]), noise(3))], "names", in: store)
    for round in 0..<rounds {
      var keys = (0..<12).map { Array("name \(round) \($0)".utf8) }
      keys += [3, 180, 201, 300, 900].map { [UInt8(truncatingIfNeeded: round)] + noise($0) }
      try commit(keys.map { (.bytes($0), noise(30)) }, "names", in: store)
      try commit([(.bytes(keys[2]), nil), (.bytes(keys[14]), nil)], "names", in: store)
      try commit([(.bytes(keys[2]), [1, 2, 3])], "names", in: store)
    }
  }

  /// Writes values without a dictionary, and with either of two dictionaries.
  private mutating func putPacked(in store: Store) throws {
    for part in 0..<3 as Range<UInt64> {
      if part > 0 { _ = try store.trainDictionary(for: store.keyspace("packed", .dense)) }
      for round in 0..<UInt64(rounds) {
        let ids = (1000 * part + 16 * round)..<(1000 * part + 16 * round + 16)
        try commit(ids.map { (.id($0), text(100 + Int($0 % 50))) }, "packed", in: store)
      }
    }
  }

  private mutating func putBlobs(in store: Store) throws {
    try commit([(.id(1 << 40), row(1 << 40, length: 1100))], "rows", in: store)
    let length = rounds > 4 ? 66_000 : 1200
    try commit([(.id(1 << 41), row(1 << 41, length: length)), (.id(1 << 42), nil)], "rows", in: store)
  }

  /// Makes two commits, each longer than a segment. The second one replaces three quarters of the
  /// keys of the first one.
  private mutating func putChains(in store: Store) throws {
    let count: UInt64 = isSmallest ? 25 : rounds > 4 ? 400 : 100
    for start in [RotStore.chainStart, RotStore.chainStart + count / 4] {
      let ids = start..<(start + count)
      try commit(ids.map { (.id($0), row($0, length: 200)) }, "rows", in: store)
    }
  }

  private mutating func putTail(in store: Store) throws {
    for id in 1...4 as ClosedRange<UInt64> {
      try commit(
        [(.id(id), row(id, length: 40)), (.id(100 + id), id % 2 == 0 ? row(100 + id, length: 9) : nil)],
        "rows", in: store)
    }
    try commit([(.bytes(Array("last".utf8)), noise(9)), (.bytes([]), nil)], "names", in: store)
    try commit([(.id(1 << 43), row(1 << 43, length: 1100))], "rows", in: store)
  }
}

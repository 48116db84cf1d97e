package import PerdureFileIO
package import PerdureLog
package import PerdureTestSupport

/// What kind of program writes to the store.
package struct CrashShape: Sendable, CustomStringConvertible {
  package var description: String
  package var commits = 40
  package var writers = 1
  package var operations = 1...6
  package var valueLengthMax = 300
  /// One value in so many is above the blob threshold; 0: none.
  package var blobOneIn = 24
  /// One commit in so many is redefined, refused or otherwise out of the ordinary; 0: none.
  package var mishapOneIn = 0
  /// After one commit in so many a checkpoint is made by hand, and one at each close; 0: none.
  package var checkpointOneIn = 0
  package var reopensEvery = 17
  /// One step in so many compacts the store, one in twice as many with a snapshot held; 0: none.
  package var compactsOneIn = 0
  /// Whether compaction puts what lives long into groups.
  package var groups = false
  /// Whether values are compressed, and one step in so many makes a dictionary; 0: neither.
  package var trainsOneIn = 0
  /// Whether writers wait for their syncs without a thread.
  package var isAsynchronous = false
  package var durabilities = Durability.allCases
  package var sectorLength = 512
  package var imagesPerOperationMax = 64
  package var segmentCapacityBytes = 4096
  /// How much of the log is synced in the background at once, and the next segment prepared; 0: nothing.
  package var syncAheadBytes: UInt64 = 0

  /// For engines that are wrong on purpose: a little of everything.
  package static let canary = CrashShape(
    description: "canary", commits: 30, operations: 1...8, blobOneIn: 6, checkpointOneIn: 3, reopensEvery: 9)

  package static let compactingCanary = CrashShape(
    description: "compacting canary", commits: 40, operations: 1...4, blobOneIn: 0, reopensEvery: 20,
    compactsOneIn: 2, segmentCapacityBytes: 4096)

  package static let all = [
    CrashShape(description: "small commits, fine tears", sectorLength: 64),
    CrashShape(description: "chains over segments", commits: 24, operations: 1...40, valueLengthMax: 700),
    CrashShape(
      description: "values longer than a segment", commits: 24, operations: 1...4, valueLengthMax: 9000,
      blobOneIn: 0, reopensEvery: 5),
    CrashShape(description: "blob files", operations: 1...3, blobOneIn: 3, reopensEvery: 9),
    CrashShape(description: "mishaps", commits: 60, mishapOneIn: 2),
    CrashShape(description: "opened and closed again and again", commits: 40, reopensEvery: 2),
    CrashShape(
      description: "three writers", commits: 20, writers: 3, mishapOneIn: 6, isAsynchronous: true,
      sectorLength: 128),
    CrashShape(description: "compaction", commits: 50, blobOneIn: 12, reopensEvery: 13, compactsOneIn: 4),
    CrashShape(
      description: "compaction of chains", commits: 30, operations: 1...40, valueLengthMax: 700,
      reopensEvery: 9, compactsOneIn: 3),
    CrashShape(
      description: "compaction and checkpoints", commits: 40, blobOneIn: 12, checkpointOneIn: 4,
      reopensEvery: 7, compactsOneIn: 4),
    CrashShape(
      description: "compaction beside three writers", commits: 20, writers: 3, mishapOneIn: 9,
      compactsOneIn: 8, sectorLength: 128),
    CrashShape(
      description: "nothing promised until the end", commits: 60, reopensEvery: 30,
      durabilities: [.relaxed, .processCrash, .ordered]),
    CrashShape(description: "checkpoints", commits: 36, checkpointOneIn: 2, reopensEvery: 9),
    CrashShape(
      description: "checkpoints, blob files and mishaps", commits: 30, blobOneIn: 4, mishapOneIn: 3,
      checkpointOneIn: 3, reopensEvery: 4),
    CrashShape(
      description: "checkpoints beside three writers", commits: 12, writers: 3, blobOneIn: 0,
      checkpointOneIn: 5, sectorLength: 128),
    CrashShape(
      description: "compression with dictionaries that change", commits: 40, valueLengthMax: 120,
      checkpointOneIn: 6, reopensEvery: 9, compactsOneIn: 9, trainsOneIn: 4),
    CrashShape(
      description: "compaction into groups", commits: 40, blobOneIn: 12, checkpointOneIn: 6, reopensEvery: 9,
      compactsOneIn: 3, groups: true),
    CrashShape(
      description: "segments prepared, and the log synced, ahead of time", commits: 60, mishapOneIn: 8,
      reopensEvery: 13, compactsOneIn: 12, durabilities: [.relaxed, .processCrash, .powerLoss],
      syncAheadBytes: 500),
  ]
}

/// A small program that writes, as a store's user would.
package struct CrashWorkload: Sendable {
  package static let path = "/s.perdure"

  package let shape: CrashShape
  package let seed: UInt64
  package let history = CrashHistory()

  package init(shape: CrashShape, seed: UInt64) {
    self.shape = shape
    self.seed = seed
  }

  /// The options of every opening, but for the file system.
  package var options: StoreOptions {
    var options = StoreOptions()
    options.segmentCapacityBytes = shape.segmentCapacityBytes
    options.blobThresholdBytes = max(1024, shape.valueLengthMax + 16)
    options.checkpoints = .manual
    options.compactsAutomatically = false
    if shape.syncAheadBytes > 0 { options.syncAheadBytes = shape.syncAheadBytes }
    if shape.checkpointOneIn > 0 { options.checkpoints.closeTailBytes = 0 }
    options.compression.groupsColdRecords = shape.groups
    options.compression.groupLengthTarget = 512
    options.compression.groupCacheBytes = 1024
    if shape.trainsOneIn > 0 {
      options.compression = .dictionaries
      options.compression.trainsAutomatically = false
      options.compression.valueBytesMin = 16
      options.compression.dictionaryBytes = 1024
    }
    return options
  }

  package func open(on fileSystem: any FileSystem, readOnly: Bool = false) throws -> Store {
    var options = options
    options.fileSystem = fileSystem
    options.isReadOnly = readOnly
    return try Store(at: Self.path, options: options)
  }

  /// Runs to the end; gives what the store must hold after each commit.
  package func run(on fileSystem: any FileSystem, _ marker: CrashMarker) async throws -> CrashOracle {
    var random = SeededGenerator(seed: seed)
    var last: UInt64 = 0
    var done = 0
    while done < shape.commits {
      var store: Store? = try open(on: fileSystem)
      let round = min(shape.reopensEvery, shape.commits - done)
      if let store { last = try await write(round, to: store, marker, &random) }
      done += round
      // Closed, or left as a process that ends leaves it.
      if Bool.random(using: &random) || done == shape.commits { try store?.close() }
      store = nil
    }
    return CrashOracle(contents: history.contents(upTo: last))
  }

  private func write(
    _ commits: Int, to store: Store, _ marker: CrashMarker, _ random: inout SeededGenerator
  ) async throws -> UInt64 {
    let generators = (0..<shape.writers).map { _ in SeededGenerator(seed: random.next()) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, generator) in generators.enumerated() {
        group.addTask {
          var writer = try CrashWriter(number, workload: self, store, marker, generator)
          for _ in 0..<commits { try await writer.step() }
        }
      }
      try await group.waitForAll()
    }
    return store.snapshot().sequence
  }
}

/// One of the program's writers. Writers have no keys in common.
private struct CrashWriter {
  private let number: UInt64
  private let shape: CrashShape
  private let history: CrashHistory
  private let store: Store
  private let marker: CrashMarker
  private var random: SeededGenerator
  private let rows: Keyspace
  private let names: Keyspace

  private struct Refused: Error {}

  init(
    _ number: Int, workload: CrashWorkload, _ store: Store, _ marker: CrashMarker, _ random: SeededGenerator
  ) throws {
    self.number = UInt64(number)
    shape = workload.shape
    history = workload.history
    self.store = store
    self.marker = marker
    self.random = random
    rows = try store.keyspace("rows", .dense)
    names = try store.keyspace("names", .bytes)
    let groups = try store.defineIndex(.slices("groups", rows, .value(offset: 0, length: 8)))
    _ = try store.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: groups)))
    _ = try store.defineIndex(
      .slices("serials", rows, .value(offset: 8, length: 8), isUnique: true))
  }

  /// What is held while the store is compacted.
  private var held: Snapshot?

  mutating func step() async throws {
    if shape.compactsOneIn > 0, Int.random(in: 0..<shape.compactsOneIn, using: &random) == 0 {
      if held == nil, Bool.random(using: &random) {
        held = store.snapshot()
      } else {
        held = nil
      }
      try store.compact()
    }
    if shape.trainsOneIn > 0, Int.random(in: 0..<shape.trainsOneIn, using: &random) == 0 {
      try train()
    }
    if shape.mishapOneIn > 0, Int.random(in: 0..<shape.mishapOneIn, using: &random) == 0 {
      try mishap()
    } else {
      try await commit()
    }
    if shape.checkpointOneIn > 0, Int.random(in: 0..<shape.checkpointOneIn, using: &random) == 0 {
      try store.checkpoint()
    }
  }

  /// A dictionary takes a sequence number, and changes nothing that anybody reads.
  private func train() throws {
    let before = store.snapshot().sequence
    guard try store.trainDictionary(for: rows) != nil else { return }
    precondition(store.snapshot().sequence == before + 1, "one writer alone")
  }

  private mutating func commit() async throws {
    var change: CrashHistory.Change = []
    for _ in 0..<Int.random(in: shape.operations, using: &random) { change.append(operation()) }
    // So that every transaction is a commit of its own.
    let stamp = withUnsafeBytes(of: random.next()) { Array($0) }
    change.append((CrashKey(keyspace: "names", key: .bytes([0xFF, UInt8(number)])), stamp))
    let durability = shape.durabilities.randomElement(using: &random) ?? .powerLoss
    let sequence = try await write(change, durability)
    history.note(sequence, change)
    if durability == .powerLoss { marker.acknowledge(Int(sequence)) }
  }

  private func write(_ change: CrashHistory.Change, _ durability: Durability) async throws -> UInt64 {
    let (rows, names) = (rows, names)
    if shape.isAsynchronous {
      return try await store.write(durability: durability) { transaction in
        for (key, value) in change { try transaction.apply(key, value, rows, names) }
      }.sequence
    }
    return try writeSynchronously(change, durability)
  }

  private func writeSynchronously(
    _ change: CrashHistory.Change, _ durability: Durability, requiring precondition: Precondition? = nil
  ) throws -> UInt64 {
    try store.write(durability: durability) { transaction in
      if let precondition { transaction.require(precondition) }
      for (key, value) in change { try transaction.apply(key, value, rows, names) }
    }.sequence
  }

  private mutating func operation() -> (key: CrashKey, value: [UInt8]?) {
    let id = number * 100 + UInt64.random(in: 1...12, using: &random)
    let name = [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: Int(id % 4) + (number > 0 ? 4 : 0))
    switch Int.random(in: 0..<6, using: &random) {
    case 0: return (CrashKey(keyspace: "rows", key: .id(id)), nil)
    case 1: return (CrashKey(keyspace: "names", key: .bytes(name)), nil)
    case 2: return (CrashKey(keyspace: "names", key: .bytes(name)), value(group: 0))
    default: return (CrashKey(keyspace: "rows", key: .id(id)), value(group: UInt8(id % 3)))
    }
  }

  /// A group, a serial number that no other value has, and bytes.
  private mutating func value(group: UInt8) -> [UInt8] {
    let isBlob = shape.blobOneIn > 0 && Int.random(in: 0..<shape.blobOneIn, using: &random) == 0
    let length =
      isBlob
      ? max(1100, shape.valueLengthMax + 100) : Int.random(in: 0...shape.valueLengthMax, using: &random)
    let serial = withUnsafeBytes(of: random.next()) { Array($0) }
    return [0, 0, 0, 0, 0, 0, 0, group] + serial
      + [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: length)
  }

  /// Something that must leave no trace, or none but in the catalog.
  private mutating func mishap() throws {
    let id = CrashKey(keyspace: "rows", key: .id(number * 100 + 50))
    let twin = CrashKey(keyspace: "rows", key: .id(number * 100 + 51))
    let value = value(group: 1)
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      try expectConflict {
        try writeSynchronously([(id, value)], .powerLoss, requiring: .exists(rows, .id(9_999)))
      }
    case 1:
      try expectConflict { try writeSynchronously([(id, value), (twin, value)], .relaxed) }
    case 2:
      let blob = [UInt8](repeating: 7, count: 1 << 14)
      do {
        _ = try store.write { transaction in
          try transaction.apply(id, blob, rows, names)
          throw Refused()
        }
      } catch is Refused {}
    case 3:
      let count = try store.keyspaces.count
      if count < 30 { _ = try store.keyspace("more \(number) \(count)", .bytes) }
    case 4:
      let offset = Int.random(in: 0...7, using: &random)
      _ = try store.defineIndex(.slices("by byte", rows, .value(offset: offset, length: 1)))
    default:
      _ = try store.write(durability: .powerLoss) { try $0.remove(id: 9_999, in: rows) }
    }
  }

  private func expectConflict(_ body: () throws -> UInt64) throws {
    do {
      let sequence = try body()
      throw Violation("commit \(sequence) should have been refused")
    } catch let error as StoreError where error.code == .conflict {}
  }
}

extension WriteTransaction {
  fileprivate mutating func apply(
    _ key: CrashKey, _ value: [UInt8]?, _ rows: Keyspace, _ names: Keyspace
  ) throws {
    switch (key.key, value) {
    case (.id(let id), let value?): try put(value, id: id, in: rows)
    case (.id(let id), nil): try remove(id: id, in: rows)
    case (.bytes(let name), let value?): try put(value, key: name, in: names)
    case (.bytes(let name), nil): try remove(key: name, in: names)
    }
  }
}

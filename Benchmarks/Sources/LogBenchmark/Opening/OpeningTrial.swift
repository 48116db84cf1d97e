import CLogFloor
import Foundation
import PerdureLog

/// Measures openings of an empty store and of a full store. The full store is changed between the
/// measurements.
struct OpeningTrial {
  private let shape: Shape
  private let command: OpeningCommand
  private let pool: ValuePool
  private let folder: URL

  init(shape: Shape, command: OpeningCommand) {
    self.shape = shape
    self.command = command
    pool = ValuePool(valueLength: shape.valueLength)
    let base = command.folder.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
    folder = base.appendingPathComponent("perdure-opening-\(ProcessInfo.processInfo.processIdentifier)")
  }

  func run() throws -> [OpeningFigure] {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (empty, full) = (folder.path + "/empty", folder.path + "/full")
    try Store(at: empty, options: Self.manual).close()
    try fill(full)
    let rounds = command.rounds
    let emptyTime = try openings(empty, rounds)
    let fullTime = try openings(full, rounds)
    try change(full) { try update(command.records / 10, $0, $1, seed: 1) }
    let tailTime = try openings(full, rounds)
    try removeIndex(full)
    let rebuildTime = try openings(full, 3)
    return [
      time("opening an empty store", emptyTime, rounds),
      time("opening from a checkpoint", fullTime, rounds),
      time("opening from a checkpoint: the part for the index file", max(fullTime - emptyTime, 0), rounds),
      time("opening with a tenth of the records after the checkpoint", tailTime, rounds),
      time("opening without the index file, from the log", rebuildTime, 3),
      time("a checkpoint after \(command.updates) updates", try checkpoints(full), 3),
    ] + (command.manyUpdates > 0 ? try updateMany(full) : [])
  }

  private func time(_ what: String, _ nanoseconds: Double, _ rounds: Int) -> OpeningFigure {
    OpeningFigure(
      shape: shape.rawValue, records: command.records, what: what, value: nanoseconds / 1e6, isTime: true,
      rounds: rounds)
  }

  /// Options with checkpoints and compactions only on request.
  private static var manual: StoreOptions {
    var options = StoreOptions()
    options.checkpoints = .manual
    options.compactsAutomatically = false
    return options
  }

  // MARK: Filling

  private func change(
    _ path: String, _ options: StoreOptions = manual, _ body: (Store, Keyspace) throws -> Void
  ) throws {
    let store = try Store(at: path, options: options)
    try body(store, try store.keyspace("records", shape.keyKind == .dense ? .dense : .bytes))
    try store.close()
  }

  private func fill(_ path: String) throws {
    try change(path) { store, keyspace in
      try write(Scramble.permutation(of: command.records, seed: 5), store, keyspace)
      try store.checkpoint()
    }
  }

  private func update(_ count: Int, _ store: Store, _ keyspace: Keyspace, seed: UInt64) throws {
    var generator = Scramble(seed: seed)
    let ordinals = (0..<count).map { _ in UInt32(Int.random(in: 0..<command.records, using: &generator)) }
    try write(ordinals, store, keyspace)
  }

  private func write(_ ordinals: [UInt32], _ store: Store, _ keyspace: Keyspace) throws {
    for start in stride(from: 0, to: ordinals.count, by: 1000) {
      try store.write(durability: .processCrash) { transaction in
        for place in start..<min(start + 1000, ordinals.count) {
          let key = shape.key(Int(ordinals[place]))
          let bytes = UnsafeRawBufferPointer(start: pool.value(UInt64(place)), count: shape.valueLength)
          if shape.keyKind == .dense {
            try transaction.put(Array(bytes), id: key.first, in: keyspace)
          } else {
            try transaction.put(Array(bytes), key: withUnsafeBytes(of: key) { Array($0) }, in: keyspace)
          }
        }
      }
    }
  }

  // MARK: Measuring

  /// The median cost in nanoseconds. The first opening is not counted, because it loads the files
  /// into the cache.
  private func openings(_ path: String, _ rounds: Int) throws -> Double {
    let all = try (0...rounds).map { _ in
      var opened: Store?
      let cost = try Cost.of { opened = try Store(at: path, options: Self.manual) }
      try opened?.close()
      return Double(cost.cpuNanoseconds)
    }
    return median(all.dropFirst()) ?? 0
  }

  private func removeIndex(_ path: String) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: path) where name.hasSuffix(".index") {
      try FileManager.default.removeItem(atPath: path + "/" + name)
    }
  }

  private func checkpoints(_ path: String) throws -> Double {
    var found: [Double] = []
    try change(path) { store, keyspace in
      try store.checkpoint()
      for seed: UInt64 in 2..<5 {
        try update(command.updates, store, keyspace, seed: seed)
        found.append(Double(try Cost.of { try store.checkpoint() }.cpuNanoseconds))
      }
    }
    return median(found) ?? 0
  }

  /// Updates many records, while the store compacts and writes checkpoints in the background.
  private func updateMany(_ path: String) throws -> [OpeningFigure] {
    var figures: [OpeningFigure] = []
    try change(path, StoreOptions()) { store, keyspace in
      let begin = try store.statistics
      try update(command.manyUpdates, store, keyspace, seed: 9)
      let end = try store.statistics
      func rise(_ count: KeyPath<StoreStatistics, UInt64>) -> Double {
        Double(end[keyPath: count] - begin[keyPath: count])
      }
      let given = rise(\.recordBytesSinceOpen)
      let indexed = rise(\.logBytesSinceOpen) + rise(\.indexBytesWrittenSinceOpen)
      let counts = [
        ("checkpoints", Double(end.checkpointsSinceOpen - begin.checkpointsSinceOpen)),
        ("bytes to log and index file for each byte of records", indexed / given),
        ("bytes that compaction writes for each byte of records", rise(\.compactionBytesSinceOpen) / given),
      ]
      figures = counts.map { what, value in
        OpeningFigure(
          shape: shape.rawValue, records: command.records,
          what: "\(command.manyUpdates) uniform updates: \(what)", value: value, isTime: false, rounds: 1)
      }
    }
    return figures
  }
}

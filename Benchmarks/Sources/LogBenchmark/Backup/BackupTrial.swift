import Foundation
import PerdureLog

/// Measures commits to one store, in phases without and phases with backups at the same time.
struct BackupTrial: Sendable {
  private let recordCount: Int
  private let seconds: Double
  private let rounds: Int
  private let writerCounts: [Int]
  private let folder: URL
  private let pool = ValuePool(valueLength: Self.valueLength)
  private static let valueLength = 1024

  init(command: BackupCommand) {
    (recordCount, seconds, rounds) = (command.records, command.seconds, command.rounds)
    writerCounts = command.writers
    let base = command.folder.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
    folder = base.appendingPathComponent("perdure-backup-\(ProcessInfo.processInfo.processIdentifier)")
  }

  func run() throws -> [BackupFigure] {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try Store(at: folder.path + "/store")
    let records = try store.keyspace("records", .dense)
    try fill(store, records)
    let figures = try [("not durable", Durability.processCrash), ("durable", .powerLoss)].flatMap {
      try phases($0.0, $0.1, in: records, of: store)
    }
    try store.close()
    return figures
  }

  private func fill(_ store: Store, _ records: Keyspace) throws {
    for start in stride(from: 0, to: recordCount, by: 1000) {
      try store.write(durability: .processCrash) { transaction in
        for id in start..<min(start + 1000, recordCount) {
          try transaction.put(value(UInt64(id)), id: UInt64(id), in: records)
        }
      }
    }
  }

  private func value(_ number: UInt64) -> [UInt8] {
    Array(UnsafeRawBufferPointer(start: pool.value(number), count: Self.valueLength))
  }

  // MARK: Phases

  /// The measurements of one phase.
  private struct Phase {
    var latencies = Histogram()
    var backups = 0
    /// The bytes that completed and cancelled backups copied.
    var backupBytes: UInt64 = 0
  }

  private struct Setting: Hashable {
    var writers: Int
    var isBeside: Bool
  }

  private func phases(
    _ name: String, _ durability: Durability, in records: Keyspace, of store: Store
  ) throws -> [BackupFigure] {
    let settings = writerCounts.flatMap { writers in
      [false, true].map { Setting(writers: writers, isBeside: $0) }
    }
    var phases: [Setting: [Phase]] = [:]
    for round in 0..<rounds {
      for (number, setting) in settings.enumerated() {
        let seed = UInt64(round * settings.count + number)
        phases[setting, default: []].append(
          try phase(durability, setting, seed: seed, in: records, of: store))
      }
    }
    return settings.map { figure(name, $0, phases[$0] ?? []) }
  }

  private func figure(_ name: String, _ setting: Setting, _ phases: [Phase]) -> BackupFigure {
    func percentile(_ fraction: Double) -> Double {
      median(phases.map { Double($0.latencies.percentile(fraction)) }) ?? 0
    }
    return BackupFigure(
      commit: name, writers: setting.writers, isBesideBackup: setting.isBeside,
      commits: phases.reduce(0) { $0 + $1.latencies.count },
      backups: phases.reduce(0) { $0 + $1.backups }, backupBytes: phases.reduce(0) { $0 + $1.backupBytes },
      p50: percentile(0.5), p99: percentile(0.99),
      p999: percentile(0.999), rounds: phases.count)
  }

  /// Overwrites single records for the duration of a phase.
  private func phase(
    _ durability: Durability, _ setting: Setting, seed: UInt64, in records: Keyspace, of store: Store
  ) throws -> Phase {
    let found = Shared(Phase())
    let isOver = Shared(false)
    let end = Date(timeIntervalSinceNow: seconds)
    // The last thread makes the backups.
    try Threads.run(setting.writers + (setting.isBeside ? 1 : 0)) { number in
      if number == setting.writers { return try makeBackups(of: store, until: isOver, found) }
      defer { isOver.withLock { $0 = true } }
      var generator = Scramble(seed: seed << 8 | UInt64(number))
      var recorder = LatencyRecorder()
      while Date() < end {
        let id = UInt64.random(in: 0..<UInt64(recordCount), using: &generator)
        let value = value(generator.next())
        recorder.skip {}
        try store.write(durability: durability) { try $0.put(value, id: id, in: records) }
        recorder.lap()
      }
      found.withLock { $0.latencies.merge(recorder.histogram) }
    }
    return found.withLock { $0 }
  }

  /// Makes one backup after another until the phase is over. The end of the phase cancels a running
  /// backup.
  private func makeBackups(of store: Store, until isOver: Shared<Bool>, _ found: Shared<Phase>) throws {
    struct Over: Error {}
    let target = folder.path + "/backup"
    do {
      while !isOver.withLock({ $0 }) {
        var bytesDone: UInt64 = 0
        defer { found.withLock { $0.backupBytes += bytesDone } }
        try store.backup(to: target) { progress in
          bytesDone = progress.bytesDone
          if isOver.withLock({ $0 }) { throw Over() }
        }
        found.withLock { $0.backups += 1 }
        try FileManager.default.removeItem(atPath: target)
      }
    } catch is Over {}
  }
}

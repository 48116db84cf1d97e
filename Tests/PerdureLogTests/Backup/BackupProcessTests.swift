import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Each commit puts its number in one of fifty rows, and in the row `newest`.
private enum NumberedCommits {
  static let newest: UInt64 = 1000

  static func options(isReadOnly: Bool = false) -> StoreOptions {
    var options = StoreOptions()
    options.segmentCapacityBytes = 16 << 10
    options.blobThresholdBytes = 1024
    options.reserveBytes = 0
    options.durability = .processCrash
    options.isReadOnly = isReadOnly
    return options
  }

  /// The value of a commit. Every tenth value is long enough for a blob file.
  static func value(_ number: UInt64) -> [UInt8] {
    let word = withUnsafeBytes(of: number.littleEndian) { Array($0) }
    return word + [UInt8](repeating: UInt8(number % 251), count: number % 10 == 0 ? 2000 : 100)
  }

  /// Commits, compacts and writes checkpoints until the file `end` exists. Then kills its own
  /// process.
  static func write(_ path: String, until end: String) throws {
    let store = try Store(at: path, options: options())
    let rows = try store.keyspace("rows", .dense)
    var number: UInt64 = 0
    while (try? POSIXFileSystem().kind(of: end)) != .file {
      number += 1
      try store.write { transaction in
        try transaction.put(value(number), id: number % 50, in: rows)
        try transaction.put(value(number), id: newest, in: rows)
      }
      if number % 200 == 0 { try store.compact() }
      if number % 300 == 0 { try store.checkpoint() }
    }
    ForkedChild.endBySignal()
  }

  /// Checks that the store has all commits up to some commit, and no later commits.
  ///
  /// - Returns: The number of the last commit in the store.
  static func checkIsPrefix(_ path: String) throws -> UInt64 {
    let store = try Store(at: path, options: options(isReadOnly: true))
    defer { try? store.close() }
    guard try store.verify().isClean else { throw Violation("\(path) is damaged") }
    guard let rows = try? store.keyspace("rows", .dense) else { return 0 }
    let snapshot = store.snapshot()
    guard let bytes = try snapshot.value(id: newest, in: rows) else { return 0 }
    let last = bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    for id in 0..<50 as Range<UInt64> {
      let number = last >= id ? last - (last - id) % 50 : 0
      let expected = number == 0 ? nil : value(number)
      guard try snapshot.value(id: id, in: rows) == expected else {
        throw Violation("\(path): row \(id) is not that of commit \(number), of \(last)")
      }
    }
    return last
  }
}

@Suite("Backups while another process writes")
struct BackupProcessTests {
  @Test("Each backup has a prefix of the writer's commits, even after a kill of the writer")
  func besideAnotherProcess() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [path = directory.file("s.perdure") as String] in
      #expect(throws: Never.self) {
        let end = path + ".end"
        let writer = try ForkedChild(seconds: 900) {
          do { try NumberedCommits.write(path, until: end) } catch { return "\(error)" }
          return "not killed"
        }
        var lasts: [UInt64] = []
        while lasts.count < 20 {
          let options = NumberedCommits.options(isReadOnly: true)
          guard let store = try? Store(at: path, options: options), store.snapshot().sequence > 10 else {
            ForkedChild.waitAMillisecond()
            continue
          }
          let target = "\(path).backup\(lasts.count)"
          var backup = BackupOptions()
          backup.bytesPerSecond = nil
          try store.backup(
            to: target, since: lasts.isEmpty ? nil : "\(path).backup\(lasts.count - 1)", options: backup)
          try store.close()
          lasts.append(try NumberedCommits.checkIsPrefix(target))
        }
        _ = try POSIXFileSystem().open(end, .create)
        let outcome = writer.wait()
        guard outcome.signal != 0, outcome.words.isEmpty else { throw Violation("\(outcome)") }
        guard lasts == lasts.sorted(), lasts[0] < lasts[19] else { throw Violation("\(lasts)") }
        let first = try NumberedCommits.checkIsPrefix("\(path).backup0")
        guard first == lasts[0] else { throw Violation("the first backup has changed") }
        try Store.restore(from: "\(path).backup19", to: "\(path).restored")
        let restored = try NumberedCommits.checkIsPrefix("\(path).restored")
        guard restored == lasts[19] else { throw Violation("restored: \(restored)") }
      }
    }
  }
}

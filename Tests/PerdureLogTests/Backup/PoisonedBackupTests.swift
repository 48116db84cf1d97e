import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Backups after a failed commit")
struct PoisonedBackupTests {
  private static let value = [UInt8](repeating: 7, count: 700)

  private func isPoisoned(_ store: Store) throws -> Bool {
    do { try store.write { _ in } } catch let error as StoreError {
      return error.code == .poisoned
    }
    return false
  }

  /// Makes a commit that needs two segments, then a backup. Call `nth` of the commit fails, if the
  /// commit makes that many calls.
  ///
  /// - Returns: Whether the call failed, and whether a poisoned store made a backup.
  private func run(_ nth: Int, _ code: FileIOError.Code) throws -> (hasFailed: Bool, isPoisoned: Bool) {
    let disk = SimulatedFileSystem()
    var options = BackedUpStore.options(disk, segmentCapacityBytes: 4096)
    options.checkpoints = .manual
    options.compactsAutomatically = false
    let store = try Store(at: "/store", options: options)
    let rows = try store.keyspace("rows", .dense)
    try store.write(durability: .powerLoss) { try $0.put(Self.value, id: 1, in: rows) }
    disk.inject(InjectedFailure(of: nil, nth: nth, code: code))
    do {
      try store.write(durability: .powerLoss) { transaction in
        for id in 2...7 as ClosedRange<UInt64> { try transaction.put(Self.value, id: id, in: rows) }
      }
    } catch is StoreError {}
    disk.removeInjectedFailures()
    let isPoisoned = try isPoisoned(store)
    do { try store.backup(to: "/backup", options: BackedUpStore.unpaced) } catch let error as StoreError {
      #expect(error.code == .poisoned, "call \(nth): \(error)")
      return (disk.injectedFailureCount > 0, false)
    }
    options.createsIfMissing = false
    let place: Comment = "call \(nth), \(code)"
    let backup = try Store(at: "/backup", options: options)
    let count = backup.snapshot().count(in: try backup.keyspace("rows", .dense))
    #expect(count == store.snapshot().count(in: rows), place)
    #expect(count == 1 || count == 7, place)
    #expect(try backup.verify().findings.map(\.description) == [], place)
    return (disk.injectedFailureCount > 0, isPoisoned)
  }

  @Test(
    "A backup after a failed commit has only whole commits, even if the store is poisoned",
    arguments: [FileIOError.Code.mediaError, .noSpace])
  func everyCall(code: FileIOError.Code) throws {
    var (nth, poisoned) = (1, 0)
    while true {
      let (hasFailed, isPoisoned) = try run(nth, code)
      if isPoisoned { poisoned += 1 }
      if !hasFailed { break }
      nth += 1
    }
    #expect(nth > 5)
    #expect(poisoned > 0)
  }
}

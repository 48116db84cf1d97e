import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Incremental backups by processes that are killed. Each process is killed at a different piece.
private struct KilledBackups {
  private let disk = POSIXFileSystem()
  private let options = BackedUpStore.options(POSIXFileSystem())
  private let path: String
  private let subject: BackedUpStore
  private let earlier: [String: [UInt8]]

  /// Makes a store and a first backup, and commits more.
  init(in path: String) throws {
    self.path = path
    subject = try BackedUpStore(at: path + "/store", options)
    for number in 1...120 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.backup(to: path + "/first", options: BackedUpStore.unpaced)
    for number in 121...140 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.close()
    earlier = try disk.files(in: path + "/first")
  }

  /// Makes a backup, and kills this process at the given call of the progress handler.
  ///
  /// - Returns: The text of the outcome, if the backup has fewer pieces and the process is not
  ///   killed.
  private func backUp(untilPiece last: Int) -> String {
    do {
      let store = try Store(at: path + "/store", options: options)
      var count = 0
      try store.backup(
        to: path + "/second", since: path + "/first", options: BackedUpStore.unpaced
      ) { _ in
        count += 1
        if count == last { ForkedChild.endBySignal() }
      }
      return "whole"
    } catch {
      return "\(error)"
    }
  }

  /// Kills a backup at every piece, and makes the next backup after each kill.
  ///
  /// - Returns: The number of killed processes.
  func run() throws -> Int {
    var kills = 0
    while true {
      let outcome = try ForkedChild.run { backUp(untilPiece: kills + 1) }
      if outcome == .init(words: "whole", signal: 0) { return kills }
      guard outcome.signal != 0, !outcome.hasHung, outcome.words.isEmpty else {
        throw Violation("\(outcome)")
      }
      kills += 1
      guard try disk.kind(of: path + "/second") == nil, try disk.kind(of: path + "/second.copy") == .directory
      else { throw Violation("the backup that was killed at piece \(kills) is complete or left nothing") }
      try checkNextBackup(after: kills)
    }
  }

  private func checkNextBackup(after kills: Int) throws {
    let store = try Store(at: path + "/store", options: options)
    let report = try store.backup(
      to: path + "/second", since: path + "/first", options: BackedUpStore.unpaced)
    try store.close()
    guard report.bytesShared > 0 else { throw Violation("nothing was shared after kill \(kills)") }
    guard try disk.files(in: path + "/first") == earlier else {
      throw Violation("the earlier backup has changed after kill \(kills)")
    }
    try subject.check(path + "/second", options, report)
    for name in try disk.contents(of: path + "/second") { try disk.remove(path + "/second/" + name) }
    try disk.remove(path + "/second")
  }
}

@Suite("Incremental backups by a killed process")
struct KilledBackupTests {
  @Test(
    "After a kill at any piece of an incremental backup, the earlier backup is intact and the next one succeeds"
  )
  func everyPiece() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      #expect(throws: Never.self) {
        let kills = try KilledBackups(in: path).run()
        print("\(kills) backups killed")
        guard kills > 5 else { throw Violation("only \(kills) pieces") }
      }
    }
  }
}

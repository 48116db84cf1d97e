import ChildProcesses
import Foundation
import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Testing

/// Runs the program itself, because `-` means its standard streams.
@Suite("perdure backup and perdure restore through standard streams")
struct BackupPipeTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let rows: Keyspace

  init() throws {
    directory = try TemporaryDirectory()
    var options = StoreOptions()
    options.segmentCapacityBytes = 64 << 10
    options.blobThresholdBytes = 32 << 10
    store = try Store(at: directory.file("store"), options: options)
    rows = try store.keyspace("rows", .dense)
    for id in 1...300 as ClosedRange<UInt64> {
      try store.write(durability: .relaxed) { try $0.put(Self.value(id), id: id, in: rows) }
    }
  }

  /// All byte values. The long value is in a separate file.
  private static func value(_ id: UInt64) -> [UInt8] {
    (0..<(id == 7 ? 300_000 : 400)).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ Int(id)) }
  }

  /// Runs a shell command line in the test's directory, in which `perdure` is the built program.
  private func run(_ line: String) throws -> ChildRun {
    let tests = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent()
    return try ChildRun(
      URL(fileURLWithPath: "/bin/sh"),
      [
        "-c", "cd \"$0\" && programs=$1 && perdure() { \"$programs/perdure\" \"$@\"; } && \(line)",
        directory.file("."), tests.path,
      ])
  }

  private func expectRestored(_ name: String) throws {
    let restored = try Store(at: directory.file(name))
    defer { #expect(throws: Never.self) { try restored.close() } }
    #expect(try restored.verify().isClean)
    #expect(restored.identifier == store.identifier)
    let snapshot = restored.snapshot()
    #expect(snapshot.count(in: rows) == 300)
    for id in [1, 7, 300] as [UInt64] { #expect(try snapshot.value(id: id, in: rows) == Self.value(id)) }
  }

  @Test(
    "A backup on standard output is restored from standard input; the backup's report is on standard error")
  func file() throws {
    let backup = try run("perdure backup store - > stream")
    #expect(backup.status == 0 && backup.output == "")
    #expect(
      backup.errors.contains("segments and 1 long value backed up, up to commit 301: "), "\(backup.errors)")
    let restore = try run("perdure restore - restored < stream")
    // A slow restore shows its progress.
    let errors = restore.errors.split(separator: "\n").filter { !$0.hasPrefix("restoring: ") }
    #expect(restore.status == 0 && errors.isEmpty, "\(restore.errors)")
    #expect(restore.output.contains("segments and 1 long value restored, up to commit 301: "))
    try expectRestored("restored")
  }

  @Test("A backup is restored through a pipe, and both reports are JSON")
  func pipe() throws {
    let run = try run("perdure backup store - --json | perdure restore - restored --json")
    #expect(run.status == 0)
    let reports = [("backup", run.errors, "store", "-"), ("restore", run.output, "-", "restored")]
    for (name, text, path, target) in reports {
      let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
      #expect(
        object?["path"] as? String == path && object?["target"] as? String == target, "\(name): \(text)")
      #expect(object?["sequence"] as? Int == 301 && object?["values"] as? Int == 1, "\(name): \(text)")
    }
    try expectRestored("restored")
  }

  @Test("A truncated stream is refused with exit code 2, and no store is created")
  func cutOff() throws {
    let run = try run("perdure backup store - | head -c 200000 | perdure restore - restored")
    #expect(run.status == 2 && !run.wasKilled)
    #expect(run.errors.contains("The backup is damaged"), "\(run.errors)")
    #expect(try POSIXFileSystem().contents(of: directory.file("")).sorted() == ["store"])
  }

  @Test("A backup fails if the reader of the standard output stops early")
  func stopped() throws {
    let run = try run("{ perdure backup store - ; echo \"exit $?\" >&2 ; } | head -c 10 > part")
    #expect(run.errors.contains("exit ") && !run.errors.contains("exit 0"), "\(run.errors)")
  }
}

import ArgumentParser
import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Testing

@testable import PerdureCommands

@Suite("perdure backup and perdure restore")
struct BackupCommandTests {
  private let directory: TemporaryDirectory
  private let store: Store
  private let rows: Keyspace

  init() throws {
    directory = try TemporaryDirectory()
    var options = StoreOptions()
    options.segmentCapacityBytes = 16 << 10
    store = try Store(at: directory.file("store"), options: options)
    rows = try store.keyspace("rows", .dense)
    try fill(1...200)
  }

  private func fill(_ ids: ClosedRange<UInt64>) throws {
    for id in ids {
      try store.write(durability: .relaxed) {
        try $0.put([UInt8](repeating: 7, count: 300), id: id, in: rows)
      }
    }
  }

  private func count(_ name: String) throws -> Int {
    let copy = try Store(at: directory.file(name))
    defer { try? copy.close() }
    #expect(try copy.verify().isClean)
    return Int(copy.snapshot().count(in: try copy.keyspace("rows", .dense)))
  }

  @Test("Full and incremental backups of a store that is open for writing are restored")
  func folders() throws {
    let first = try Outcome("backup", directory.file("store"), directory.file("first"))
    #expect(
      first.code == .success && first.lines.last?.contains("segments backed up, up to commit 201") == true)
    try fill(201...220)
    let second = try Outcome(
      "backup", directory.file("store"), directory.file("second"), "--since", directory.file("first"),
      "--json")
    #expect(second.code == .success)
    #expect(second.lines.first?.contains("\"bytesShared\":0") == false)
    for (name, expected) in [("first", 200), ("second", 220)] {
      let restored = try Outcome("restore", directory.file(name), directory.file(name + " restored"))
      #expect(restored.code == .success)
      #expect(try count(name + " restored") == expected)
    }
  }

  @Test("A file with a backup stream is restored, and a truncated file restores nothing")
  func stream() throws {
    var bytes: [UInt8] = []
    try store.backup { part in part.withUnsafeBytes { bytes += $0 } }
    let file = try POSIXFileSystem().open(directory.file("stream"), .create)
    try file.write(bytes, at: 0)
    #expect(try Outcome("restore", directory.file("stream"), directory.file("restored")).code == .success)
    #expect(try count("restored") == 200)
    let short = try POSIXFileSystem().open(directory.file("short"), .create)
    try short.write(Array(bytes.dropLast()), at: 0)
    let refused = try Outcome("restore", directory.file("short"), directory.file("nothing"), "--json")
    #expect(refused.code == .failed && refused.errors.contains("The backup is damaged"))
    #expect(try POSIXFileSystem().kind(of: directory.file("nothing")) == nil)
  }

  @Test("An empty target path is rejected before anything is written")
  func empty() throws {
    for command in ["backup", "restore"] {
      let outcome = try Outcome(command, directory.file("store"), "")
      #expect(outcome.code == .failed && outcome.errors.contains("path of the new store is empty"))
    }
    #expect(try POSIXFileSystem().contents(of: directory.file("")) == ["store"])
  }

  @Test("An existing target, a missing store and a stream with --since are rejected")
  func refused() throws {
    #expect(try Outcome("backup", directory.file("store"), directory.file("store")).code == .failed)
    #expect(try Outcome("backup", directory.file("nowhere"), directory.file("first")).code == .failed)
    #expect(try Outcome("restore", directory.file("nowhere"), directory.file("first")).code == .failed)
    #expect(throws: (any Error).self) {
      try Outcome("backup", directory.file("store"), "-", "--since", directory.file("first"))
    }
  }
}

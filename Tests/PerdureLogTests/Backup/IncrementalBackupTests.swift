import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Incremental backups")
struct IncrementalBackupTests {
  private let unpaced = BackedUpStore.unpaced

  private func length(of folder: String) throws -> UInt64 {
    try POSIXFileSystem().files(in: folder).values.reduce(0) { $0 + UInt64($1.count) }
  }

  @Test("An incremental backup writes only new files, and both backups are complete")
  func onlyNew() throws {
    let directory = try TemporaryDirectory()
    let disk = CountingFolder(POSIXFileSystem())
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(at: directory.file("store"), options)
    for number in 1...1000 as ClosedRange<UInt64> { try subject.commit(number) }
    let full = try subject.store.backup(to: directory.file("first"), options: unpaced)
    #expect(full.bytesShared == 0 && full.bytesCopied == disk.written(to: "/first.copy/"))
    for number in 1001...1050 as ClosedRange<UInt64> { try subject.commit(number) }
    let next = try subject.store.backup(
      to: directory.file("second"), since: directory.file("first"), options: unpaced)
    let written = disk.written(to: "/second.copy/")
    #expect(next.bytesCopied == written)
    let inSecond = try length(of: directory.file("second")) - lockLength(directory)
    #expect(next.bytesShared + next.bytesCopied == inSecond)
    // The backup writes the segments with the fifty commits, a few long values and the superblock.
    #expect(written < 80_000 && next.bytesShared > 3 * written)
    #expect(try subject.check(directory.file("first"), options, full) == full.sequence)
    #expect(try subject.check(directory.file("second"), options, next) == next.sequence)
    try disk.removeTree(directory.file("first"))
    try subject.check(directory.file("second"), options, next)
  }

  @Test("Two backups without a commit between them share exactly the closed segments and the blob files")
  func sharedFiles() throws {
    let directory = try TemporaryDirectory()
    let disk = POSIXFileSystem()
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(at: directory.file("store"), options)
    for number in 1...400 as ClosedRange<UInt64> { try subject.commit(number, of: number % 4) }
    try subject.store.checkpoint()
    func linkCounts(_ folder: String) throws -> [String: Int] {
      let names = try disk.contents(of: directory.file(folder))
      return try Dictionary(
        uniqueKeysWithValues: names.map { name in
          let file = try disk.open(directory.file(folder) + "/" + name, .read)
          defer { try? file.close() }
          return (name, try file.linkCount())
        })
    }
    try subject.store.backup(to: directory.file("first"), options: unpaced)
    #expect(try linkCounts("first").values.allSatisfy { $0 == 1 })
    let report = try subject.store.backup(
      to: directory.file("second"), since: directory.file("first"), options: unpaced)
    let newest = try #require(
      disk.contents(of: directory.file("second")).filter { $0.hasSuffix(".segment") }.max())
    for folder in ["first", "second"] {
      let counts = try linkCounts(folder)
      #expect(counts["SUPERBLOCK"] == 1 && counts[newest] == 1, "\(folder)")
      let closed = counts.filter { $0.key.hasSuffix(".segment") && $0.key != newest }
      let blobs = counts.filter { $0.key.hasSuffix(".blob") }
      #expect(closed.count > 3 && closed.values.allSatisfy { $0 == 2 }, "\(folder): \(counts)")
      #expect(blobs.count == 4 && blobs.values.allSatisfy { $0 == 2 }, "\(folder): \(counts)")
      let others = counts.filter { closed[$0.key] == nil && blobs[$0.key] == nil }
      #expect(others.values.allSatisfy { $0 == 1 }, "\(folder): \(others)")
    }
    // The store shares no file with its backups.
    #expect(try linkCounts("store").values.allSatisfy { $0 == 1 })
    try subject.check(directory.file("second"), options, report)
  }

  private func lockLength(_ directory: TemporaryDirectory) throws -> UInt64 {
    let file = try POSIXFileSystem().open(directory.file("second") + "/LOCK", .read)
    return try file.size()
  }

  @Test(
    "An incremental backup copies segments that were rewritten after the earlier backup, and omits removed values"
  )
  func compactedSince() throws {
    let directory = try TemporaryDirectory()
    let disk = POSIXFileSystem()
    var options = BackedUpStore.options(disk)
    options.compactsAutomatically = false
    let subject = try BackedUpStore(at: directory.file("store"), options)
    for number in 1...400 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.backup(to: directory.file("0"), options: unpaced)
    for round in 1...6 {
      for number in 1...60 as ClosedRange<UInt64> { try subject.commit(UInt64(round) * 1000 + number) }
      if round % 2 == 0 { try subject.store.compact() }
      let report = try subject.store.backup(
        to: directory.file("\(round)"), since: directory.file("\(round - 1)"), options: unpaced)
      try subject.check(directory.file("\(round)"), options, report)
      if round % 2 == 1 { #expect(report.bytesShared > 0) }
    }
    for round in 0...6 { try subject.check(directory.file("\(round)"), options) }
  }

  @Test("An incremental backup copies segments and blob files that the earlier backup lacks")
  func lostInEarlier() throws {
    let directory = try TemporaryDirectory()
    let disk = POSIXFileSystem()
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(at: directory.file("store"), options)
    for number in 1...400 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.backup(to: directory.file("first"), options: unpaced)
    let names = try disk.contents(of: directory.file("first"))
    let blob = try #require(names.first { $0.hasSuffix(".blob") })
    let segment = try #require(names.first { $0.hasSuffix(".segment") })
    try disk.remove(directory.file("first/" + blob))
    try disk.remove(directory.file("first/" + segment))
    let report = try subject.store.backup(
      to: directory.file("second"), since: directory.file("first"), options: unpaced)
    #expect(report.bytesShared > 0)
    try subject.check(directory.file("second"), options, report)
  }

  @Test("A blob file that is truncated in the earlier backup is copied, not shared")
  func cutShort() throws {
    let directory = try TemporaryDirectory()
    let disk = POSIXFileSystem()
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(at: directory.file("store"), options)
    for number in 1...100 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.backup(to: directory.file("first"), options: unpaced)
    for name in try disk.contents(of: directory.file("first")) where name.hasSuffix(".blob") {
      let path = directory.file("first/" + name)
      let file = try disk.open(path, .read)
      let bytes = try file.read(Int(file.size()) - 1, at: 0)
      try file.close()
      try disk.remove(path)
      let shorter = try disk.open(path, .create)
      try shorter.write(bytes, at: 0)
      try shorter.close()
    }
    let report = try subject.store.backup(
      to: directory.file("second"), since: directory.file("first"), options: unpaced)
    try subject.check(directory.file("second"), options, report)
  }

  @Test(
    "Files of another history are not shared after an older copy replaced the store's folder",
    arguments: [3, 7])
  func rolledBack(changed: UInt64) throws {
    let directory = try TemporaryDirectory()
    let disk = POSIXFileSystem()
    var options = BackedUpStore.options(disk)
    options.blobThresholdBytes = 4096
    let path = directory.file("store")
    // Rows have the same lengths in both histories, so the offsets are the same. Only the row
    // `changed` differs. Row 3 is in a segment, and row 7 is in a blob file.
    func write(_ first: UInt8) throws {
      let store = try Store(at: path, options: options)
      let rows = try store.keyspace("rows", .dense)
      for id in 1...600 as ClosedRange<UInt64> {
        let length = id % 40 == 7 ? 5000 : 60
        try store.write {
          try $0.put([id == changed ? first : 0] + .init(repeating: 1, count: length), id: id, in: rows)
        }
      }
      try store.close()
    }
    let begun = try Store(at: path, options: options)
    _ = try begun.keyspace("rows", .dense)
    try begun.close()
    let saved = try disk.files(in: path)
    try write(1)
    let first = try Store(at: path, options: options)
    try first.backup(to: directory.file("first"), options: unpaced)
    try first.close()
    try disk.removeTree(path)
    try disk.createDirectory(path)
    for (name, bytes) in saved {
      let file = try disk.open(path + "/" + name, .create)
      try file.write(bytes, at: 0)
      try file.close()
    }
    try write(2)
    let store = try Store(at: path, options: options)
    let report = try store.backup(
      to: directory.file("second"), since: directory.file("first"), options: unpaced)
    #expect(report.bytesShared > 0)
    let backup = try Store(at: directory.file("second"), options: options)
    let rows = try backup.keyspace("rows", .dense)
    for id in 1...600 as ClosedRange<UInt64> {
      let value = try backup.snapshot().value(id: id, in: rows)
      #expect(value == (try store.snapshot().value(id: id, in: store.keyspace("rows", .dense))), "\(id)")
    }
    try backup.close()
    try store.close()
  }

  @Test("A segment that is damaged in the earlier backup is copied, not shared")
  func damagedInEarlier() throws {
    let directory = try TemporaryDirectory()
    let disk = POSIXFileSystem()
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(at: directory.file("store"), options)
    for number in 1...400 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.backup(to: directory.file("first"), options: unpaced)
    for name in try disk.contents(of: directory.file("first")) where name.hasSuffix(".segment") {
      let file = try disk.open(directory.file("first/" + name), .readWrite)
      let place = try file.size() / 2
      try file.write([try file.read(1, at: place)[0] ^ 1], at: place)
      try file.close()
    }
    let report = try subject.store.backup(
      to: directory.file("second"), since: directory.file("first"), options: unpaced)
    try subject.check(directory.file("second"), options, report)
  }

  @Test("An incremental backup copies files if the file system has no hard links")
  func withoutLinks() throws {
    let disk = LinklessFileSystem()
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(options)
    for number in 1...200 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.backup(to: "/first", options: unpaced)
    let report = try subject.store.backup(to: "/second", since: "/first", options: unpaced)
    #expect(report.bytesShared == 0)
    try subject.check("/second", options, report)
  }

  @Test("An incremental backup rejects an earlier backup that is foreign, newer, changed or missing")
  func refused() throws {
    let disk = InMemoryFileSystem()
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(options)
    for number in 1...100 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.backup(to: "/first", options: unpaced)
    try Store(at: "/stranger", options: options).backup(to: "/strange", options: unpaced)
    try Store.restore(from: "/first", to: "/branch", options: options)
    let branch = try Store(at: "/branch", options: options)
    try branch.backup(to: "/of branch", options: unpaced)
    try Store.restore(from: "/first", to: "/written", options: options)
    try Store(at: "/written", options: options).close()
    for (store, earlier) in [
      (subject.store, "/strange"), (subject.store, "/of branch"), (branch, "/first"),
      (subject.store, "/written"),
    ] {
      let error = #expect(throws: StoreError.self, "\(earlier)") {
        try store.backup(to: "/next", since: earlier, options: unpaced)
      }
      #expect(error?.code == .invalidArgument, "\(earlier)")
    }
    // Makes an older state of the same branch. A restore cannot make it, because it begins a new
    // branch.
    try disk.removeTree("/of branch")
    for number in 101...200 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.backup(to: "/newer", options: unpaced)
    let first = try SuperblockFile.open(in: disk.openDirectory("/first"), .readWrite)
    try first.replace { $0.branch = StoreBranch() }
    let old = try Store(at: "/first", options: options)
    let error = #expect(throws: StoreError.self) {
      try old.backup(to: "/next", since: "/newer", options: unpaced)
    }
    #expect(error?.code == .invalidArgument && error?.message.contains("newer") == true)
    let absent = #expect(throws: StoreError.self) {
      try subject.store.backup(to: "/next", since: "/nowhere", options: unpaced)
    }
    #expect(absent?.code == .notAStore)
    #expect(try disk.kind(of: "/next") == nil && disk.kind(of: "/next.copy") == nil)
  }

  @Test(
    "After a kill at any progress report, the earlier backup is unchanged and a new backup succeeds"
  )
  func killed() throws {
    let disk = SimulatedFileSystem()
    var options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(options)
    for number in 1...120 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.sync()
    try subject.store.backup(to: "/first", options: unpaced)
    let before = try disk.files(in: "/first")
    for number in 121...140 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.sync()
    struct Killed: Error {}
    var calls = 0
    try subject.store.backup(to: "/whole", since: "/first", options: unpaced) { _ in calls += 1 }
    try disk.removeTree("/whole")
    for last in 1...calls {
      // The image has the files that another process finds after a kill.
      var image = disk.currentImage
      var count = 0
      #expect(throws: Killed.self) {
        try subject.store.backup(to: "/second", since: "/first", options: unpaced) { _ in
          count += 1
          guard count == last else { return }
          image = disk.currentImage
          throw Killed()
        }
      }
      let left = SimulatedFileSystem(image)
      options.fileSystem = left
      #expect(try left.kind(of: "/second") == nil && left.kind(of: "/second.copy") == .directory)
      #expect(try left.files(in: "/first") == before)
      let store = try Store(at: "/store", options: options)
      let report = try store.backup(to: "/second", since: "/first", options: unpaced)
      #expect(report.bytesShared > 0)
      #expect(try left.files(in: "/first") == before)
      try subject.check("/second", options, report)
      try store.close()
    }
  }
}

/// A file system without hard links.
private final class LinklessFileSystem: ForwardingFileSystem {
  let behind: any FileSystem = InMemoryFileSystem()

  func link(_ source: String, to name: String) throws(FileIOError) {
    throw FileIOError(.notSupported, operation: .link, path: name)
  }
}

import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Backups of a running store")
struct BackupTests {
  private let unpaced = BackedUpStore.unpaced

  private func threads(_ count: UInt64, _ body: @escaping @Sendable (UInt64) -> Void) -> () -> Void {
    let lock = Lock()
    let condition = Condition()
    let left = Guarded(Int(count))
    for number in 0..<count {
      PlatformThread.start(name: "writer") {
        body(number)
        left.withLock { $0 -= 1 }
        lock.withLock { condition.broadcast() }
      }
    }
    return { lock.withLock { while left.withLock({ $0 > 0 }) { condition.wait(lock) } } }
  }

  /// Runs `body` while four threads commit. Each thread may make 100 commits. Each call of `goOn`
  /// allows 40 more.
  private func whileWriting(
    _ subject: BackedUpStore, _ body: (_ goOn: () -> Void) throws -> Void
  ) throws {
    let isDone = Guarded(false)
    let allowed = Guarded<UInt64>(100)
    let errors = Guarded<[any Error]>([])
    let wait = threads(4) { writer in
      var number: UInt64 = 0
      do {
        while !isDone.withLock({ $0 }) {
          guard number < allowed.withLock({ $0 }) else {
            pause()
            continue
          }
          number += 1
          try subject.commit(number, of: writer)
        }
      } catch { errors.withLock { $0.append(error) } }
    }
    defer {
      isDone.withLock { $0 = true }
      wait()
      #expect(errors.withLock { $0 }.isEmpty)
    }
    try body { allowed.withLock { $0 += 40 } }
  }

  @Test("A backup during the commits of four writers passes verification and has a prefix of the commits")
  func besideWriters() throws {
    let disk = InMemoryFileSystem()
    var options = BackedUpStore.options(disk)
    options.compactionGarbageRatio = 0.05
    let subject = try BackedUpStore(options)
    var last: UInt64 = 0
    try whileWriting(subject) { goOn in
      for round in 0..<LongRun.count(100) {
        goOn()
        let before = subject.store.snapshot().sequence
        let report = try subject.store.backup(to: "/backup", options: unpaced)
        #expect(report.sequence >= before && report.sequence >= last)
        last = try subject.check("/backup", options, report)
        try disk.removeTree("/backup")
        if round % 20 == 19 { try subject.store.compact() }
      }
    }
    #expect(try subject.store.verify().isClean)
    #expect(try disk.contents(of: "/") == ["store"])
  }

  @Test("A backup during compaction of groups, packed values and blob files has one commit's state")
  func compacting() throws {
    let disk = InMemoryFileSystem()
    var options = BackedUpStore.options(disk)
    options.compression.mode = .dictionary
    options.compression.groupsColdRecords = true
    options.compression.groupLengthTarget = 2000
    let subject = try BackedUpStore(options)
    for number in 1...400 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.compact()
    let isDone = Guarded(false)
    let compactions = Guarded(0)
    let wait = threads(1) { _ in
      while !isDone.withLock({ $0 }) {
        do {
          try subject.store.compact()
          compactions.withLock { $0 += 1 }
        } catch { Issue.record(error) }
      }
    }
    for number in 401...500 as ClosedRange<UInt64> {
      try subject.commit(number)
      guard number % 5 == 0 else { continue }
      // Each call waits a limited time for the next compaction to end.
      let report = try subject.store.backup(to: "/backup", options: unpaced) { _ in
        let before = compactions.withLock { $0 }
        for _ in 0..<1000 where compactions.withLock({ $0 }) == before { pause() }
      }
      try subject.check("/backup", options, report)
      try disk.removeTree("/backup")
    }
    isDone.withLock { $0 = true }
    wait()
    #expect(compactions.withLock { $0 } > 2)
  }

  private func pause() {
    let lock = Lock()
    let condition = Condition()
    let end = Clock.nowNanoseconds() + 100_000
    lock.withLock { while condition.wait(lock, untilNanoseconds: end) {} }
  }

  @Test("A backup is complete, even if segments are compacted and values are removed while it runs")
  func replacedMeanwhile() throws {
    let disk = InMemoryFileSystem()
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(options)
    for number in 1...300 as ClosedRange<UInt64> { try subject.commit(number) }
    var number: UInt64 = 300
    let report = try subject.store.backup(to: "/backup", options: unpaced) { _ in
      number += 1
      // Replaces long values of the backed-up state. Their files are removed unless the backup
      // retains them.
      try subject.commit(number * 25 + 24)
      try subject.store.compact()
    }
    #expect(number > 305)
    #expect(try subject.check("/backup", options, report) == report.sequence)
    #expect(try subject.store.verify().isClean)
  }

  @Test("A backup rejects a target that is a store, and replaces an unfinished backup's draft")
  func taken() throws {
    let disk = InMemoryFileSystem()
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(options)
    for number in 1...20 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.backup(to: "/backup", options: unpaced)
    let error = #expect(throws: StoreError.self) { try subject.store.backup(to: "/backup", options: unpaced) }
    #expect(error?.code == .invalidArgument)
    try disk.createDirectory("/other.copy")
    _ = try disk.open("/other.copy/COPY.tmp", .create)
    _ = try disk.open("/other.copy/0000000000000001.segment", .create)
    try subject.store.backup(to: "/other", options: unpaced)
    try subject.check("/other", options)
    #expect(try disk.contents(of: "/") == ["backup", "other", "store"])
  }

  @Test("The progress handler and the task can cancel a backup, and no files remain")
  func givenUp() async throws {
    struct Enough: Error {}
    let disk = InMemoryFileSystem()
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(options)
    for number in 1...200 as ClosedRange<UInt64> { try subject.commit(number) }
    var done: [BackupProgress] = []
    #expect(throws: Enough.self) {
      try subject.store.backup(to: "/backup", options: unpaced) { progress in
        done.append(progress)
        if done.count == 3 { throw Enough() }
      }
    }
    #expect(done.count == 3 && done.allSatisfy { $0.bytesDone <= $0.bytesTotal })
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try subject.store.backup(to: "/backup", options: BackedUpStore.unpaced)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try disk.contents(of: "/") == ["store"])
    try subject.commit(201)
    try subject.store.backup(to: "/backup", options: unpaced) { done.append($0) }
    #expect(done.last?.bytesDone == done.last?.bytesTotal)
  }

  @Test("A backup or restore to the path of an interrupted replacement is rejected, and the store remains")
  func interruptedReplacement() throws {
    let disk = InMemoryFileSystem()
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(options)
    for number in 1...20 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.backup(to: "/backup", options: unpaced)
    let calls: [(String) throws -> Void] = [
      { try subject.store.backup(to: $0, options: BackedUpStore.unpaced) },
      { try Store.restore(from: "/backup", to: $0, options: options) },
      { target in try Store.restore(to: target, options: options, read: { _ in [] }) },
    ]
    for (number, call) in calls.enumerated() {
      // Only the draft exists: the old store was removed, and the draft was not yet renamed.
      let other = try Store(at: "/\(number).copy", options: options)
      let rows = try other.keyspace("others", .dense)
      try other.write { try $0.put([7], id: 7, in: rows) }
      try other.close()
      try disk.markAsReplacement("/\(number).copy")
      let error = #expect(throws: StoreError.self, "call \(number)") { try call("/\(number)") }
      #expect(error?.code == .invalidArgument, "call \(number)")
      let completed = try Store(at: "/\(number)", options: options)
      #expect(try completed.snapshot().value(id: 7, in: completed.keyspace("others", .dense)) == [7])
      try completed.close()
    }
  }

  @Test("Restoring requires the blob files of live values, and no files of dead values")
  func lostValue() throws {
    let disk = InMemoryFileSystem()
    let options = BackedUpStore.options(disk)
    let store = try Store(at: "/store", options: options)
    let rows = try store.keyspace("rows", .dense)
    let long = [UInt8](repeating: 9, count: options.blobThresholdBytes + 1)
    try store.write { try $0.put(long, id: 1, in: rows) }
    try store.write { try $0.put([1], id: 1, in: rows) }
    try store.write { try $0.put(long, id: 2, in: rows) }
    try store.close()
    let again = try Store(at: "/store", options: options)
    try again.backup(to: "/backup", options: unpaced)
    try again.close()
    // The backup lacks the file of the replaced value.
    try Store.restore(from: "/backup", to: "/whole", options: options)
    let whole = try Store(at: "/whole", options: options)
    #expect(try whole.snapshot().value(id: 2, in: whole.keyspace("rows", .dense)) == long)
    try whole.close()
    let files = try disk.contents(of: "/backup").filter { $0.hasSuffix(".blob") }
    try #require(files.count == 1)
    try disk.remove("/backup/" + files[0])
    let error = #expect(throws: StoreError.self) {
      try Store.restore(from: "/backup", to: "/lost", options: options)
    }
    #expect(error?.code == .corruption && error?.place == files[0])
    #expect(try !disk.contents(of: "/").contains("lost"))
  }

  @Test("A backup of an empty store can be opened and passes verification")
  func empty() throws {
    let disk = InMemoryFileSystem()
    let options = BackedUpStore.options(disk)
    let store = try Store(at: "/store", options: options)
    #expect(try store.backup(to: "/backup", options: unpaced).sequence == 0)
    let backup = try Store(at: "/backup", options: options)
    #expect(backup.identifier == store.identifier)
    #expect(try backup.verify().isClean)
    try backup.close()
  }

  @Test("A backup detects damage in a segment, its header or a value, and names the file")
  func damage() throws {
    for (ending, offset) in [(".segment", 400), (".segment", 20), (".blob", 1000)] as [(String, UInt64)] {
      let disk = InMemoryFileSystem()
      let options = BackedUpStore.options(disk)
      let subject = try BackedUpStore(options)
      for number in 1...200 as ClosedRange<UInt64> { try subject.commit(number) }
      let name = try #require(disk.contents(of: "/store").last { $0.hasSuffix(ending) })
      let file = try disk.open("/store/" + name, .readWrite)
      let byte = try file.read(1, at: offset)[0]
      try file.write([byte ^ 1], at: offset)
      let error = #expect(throws: StoreError.self) {
        try subject.store.backup(to: "/backup", options: unpaced)
      }
      #expect(error?.code == .corruption && error?.place?.hasPrefix(name) == true, "\(ending) \(offset)")
      #expect(try disk.contents(of: "/") == ["store"])
      try file.write([byte], at: offset)
      try subject.store.backup(to: "/backup", options: unpaced)
      try subject.check("/backup", options)
    }
  }

  @Test("A backup on a full disk fails without leaving files, and the store stays usable")
  func fullDisk() throws {
    let disk = SimulatedFileSystem(capacityBytes: 400_000)
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(options)
    for number in 1...900 as ClosedRange<UInt64> { try subject.commit(number) }
    try #require(disk.freeBytes < 200_000)
    let before = disk.freeBytes
    let error = #expect(throws: StoreError.self) { try subject.store.backup(to: "/backup", options: unpaced) }
    #expect(error?.code == .diskFull)
    #expect(try disk.contents(of: "/") == ["store"])
    #expect(disk.freeBytes == before)
    for number in 901...950 as ClosedRange<UInt64> { try subject.commit(number) }
    #expect(try subject.store.verify().isClean)
    #expect(try subject.content(of: subject.store) == subject.content())
  }

  @Test("While a writer commits, a backup of a read-only store has the read-only store's state")
  func readOnly() throws {
    let disk = InMemoryFileSystem()
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(options)
    for number in 1...150 as ClosedRange<UInt64> { try subject.commit(number) }
    var reading = options
    reading.isReadOnly = true
    let reader = try Store(at: "/store", options: reading)
    try whileWriting(subject) { goOn in
      for _ in 0..<10 {
        goOn()
        try reader.refresh()
        let report = try reader.backup(to: "/backup", options: unpaced) { _ in
          try subject.store.compact()
        }
        #expect(report.sequence == reader.snapshot().sequence)
        try subject.check("/backup", options, report)
        try disk.removeTree("/backup")
      }
    }
    try reader.close()
  }

  @Test("When a restored backup is written, it becomes a separate branch, and the original does not change")
  func sideBySide() throws {
    let disk = InMemoryFileSystem()
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(options)
    for number in 1...150 as ClosedRange<UInt64> { try subject.commit(number) }
    let report = try subject.store.backup(to: "/backup", options: unpaced)
    try Store.restore(from: "/backup", to: "/restored", options: options)
    let restored = try Store(at: "/restored", options: options)
    let rows = try restored.keyspace("rows", .dense)
    let before = try disk.files(in: "/backup")
    for number in 151...300 as ClosedRange<UInt64> {
      try subject.commit(number)
      try restored.write { try $0.put([UInt8](repeating: 9, count: 200), id: 5000 + number, in: rows) }
      if number % 50 == 0 {
        try subject.store.compact()
        try restored.compact()
      }
    }
    var expected = subject.content(at: report.sequence)
    for number in 151...300 as ClosedRange<UInt64> {
      expected[5000 + number] = [UInt8](repeating: 9, count: 200)
    }
    #expect(try subject.content(of: restored) == expected)
    #expect(try subject.content(of: subject.store) == subject.content())
    #expect(try restored.verify().isClean && subject.store.verify().isClean)
    #expect(try disk.files(in: "/backup") == before)
    try restored.close()
    let branches = try ["/store", "/backup", "/restored"].map {
      try SuperblockFile.open(in: disk.openDirectory($0), .read).current.branch
    }
    #expect(branches[0] == StoreBranch())
    #expect(branches[1] == StoreBranch(isUnopenedCopy: true))
    #expect(branches[2].high != 0 && !branches[2].isUnopenedCopy)
    // Reopening keeps the branch id. A program without this feature must not write to the store.
    let superblock = try SuperblockFile.open(in: disk.openDirectory("/restored"), .read).current
    try Store(at: "/restored", options: options).close()
    #expect(
      try SuperblockFile.open(in: disk.openDirectory("/restored"), .read).current.branch == superblock.branch)
    #expect(superblock.readOnlyCompatibleFeatures == FormatVersion.branches)
  }

  @Test("A copy of a closed store has the mark of an unopened copy until a writer opens it")
  func copies() throws {
    let disk = InMemoryFileSystem()
    let options = BackedUpStore.options(disk)
    let subject = try BackedUpStore(options)
    for number in 1...50 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.close()
    try Store.copy(at: "/store", to: "/copy", options: options)
    #expect(try SuperblockFile.open(in: disk.openDirectory("/copy"), .read).current.branch.isUnopenedCopy)
    try subject.check("/copy", options)
    #expect(try SuperblockFile.open(in: disk.openDirectory("/copy"), .read).current.branch.isUnopenedCopy)
    try Store(at: "/copy", options: options).close()
    #expect(try !SuperblockFile.open(in: disk.openDirectory("/copy"), .read).current.branch.isUnopenedCopy)
  }
}

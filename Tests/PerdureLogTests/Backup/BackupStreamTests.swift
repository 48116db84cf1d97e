import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Backup streams")
struct BackupStreamTests {
  private let disk = InMemoryFileSystem()
  private var options: StoreOptions { BackedUpStore.options(disk) }

  private func stream(of store: Store) throws -> (bytes: [UInt8], report: BackupReport) {
    var bytes: [UInt8] = []
    let report = try store.backup(options: BackedUpStore.unpaced) { part in
      part.withUnsafeBytes { bytes += $0 }
    }
    return (bytes, report)
  }

  private func restore(_ bytes: [UInt8], pieces: Int = .max, to path: String = "/restored") throws
    -> BackupReport
  {
    var rest = bytes[...]
    return try Store.restore(to: path, options: options) { count in
      let part = Array(rest.prefix(min(count, pieces)))
      rest = rest.dropFirst(part.count)
      return part
    }
  }

  @Test("Restoring a stream in pieces of any size gives the backed-up state")
  func roundTrip() throws {
    let subject = try BackedUpStore(options)
    for number in 1...300 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.compact()
    for number in 301...330 as ClosedRange<UInt64> { try subject.commit(number) }
    let (bytes, report) = try stream(of: subject.store)
    for pieces in [1000, 77_777, Int.max] {
      #expect(try restore(bytes, pieces: pieces) == report)
      try subject.check("/restored", options, report)
      #expect(
        try SuperblockFile.open(in: disk.openDirectory("/restored"), .read).current.branch.isUnopenedCopy)
      try disk.removeTree("/restored")
    }
    try subject.store.backup(to: "/folder", options: BackedUpStore.unpaced)
    _ = try restore(bytes)
    let isContent: (String) -> Bool = { !["LOCK", "READERS"].contains($0) }
    #expect(
      try disk.files(in: "/folder").filter { isContent($0.key) }
        == disk.files(in: "/restored").filter { isContent($0.key) })
  }

  @Test("A truncated, changed or extended stream is rejected and restores nothing")
  func damaged() throws {
    let subject = try BackedUpStore(options)
    for number in 1...30 as ClosedRange<UInt64> { try subject.commit(number) }
    let (bytes, _) = try stream(of: subject.store)
    var random = SeededGenerator.forTest("damaged backup streams")
    func refuses(_ bytes: [UInt8], _ what: String) throws {
      let error = #expect(throws: StoreError.self, "\(what)") { _ = try restore(bytes) }
      #expect(error?.code == .corruption || error?.code == .unsupportedFormat, "\(what)")
      #expect(try disk.contents(of: "/") == ["store"], "\(what)")
    }
    try refuses(bytes + [0], "a byte more")
    try refuses(bytes + bytes, "twice")
    for _ in 0..<60 {
      let end = Int.random(in: 0..<bytes.count, using: &random)
      try refuses(Array(bytes[..<end]), "cut at \(end)")
      var changed = bytes
      let place = Int.random(in: 0..<bytes.count, using: &random)
      changed[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      try refuses(changed, "changed at \(place)")
    }
  }

  @Test("Missing, repeated or exchanged chunks are detected")
  func chunks() throws {
    let subject = try BackedUpStore(options)
    for number in 1...200 as ClosedRange<UInt64> { try subject.commit(number) }
    let (bytes, _) = try stream(of: subject.store)
    var chunks: [[UInt8]] = []
    var place = BackupStreamHeader.length
    while place < bytes.count {
      let length = try bytes[place...].withUnsafeBytes { try BackupChunk.payloadLength(in: $0) }
      chunks.append(Array(bytes[place..<(place + BackupChunk.length + length)]))
      place += BackupChunk.length + length
    }
    try #require(chunks.count > 8)
    let head = Array(bytes[..<BackupStreamHeader.length])
    for number in 0..<(chunks.count - 1) {
      var (missing, doubled, exchanged) = (chunks, chunks, chunks)
      missing.remove(at: number)
      doubled.insert(chunks[number], at: number)
      exchanged.swapAt(number, number + 1)
      for wrong in [missing, doubled, exchanged] {
        let error = #expect(throws: StoreError.self) { _ = try restore(head + wrong.joined()) }
        #expect(error?.code == .corruption)
      }
    }
    #expect(try disk.contents(of: "/") == ["store"])
  }

  @Test("Errors of the stream closures are rethrown, and no files remain")
  func thrown() throws {
    struct Broken: Error {}
    let subject = try BackedUpStore(options)
    for number in 1...100 as ClosedRange<UInt64> { try subject.commit(number) }
    #expect(throws: Broken.self) {
      try subject.store.backup(options: BackedUpStore.unpaced) { _ in throw Broken() }
    }
    let (bytes, _) = try stream(of: subject.store)
    var calls = 0
    var rest = bytes[...]
    #expect(throws: Broken.self) {
      try Store.restore(to: "/restored", options: options) { count in
        calls += 1
        if calls > 6 { throw Broken() }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
      }
    }
    #expect(try disk.contents(of: "/") == ["store"])
  }
}

@Suite("The speed of a backup")
struct BackupPaceTests {
  private let second: UInt64 = 1_000_000_000

  @Test("The speed limit applies during commits and ends soon after the last commit")
  func busy() {
    var pace = BackupPace(bytesPerSecond: 1 << 20, activity: 0, now: 0)
    #expect(pace.pass(1 << 20, activity: 0, now: 5) == 5)
    #expect(pace.pass(1 << 20, activity: 1, now: 10) == second + 10)
    #expect(pace.pass(1 << 20, activity: 2, now: second) == 2 * second + 10)
    #expect(
      pace.pass(1 << 20, activity: 2, now: second + BackupPace.busyNanoseconds) == second
        + BackupPace.busyNanoseconds)
  }

  @Test("The speed limit applies if the backup has no information about commits")
  func unseen() {
    var pace = BackupPace(bytesPerSecond: 1 << 20, activity: nil, now: 0)
    for piece in 1...9 as ClosedRange<UInt64> {
      #expect(pace.pass(1 << 20, activity: nil, now: (piece - 1) * second) == piece * second)
    }
  }

  @Test("A backup without a speed limit never waits, and limits below 64 KiB/s are rejected")
  func unlimited() throws {
    var pace = BackupPace(bytesPerSecond: nil, activity: 0, now: 0)
    #expect(pace.pass(1 << 30, activity: 7, now: 3) == 3)
    var options = BackupOptions()
    for limit in [nil, 64 << 10, .max] as [Int?] {
      options.bytesPerSecond = limit
      try options.validate()
    }
    for limit in [(64 << 10) - 1, 1000, 0, -1] {
      options.bytesPerSecond = limit
      let error = #expect(throws: StoreError.self, "\(limit)") { try options.validate() }
      #expect(error?.code == .invalidArgument)
    }
  }
}

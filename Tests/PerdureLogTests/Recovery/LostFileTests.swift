import PerdureFileIO
import PerdureFormat
import Testing

@testable import PerdureLog

@Suite("Damaged or missing files of a store")
struct LostFileTests {
  @Test(
    "A store without its newest segments is refused, even if compaction wrote the newest remaining one")
  func newestSegments() throws {
    let fileSystem = InMemoryFileSystem()
    var options = HandmadeLog.options(fileSystem)
    options.createsIfMissing = true
    options.segmentCapacityBytes = 4096
    let store = try Store(at: HandmadeLog.path, options: options)
    let rows = try store.keyspace("rows", .dense)
    for round in 0..<120 as Range<UInt64> {
      try store.write { try $0.put([UInt8](repeating: 1, count: 100), id: round % 40, in: rows) }
    }
    try store.compact()
    for id in 200..<240 as Range<UInt64> {
      try store.write { try $0.put([UInt8](repeating: 2, count: 100), id: id, in: rows) }
    }
    try store.close()
    let names = try fileSystem.contents(of: HandmadeLog.path).filter { $0.hasSuffix(".segment") }.sorted()
    #expect(names.count > 3)
    for name in names.reversed() {
      try fileSystem.remove(HandmadeLog.path + "/" + name)
      for isReadOnly in [true, false] {
        options.isReadOnly = isReadOnly
        let error = #expect(throws: StoreError.self) { try Store(at: HandmadeLog.path, options: options) }
        #expect(error?.code == .corruption, "without \(name): \(String(describing: error))")
      }
    }
  }

  @Test("If the file of a value is damaged, reading the value in pieces throws an error that names the file")
  func pieces() throws {
    let fileSystem = InMemoryFileSystem()
    var options = HandmadeLog.options(fileSystem)
    options.createsIfMissing = true
    options.blobThresholdBytes = 1024
    let store = try Store(at: HandmadeLog.path, options: options)
    let rows = try store.keyspace("rows", .dense)
    // A value of this length has padding before the checksums.
    let value = [UInt8](repeating: 5, count: BlobHeader.chunkLength + 1001)
    try store.write { try $0.put(value, id: 1, in: rows) }
    try store.write { try $0.put([UInt8](repeating: 6, count: value.count), id: 2, in: rows) }
    let names = try fileSystem.contents(of: HandmadeLog.path).filter { $0.hasSuffix(".blob") }.sorted()
    try #require(names.count == 2)
    let path = HandmadeLog.path + "/" + names[0]
    let whole = try fileSystem.open(path, .read).read(1 << 20, at: 0)
    let other = try fileSystem.open(HandmadeLog.path + "/" + names[1], .read).read(1 << 20, at: 0)
    func read() throws {
      let reader = try #require(try store.snapshot().reader(id: 1, in: rows))
      var found: [UInt8] = []
      try reader.forEachPiece {
        found += $0.withUnsafeBytes { Array($0) }
        return true
      }
      #expect(found == value)
    }
    func reading(_ bytes: [UInt8]) throws -> StoreError? {
      try fileSystem.remove(path)
      try fileSystem.open(path, .create).write(bytes, at: 0)
      do { try read() } catch let error as StoreError { return error }
      return nil
    }
    #expect(try reading(whole)?.code == nil)
    var damaged: [([UInt8], Int?)] = []
    for cut in [1, 5, 4096] { damaged.append((Array(whole.dropLast(cut)), nil)) }
    damaged.append((other, 16))
    for place in [0, 20, 100, BlobHeader.length + 7, BlobHeader.length + value.count, whole.count - 1] {
      var bytes = whole
      bytes[place] ^= 0x10
      damaged.append((bytes, nil))
    }
    for (bytes, place) in damaged {
      let error = try reading(bytes)
      #expect(
        error?.code == .corruption && error?.place?.contains(names[0]) == true, "\(String(describing: error))"
      )
      if let place { #expect(error?.place?.hasSuffix(" \(place)") == true, "\(String(describing: error))") }
    }
    #expect(try reading(whole)?.code == nil)
  }
}

@Suite("Another store at the path of a store")
struct ReplacedStoreTests {
  @Test("A reader's refresh throws, and its earlier state stays readable")
  func refresh() throws {
    let log = try HandmadeLog()
    let reader = try log.open(readOnly: true)
    // Another store with more commits.
    let other = try HandmadeLog()
    let writer = try other.open()
    try writer.write { try $0.put([9], id: 1, in: other.rows) }
    for (name, bytes) in try other.fileSystem.files(in: HandmadeLog.path) where name != "LOCK" {
      try log.fileSystem.remove(HandmadeLog.path + "/" + name)
      try log.fileSystem.open(HandmadeLog.path + "/" + name, .create).write(bytes, at: 0)
    }
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) { try reader.refresh() }
      #expect(error?.code == .notAStore)
      #expect(try reader.snapshot().value(id: 1, in: log.rows) == [1, 2, 3])
    }
    try reader.close()
    #expect(try log.open(readOnly: true).snapshot().value(id: 1, in: other.rows) == [9])
  }
}

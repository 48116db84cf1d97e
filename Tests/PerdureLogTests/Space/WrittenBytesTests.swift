import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A file system that counts the bytes written to files, by the endings of their names.
private final class CountingFileSystem: ForwardingFileSystem {
  let behind: any FileSystem
  private let counts = Guarded([String: UInt64]())

  init(_ behind: any FileSystem) { self.behind = behind }

  func count(_ ending: String) -> UInt64 {
    counts.withLock { $0.filter { $0.key.hasSuffix(ending) }.values.reduce(0, +) }
  }

  var all: UInt64 { count("") }

  fileprivate func add(_ byteCount: Int, to path: String) {
    counts.withLock { $0[path, default: 0] += UInt64(byteCount) }
  }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    CountingFile(try behind.open(path, mode), self)
  }
}

private final class CountingFile: ForwardingFile {
  let behind: any File
  private let fileSystem: CountingFileSystem

  init(_ behind: any File, _ fileSystem: CountingFileSystem) {
    self.behind = behind
    self.fileSystem = fileSystem
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    try behind.write(bytes, at: offset)
    fileSystem.add(bytes.count, to: path)
  }
}

@Suite("Counts of written bytes")
struct WrittenBytesTests {
  @Test(
    "Statistics equal the bytes that the file system received, and write amplification includes all of them")
  func counted() throws {
    var memory = try MemoryStore(segmentCapacityBytes: 16 << 10)
    memory.options.checkpoints = .manual
    memory.options.reserveBytes = 0
    memory.options.compression.groupsColdRecords = true
    memory.options.compression.groupLengthTarget = 2000
    try memory.open().close()
    let counting = CountingFileSystem(memory.fileSystem)
    memory.options.fileSystem = counting
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for round in 0..<5 as Range<UInt8> {
      for start in stride(from: 0, to: 200 as UInt64, by: 20) {
        try store.write { transaction in
          for id in start..<(start + 20) where round == 0 || id % 3 > 0 {
            let length = id == 7 ? 70_000 : 90 + Int(id % 50)
            try transaction.put([UInt8](repeating: round, count: length), id: id, in: rows)
          }
        }
      }
      let writer = try store.makeBlobWriter()
      try writer.append([UInt8](repeating: round, count: 5000))
      let blob = try writer.finish()
      try store.write { try $0.put(blob, id: 500, in: rows) }
      try store.checkpoint()
      try store.compact()
    }
    let statistics = try store.statistics
    #expect(statistics.superblockBytesSinceOpen == counting.count("SUPERBLOCK"))
    #expect(statistics.logBytesSinceOpen == counting.count(".segment"))
    #expect(statistics.compactionBytesSinceOpen == counting.count(".segment.tmp"))
    #expect(statistics.indexBytesWrittenSinceOpen == counting.count(".index"))
    #expect(statistics.blobBytesSinceOpen == counting.count(".blob"))
    #expect(statistics.bytesWrittenSinceOpen == counting.all)
    for bytes in [
      statistics.superblockBytesSinceOpen, statistics.logBytesSinceOpen, statistics.blobBytesSinceOpen,
      statistics.compactionBytesSinceOpen, statistics.indexBytesWrittenSinceOpen,
    ] { #expect(bytes > 0) }
    let given = statistics.recordBytesSinceOpen + statistics.blobBytesSinceOpen
    #expect(statistics.writeAmplification == Double(counting.all) / Double(given))
  }
}

import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Synchronization
import Testing

@testable import PerdureLog

@Suite("Samples of groups before a rewrite")
struct GroupSampleTests {
  private static func noise(_ id: UInt64, _ length: Int = 400) -> [UInt8] {
    var random = SeededGenerator(seed: id)
    return (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  @Test("Compaction neither rewrites nor rereads an unchanged cold segment that cannot shrink")
  func noise() throws {
    let counting = CountingFileSystem(behind: InMemoryFileSystem())
    var grouped = try GroupedStore(segmentCapacityBytes: 64 << 10)
    grouped.memory.options.fileSystem = counting
    let store = try grouped.open()
    try GroupedStore.fill(store, 0..<1000, garbageBytes: 0) { Self.noise($0) }
    let first = try store.compact()
    #expect(first.segmentsExamined >= 3 && first.segmentsRewritten == 0)
    #expect(try store.compact().segmentsExamined == 0)
    #expect(counting.rewrittenBytes == 0)
    // Replaces a record of the first segment.
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put(Self.noise(9999), id: 0, in: rows) }
    let changed = try store.compact()
    #expect(changed.segmentsExamined > 0 && counting.rewrittenBytes == Int(changed.bytesAfter))
    try GroupedStore.check(store.snapshot(), store, 1..<1000) { Self.noise($0) }
  }

  @Test("Groups that shrink are written once, and after an opening only the other segments are sampled again")
  func mixed() throws {
    let counting = CountingFileSystem(behind: InMemoryFileSystem())
    var grouped = try GroupedStore(segmentCapacityBytes: 64 << 10)
    grouped.memory.options.fileSystem = counting
    var store = try grouped.open()
    try GroupedStore.fill(store, 0..<600, garbageBytes: 0) { Self.noise($0) }
    try GroupedStore.fill(store, 600..<2000, garbageBytes: 0)
    let report = try store.compact()
    #expect(report.segmentsGrouped > 0 && report.segmentsExamined > report.segmentsGrouped)
    #expect(counting.rewrittenBytes == Int(report.bytesAfter))
    try store.close()
    store = try grouped.open()
    let again = try store.compact()
    #expect(again.segmentsExamined > 0 && again.segmentsRewritten == 0)
    #expect(counting.rewrittenBytes == Int(report.bytesAfter))
  }

  @Test("Sample pieces are in order, do not overlap, and cover a short segment completely")
  func pieces() {
    #expect(GroupSample.pieces(of: 0, 100).isEmpty)
    #expect(GroupSample.pieces(of: 250, 100) == [0..<100, 100..<200, 200..<250])
    for length in stride(from: 1, to: 100_000, by: 997) {
      let pieces = GroupSample.pieces(of: length, 100)
      #expect(pieces.count <= GroupSample.pieceCountMax && pieces.first?.lowerBound == 0)
      #expect(zip(pieces, pieces.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound })
      #expect((pieces.last?.upperBound ?? 0) <= length && pieces.allSatisfy { !$0.isEmpty })
    }
  }

  @Test("The estimated packed size of a sample reflects the repetitions in its bytes")
  func lengths() {
    let noise = Self.noise(7, 60_000)
    let half = noise.prefix(30_000) + [UInt8](repeating: 1, count: 30_000)
    for (bytes, lengths) in [(noise, 60_000...61_000), (Array(half), 30_000...32_000), ([], 0...0)] {
      let sample = bytes.withUnsafeBytes { GroupSample($0, groupLength: 4096) }
      #expect(sample.frameBytes == bytes.count && lengths.contains(sample.storedBytes))
    }
    let sample = (0..<4).flatMap { _ in noise }.withUnsafeBytes { GroupSample($0, groupLength: 4096) }
    #expect(sample.frameBytes == GroupSample.pieceCountMax * 4096)
  }
}

/// A file system that counts the bytes of rewritten segments, which are written to `.segment.tmp`
/// files.
private final class CountingFileSystem: ForwardingFileSystem {
  let behind: any FileSystem
  private let bytes = Atomic<Int>(0)

  init(behind: any FileSystem) { self.behind = behind }

  var rewrittenBytes: Int { bytes.load(ordering: .relaxed) }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    let file = try behind.open(path, mode)
    return path.hasSuffix(".segment.tmp") ? CountingFile(behind: file, self) : file
  }

  private final class CountingFile: ForwardingFile {
    let behind: any File
    private let counter: CountingFileSystem

    init(behind: any File, _ counter: CountingFileSystem) {
      self.behind = behind
      self.counter = counter
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
      counter.bytes.add(bytes.count, ordering: .relaxed)
      try behind.write(bytes, at: offset)
    }
  }
}

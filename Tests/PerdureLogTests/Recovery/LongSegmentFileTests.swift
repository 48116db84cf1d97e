import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Synchronization
import Testing

@testable import PerdureLog

/// FORMAT.md, R8: the file of the newest segment may be longer than the segment's capacity.
@Suite("Files of the newest segment that are much too long")
struct LongSegmentFileTests {
  private static let name = StoreFileName.segment(1).string

  private func options(_ disk: any FileSystem) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = disk
    options.segmentCapacityBytes = 16 << 10
    options.compactsAutomatically = false
    options.checkpoints = .manual
    options.reserveBytes = 0
    return options
  }

  /// A closed store with five rows in one segment.
  private func makeStore(on disk: any FileSystem) throws {
    let store = try Store(at: "/store", options: options(disk))
    let rows = try store.keyspace("rows", .dense)
    for id in 1...5 as ClosedRange<UInt64> { try store.write { try $0.put([7], id: id, in: rows) } }
    try store.close()
  }

  @Test(
    "An opening reads none of the bytes after the capacity, and finds all commits",
    arguments: [0, 0xAB] as [UInt8], [false, true])
  func opening(_ filler: UInt8, isReadOnly: Bool) throws {
    let disk = SimulatedFileSystem()
    try makeStore(on: disk)
    let long = LongFileSystem(disk, name: Self.name, from: 16 << 10, filler)
    var options = options(long)
    options.isReadOnly = isReadOnly
    let reopened = try Store(at: "/store", options: options)
    #expect(try reopened.snapshot().count(in: reopened.keyspace("rows", .dense)) == 5)
    #expect(reopened.recoveryReport.tornTailBytes == 0)
    #expect(try reopened.verify().isClean)
    try reopened.close()
    #expect(long.counter.bytesAfterEnd.load(ordering: .relaxed) == 0)
  }

  @Test(
    "A salvage and a survey read none of the bytes after the capacity, and report no damage",
    arguments: [0, 0xAB] as [UInt8])
  func salvage(_ filler: UInt8) throws {
    let disk = SimulatedFileSystem()
    try makeStore(on: disk)
    let long = LongFileSystem(disk, name: "/store/" + Self.name, from: 16 << 10, filler)
    let survey = try Store.survey(at: "/store", options: options(long))
    #expect(survey.isClean && survey.records == 6, "\(survey)")
    let report = try Store.salvage(from: "/store", to: "/salvaged", options: options(long))
    #expect(report.isClean && report.keys == 5, "\(report)")
    #expect(long.counter.bytesAfterEnd.load(ordering: .relaxed) == 0)
  }
}

private final class Counter: Sendable {
  let bytesAfterEnd = Atomic<Int>(0)
}

/// A file system on which one file has 64 MiB, with equal bytes from an offset on.
private final class LongFileSystem: ForwardingFileSystem {
  let behind: any FileSystem
  let counter = Counter()
  private let name: String
  private let end: UInt64
  private let filler: UInt8

  init(_ behind: any FileSystem, name: String, from end: UInt64, _ filler: UInt8) {
    (self.behind, self.name, self.end, self.filler) = (behind, name, end, filler)
  }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    let file = try behind.open(path, mode)
    return path.hasSuffix(name) ? LongFile(behind: file, end, filler, counter) : file
  }
}

private final class LongFile: ForwardingFile {
  let behind: any File
  private let end: UInt64
  private let filler: UInt8
  private let counter: Counter

  init(behind: any File, _ end: UInt64, _ filler: UInt8, _ counter: Counter) {
    (self.behind, self.end, self.filler, self.counter) = (behind, end, filler, counter)
  }

  func size() throws(FileIOError) -> UInt64 { 64 << 20 }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int {
    let count = Int(min(UInt64(buffer.count), try size() - min(try size(), offset)))
    var done = 0
    if offset < end { done = try behind.read(into: buffer, at: offset) }
    for place in done..<max(done, count) {
      let isAfterEnd = offset + UInt64(place) >= end
      buffer[place] = isAfterEnd ? filler : 0
      if isAfterEnd { counter.bytesAfterEnd.add(1, ordering: .relaxed) }
    }
    return count
  }
}

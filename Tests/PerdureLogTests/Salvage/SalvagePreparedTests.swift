import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// FORMAT.md, B6: a segment that was prepared and never used is not damage.
@Suite("Salvaging a store with a prepared segment")
struct SalvagePreparedTests {
  private let fileSystem = SimulatedFileSystem()
  private let path = SalvagedStore.path

  private var options: StoreOptions { SalvagedStore.options(fileSystem, 4096) }

  private func segment(_ number: UInt64) -> String { path + "/" + StoreFileName.segment(number).string }

  /// Makes ten commits in several segments, and adds a prepared segment of zeros. Returns the
  /// number of the last segment with commits.
  private func fill(preparedByteCount: Int = 128) throws -> UInt64 {
    let store = try Store(at: path, options: options)
    let rows = try store.keyspace("rows", .dense)
    for id in 1...10 as ClosedRange<UInt64> {
      try store.write { try $0.put([UInt8](repeating: UInt8(id), count: 700), id: id, in: rows) }
    }
    let last = try store.engine.readingState { $0.end }.segment
    try store.close()
    let prepared = try fileSystem.open(segment(last + 1), .create)
    try prepared.write([UInt8](repeating: 0, count: preparedByteCount), at: 0)
    return last
  }

  private func salvage() throws -> SalvageReport {
    try Store.salvage(from: path, to: SalvagedStore.target, options: options)
  }

  @Test(
    "A prepared segment is not damage, and no value counts as possibly older because of it",
    arguments: [0, 100, 128, 200_000])
  func prepared(_ byteCount: Int) throws {
    let last = try fill(preparedByteCount: byteCount)
    let report = try salvage()
    #expect(report.isClean && report.keysMaybeOlder == 0)
    #expect(report.segments == Int(last))
    #expect(report.contents == [.init(keyspace: "rows", keys: 10)])
  }

  @Test("A missing last segment before a prepared segment is reported")
  func missingLast() throws {
    let last = try fill()
    try fileSystem.remove(segment(last))
    let report = try salvage()
    #expect(report.damages.map(\.reason) == [.segmentMissing])
    #expect(report.damages.map(\.file) == [StoreFileName.segment(last).string])
  }

  @Test(
    "A prepared segment with a nonzero byte is reported as damaged, and so is a used segment full of zeros")
  func damaged() throws {
    let last = try fill()
    try fileSystem.open(segment(last + 1), .readWrite).write([1], at: 150_000)
    let size = try fileSystem.open(segment(last), .read).size()
    try fileSystem.open(segment(last), .readWrite).write([UInt8](repeating: 0, count: Int(size)), at: 0)
    let headers = try salvage().damages.filter { $0.reason == .segmentHeader }
    #expect(headers.map(\.file) == [last, last + 1].map { StoreFileName.segment($0).string })
  }
}

import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Salvaging values that look like parts of a store")
struct SalvageDeceptionTests {
  private static let segment = SalvagedStore.path + "/" + StoreFileName.segment(1).string

  /// Misleading bytes at the end of a value, which is also the end of the segment's file.
  enum End: CaseIterable {
    case entry, entries, footer, entryAndFooter

    /// The file's length modulo 64. A footer begins at this offset modulo 64.
    var remainder: Int { self == .entryAndFooter ? 24 : 0 }

    func bytes(_ store: StoreID, _ end: Int, _ random: inout SeededGenerator) -> [UInt8] {
      switch self {
      case .entry: Bait.entry(&random) + [UInt8](repeating: 0, count: 64)
      case .entries:
        Bait.entry(&random) + Bait.entry(&random) + Bait.entry(&random) + [UInt8](repeating: 0, count: 64)
      case .footer: Bait.footer(store, number: 1, dataEnd: end - 64, fileEnd: end)
      case .entryAndFooter:
        Bait.entry(&random) + Bait.footer(store, number: 1, dataEnd: 1152, fileEnd: nil)
      }
    }
  }

  /// A store with one segment, whose last value ends with misleading bytes.
  private func image(_ end: End, _ random: inout SeededGenerator) throws -> (CrashImage, [UInt64: [UInt8]]) {
    let fileSystem = SimulatedFileSystem()
    let store = try Store(at: SalvagedStore.path, options: SalvagedStore.options(fileSystem, 1 << 20))
    let rows = try store.keyspace("rows", .dense)
    var values: [UInt64: [UInt8]] = [:]
    for id in 1...5 as ClosedRange<UInt64> {
      values[id] = [UInt8](repeating: UInt8(id), count: 50)
      try store.write { try $0.put(values[id] ?? [], id: id, in: rows) }
    }
    let length = end.bytes(store.engine.storeID, 4096, &random).count
    let start =
      try store.engine.readingState { Int($0.end.offset) } + FrameHeader.length + RecordHeader.length + 8
    let before = (64 + end.remainder - (start + length) % 64) % 64
    let fileEnd = start + before + length
    let bait = end.bytes(store.engine.storeID, fileEnd, &random)
    values[6] = [UInt8](repeating: 6, count: before) + bait
    try store.write { try $0.put(values[6] ?? [], id: 6, in: rows) }
    #expect(try store.engine.readingState { Int($0.end.offset) } == fileEnd)
    var image = fileSystem.currentImage
    image.setBytes(Array((image.bytes(at: Self.segment) ?? [])[..<fileEnd]), at: Self.segment)
    return (image, values)
  }

  private func salvage(_ image: CrashImage) throws -> [UInt64: [UInt8]] {
    let fileSystem = image.fileSystem()
    _ = try Store.salvage(
      from: SalvagedStore.path, to: SalvagedStore.target, options: SalvagedStore.options(fileSystem, 1 << 20))
    let content = try SalvagedStore.content(of: SalvagedStore.target, fileSystem)
    let ids = content.map { place, value in
      (place.key.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }, value)
    }
    return Dictionary(uniqueKeysWithValues: ids)
  }

  @Test(
    "Group entries and footers at the end of a value lose no record",
    arguments: End.allCases)
  func ends(_ end: End) throws {
    var random = SeededGenerator.forTest("deceiving ends \(end)")
    for _ in 0..<8 {
      var (image, values) = try image(end, &random)
      #expect(try salvage(image) == values, "\(end), seed \(random.seed)")
      var bytes = image.bytes(at: Self.segment) ?? []
      for place in 0..<SegmentHeader.length { bytes[place] = 0 }
      image.setBytes(bytes, at: Self.segment)
      #expect(try salvage(image) == values, "\(end) without a header, seed \(random.seed)")
      // A bit of the last frame is damaged, so that no checksum confirms the value.
      bytes[bytes.count - 200] ^= 1
      image.setBytes(bytes, at: Self.segment)
      #expect(try salvage(image).filter { $0.key < 6 } == values.filter { $0.key < 6 }, "\(end), damaged")
      // Only frames identify the store.
      image.setBytes([UInt8](repeating: 0, count: 16_384), at: SalvagedStore.path + "/SUPERBLOCK")
      #expect(try salvage(image).filter { $0.key < 6 } == values.filter { $0.key < 6 }, "\(end), no store")
    }
  }

  @Test("A search in a damaged group table finds all undamaged entries, and no foreign entry")
  func table() throws {
    let lengths = [800, 1600, 320, 2400]
    var entries: [GroupEntry] = []
    for length in lengths {
      let (offset, place) = (entries.last?.end ?? 128, entries.last?.fileEnd ?? 128)
      entries.append(
        GroupEntry(
          offset: offset, unpackedLength: length, fileOffset: place, storedLength: length / 2, checksum: 1))
    }
    func bytes(_ entry: GroupEntry) -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: GroupEntry.length)
      bytes.withUnsafeMutableBytes { entry.write(to: $0) }
      return bytes
    }
    func found(_ table: [[UInt8]], cut: Int = 0) -> [GroupEntry] {
      let file =
        [UInt8](repeating: 0, count: 4096) + table.flatMap { $0 } + [UInt8](repeating: 0, count: 64 - cut)
      return file.withUnsafeBytes { GroupTable.search(in: $0) }
    }
    let table = entries.map(bytes)
    #expect(found(table) == entries)
    for cut in [1, 13, 64] { #expect(found(table, cut: cut) == entries, "file truncated by \(cut) bytes") }
    for index in 0..<3 {
      var damaged = table
      damaged[index][3] ^= 1
      #expect(found(damaged) == entries.enumerated().filter { $0.offset != index }.map(\.element))
      // A valid entry of another table replaces the damaged entry.
      damaged[index] = bytes(
        GroupEntry(offset: 128, unpackedLength: 8, fileOffset: 128, storedLength: 8, checksum: 1))
      let rest = found(damaged)
      #expect(rest == entries.enumerated().filter { $0.offset != index }.map(\.element))
    }
  }
}

import PerdureFormat
import PerdureTestSupport
import Testing

@Suite("Group tables")
struct GroupTableTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  /// Entries of adjacent groups of random lengths, and a file with these entries. All other bytes
  /// of the file are zeros.
  private static func make(_ random: inout SeededGenerator) -> (entries: [GroupEntry], file: [UInt8]) {
    var entries: [GroupEntry] = []
    var (offset, fileOffset) = (SegmentHeader.length, SegmentHeader.length)
    for _ in 0..<Int.random(in: 1...40, using: &random) {
      let length = 8 * Int.random(in: 1...9000, using: &random)
      let entry = GroupEntry(
        offset: offset, unpackedLength: length, fileOffset: fileOffset,
        storedLength: Int.random(in: 1...length, using: &random),
        checksum: UInt32(truncatingIfNeeded: random.next()))
      entries.append(entry)
      (offset, fileOffset) = (entry.end, entry.fileEnd)
    }
    var file = [UInt8](repeating: 0, count: (fileOffset + 63) & ~63)
    for entry in entries { file += encoded(GroupEntry.length) { entry.write(to: $0) } }
    return (entries, file + [UInt8](repeating: 0, count: RewrittenFooter.length))
  }

  private static func withTable(_ entries: [GroupEntry], _ body: (GroupTable) throws -> Void) throws {
    let bytes = entries.flatMap { entry in encoded(GroupEntry.length) { entry.write(to: $0) } }
    try bytes.withUnsafeBytes { try body(GroupTable($0)) }
  }

  @Test("A lookup of an offset finds the last group that begins at or before the offset")
  func index() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<100 {
      let (entries, _) = Self.make(&random)
      let end = try #require(entries.last).end
      try Self.withTable(entries) { table in
        let fileEnd = try table.verifiedEnd(dataEnd: end)
        #expect(fileEnd == entries.last?.fileEnd)
        for _ in 0..<50 {
          let place = Int.random(in: SegmentHeader.length..<end, using: &random)
          let entry = try table.entry(table.index(of: place))
          #expect(entry == entries.last { $0.offset <= place })
        }
        #expect(table.index(of: 0) == 0 && table.index(of: .max) == entries.count - 1)
      }
    }
  }

  @Test("A table with gaps, overlaps, duplicates or a wrong end is refused")
  func order() throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<100 {
      let (entries, _) = Self.make(&random)
      let end = try #require(entries.last).end
      for change in 0..<4 {
        var changed = entries
        let place = Int.random(in: entries.indices, using: &random)
        switch change {
        case 0: changed[place].offset += 8
        case 1: changed[place].fileOffset += 8
        case 2: changed[place].unpackedLength += 8
        default: changed.append(changed[place])
        }
        try Self.withTable(changed) { table in
          #expect(throws: FormatError.self, "\(change)") { try table.verifiedEnd(dataEnd: end) }
        }
      }
      try Self.withTable(entries) { table in
        #expect(throws: FormatError.self) { try table.verifiedEnd(dataEnd: end + 8) }
      }
    }
  }

  @Test("A search in the bytes of a file finds all undamaged entries")
  func search() throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<100 {
      var (entries, file) = Self.make(&random)
      #expect(file.withUnsafeBytes { GroupTable.search(in: $0) } == entries)
      let lost = Int.random(in: entries.indices, using: &random)
      let table = file.count - RewrittenFooter.length - entries.count * GroupEntry.length
      let place = table + lost * GroupEntry.length + Int.random(in: 0..<GroupEntry.length, using: &random)
      file[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      entries.remove(at: lost)
      #expect(file.withUnsafeBytes { GroupTable.search(in: $0) } == entries)
    }
  }

  @Test("A search in random bytes finds no entries")
  func anyBytes() {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let length = Int.random(in: 0...2000, using: &random)
      let file = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
      #expect(file.withUnsafeBytes { GroupTable.search(in: $0) } == [])
    }
  }
}

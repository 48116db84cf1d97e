import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Damaged groups")
struct GroupDamageTests {
  private let seed = SeededGenerator.seedFromEnvironment()
  private let grouped: GroupedStore
  private let ids = 0..<60 as Range<UInt64>
  /// The undamaged bytes of the first segment.
  private let bytes: [UInt8]
  private let entries: [GroupEntry]

  init() throws {
    grouped = try GroupedStore(segmentCapacityBytes: 16 << 10, groupLength: 1024)
    let store = try grouped.open()
    try GroupedStore.fill(store, ids)
    try GroupedStore.group(store)
    try #require(store.groupedSegments().first == 1)
    // With a checkpoint, the opening does not scan the segment.
    try store.checkpoint()
    try store.close()
    bytes = try grouped.bytes(ofSegment: 1)
    entries = bytes.withUnsafeBytes { GroupTable.search(in: $0) }
    #expect(entries.count >= 5)
  }

  private func damage(_ bit: Int) throws {
    try grouped.write([bytes[bit / 8] ^ 1 << UInt8(bit % 8)], at: bit / 8, ofSegment: 1)
  }

  private func mend(_ bit: Int) throws { try grouped.write([bytes[bit / 8]], at: bit / 8, ofSegment: 1) }

  @Test(
    "After a flipped bit, reads and openings give right values or throw"
  )
  func bitFlips() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    var (refused, errors) = (0, 0)
    // Flips a random bit in every fifth byte, and in a long run in every second byte.
    let step = LongRun.count(5, long: 2)
    for byte in stride(from: Int.random(in: 0..<step, using: &random), to: bytes.count, by: step) {
      let bit = 8 * byte + Int.random(in: 0..<8, using: &random)
      try damage(bit)
      do {
        let store = try grouped.open()
        let rows = try store.keyspace("rows", .dense)
        for id in ids {
          do {
            #expect(try store.snapshot().value(id: id, in: rows) == PackedStore.value(id), "bit \(bit)")
          } catch let error as StoreError where error.code == .corruption {
            errors += 1
          }
        }
        if byte % 32 < 2 { #expect(try !store.verify().isClean, "bit \(bit)") }
      } catch let error as StoreError where error.code == .corruption || error.code == .unsupportedFormat {
        refused += 1
      }
      try mend(bit)
    }
    #expect(refused > 0 && errors > refused)
    print("\(refused) of \(bytes.count / step) stores refused, \(errors) reads")
  }

  @Test("With a checkpoint, only reads in the damaged group fail, and verification names the group")
  func place() throws {
    let entry = entries[2]
    try damage(8 * (entry.fileOffset + entry.storedLength / 2))
    let again = try grouped.open()
    let rows = try again.keyspace("rows", .dense)
    let snapshot = again.snapshot()
    var lost = 0
    for id in ids {
      do {
        #expect(try snapshot.value(id: id, in: rows) == PackedStore.value(id))
      } catch let error as StoreError where error.code == .corruption {
        #expect(error.place?.contains("0000000000000001.segment") == true)
        #expect(error.place?.contains("\(entry.fileOffset)") == true, "\(error)")
        lost += 1
      }
    }
    #expect(lost > 0 && lost < 20)
    let findings = try again.verify().findings
    // Verification reports one finding for the group, not one for each record. Findings about the
    // log come first.
    #expect(findings.count { $0.invariant == .address } == 1, "\(findings)")
    #expect(findings.contains { $0.place.contains("0000000000000001.segment") })
    #expect(findings.contains { $0.message.hasSuffix(" (\(lost) records)") }, "\(findings)")
    try again.write { for id in ids where id % 2 == 0 { try $0.remove(id: id, in: rows) } }
    let error = #expect(throws: StoreError.self) { try again.compact() }
    #expect(error?.code == .corruption)
  }

  @Test(
    "Salvage loses only the records of a damaged group, and no records if a footer or header is damaged"
  )
  func salvage() throws {
    var random = SeededGenerator(seed: seed)
    for round in 0..<60 {
      let table = bytes.count - RewrittenFooter.length - entries.count * GroupEntry.length
      let index = Int.random(in: entries.indices, using: &random)
      let entry = entries[index]
      let place: Int
      var mayLose = entry.offset..<entry.end
      switch round % 5 {
      case 0: place = Int.random(in: entry.fileOffset..<entry.fileEnd, using: &random)
      case 1: place = Int.random(in: 0..<entry.storedLength, using: &random) / 4 + entry.fileOffset
      case 2:
        place = table + index * GroupEntry.length + Int.random(in: 0..<GroupEntry.length, using: &random)
      case 3:
        place = bytes.count - 1 - Int.random(in: 0..<RewrittenFooter.length, using: &random)
        mayLose = 0..<0
      default:
        place = Int.random(in: 0..<SegmentHeader.length, using: &random)
        mayLose = 0..<0
      }
      let bit = 8 * place + Int.random(in: 0..<8, using: &random)
      try damage(bit)
      try check(mayLose, "round \(round), bit \(bit)")
      try mend(bit)
    }
  }

  private func check(_ mayLose: Range<Int>, _ what: String) throws {
    let target = "/salvaged.perdure"
    let report = try Store.salvage(from: GroupedStore.path, to: target, options: grouped.memory.options)
    let store = try Store(at: target, options: grouped.memory.options)
    // The keyspace's definition is in the first group. If that group is damaged, the keyspace gets
    // another name.
    let name = try #require(report.contents.first).keyspace
    let rows = try store.keyspace(name, .dense)
    var lost = 0
    for id in ids {
      let value = try store.snapshot().value(id: id, in: rows)
      if value == nil { lost += 1 } else { #expect(value == PackedStore.value(id), "\(what)") }
    }
    #expect(lost <= mayLose.count / 100, "\(what): \(lost) lost; \(report)")
    if lost > 0 { #expect(!report.isClean) }
    try store.close()
    for name in try grouped.memory.fileSystem.contents(of: target) {
      try grouped.memory.fileSystem.remove(target + "/" + name)
    }
  }

  @Test("Opening rejects group table entries with wrong lengths or offsets")
  func hostileTable() throws {
    let table = bytes.count - RewrittenFooter.length - entries.count * GroupEntry.length
    for change in 0..<4 {
      var entry = entries[1]
      switch change {
      case 0: entry.unpackedLength = FormatLimits.groupLengthMax
      case 1: entry.storedLength = entry.unpackedLength
      case 2: entry.fileOffset -= 8
      default: entry.offset += 8
      }
      var changed = [UInt8](repeating: 0, count: GroupEntry.length)
      changed.withUnsafeMutableBytes { entry.write(to: $0) }
      try grouped.write(changed, at: table + GroupEntry.length, ofSegment: 1)
      // The catalog is in this segment, so opening reads the segment and rejects its table.
      let error = #expect(throws: StoreError.self, "\(change)") { try grouped.open() }
      #expect(error?.code == .corruption)
    }
  }
}

import PerdureFormat
import PerdureTestSupport
import Testing

@Suite("Maps of rewritten segments")
struct OffsetMapTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  /// A builder with random kept units, and a list of these units.
  private static func random(_ units: Int, _ random: inout SeededGenerator) -> (OffsetMapBuilder, [Int]) {
    var builder = OffsetMapBuilder(originalEnd: SegmentHeader.length + 8 * units)
    var kept: [Int] = []
    var unit = 0
    let keeps = Int.random(in: 0...100, using: &random)
    while unit < units {
      let length = min(Int.random(in: 1...40, using: &random), units - unit)
      if random.chance(keeps) {
        builder.keep(SegmentHeader.length + 8 * unit, length: 8 * length)
        kept += Array(unit..<(unit + length))
      }
      unit += length
    }
    return (builder, kept)
  }

  private static func withCopy<R>(
    of builder: OffsetMapBuilder, _ body: (UnsafeMutableRawBufferPointer) throws -> R
  ) rethrows -> R {
    try builder.withLines { lines in
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(64, lines.count), alignment: 64)
      defer { copy.deallocate() }
      copy.copyBytes(from: lines)
      return try body(UnsafeMutableRawBufferPointer(rebasing: copy[..<lines.count]))
    }
  }

  @Test("Every kept unit is mapped in both directions, and every other unit is absent")
  func translation() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    for round in 0..<200 {
      let units = round < 4 ? round : Int.random(in: 0...3000, using: &random)
      var (builder, kept) = Self.random(units, &random)
      #expect(kept.allSatisfy { builder.keeps(SegmentHeader.length + 8 * $0) })
      #expect(builder.finish() == kept.count)
      try Self.withCopy(of: builder) { (lines) throws in
        let map = OffsetMap(lines: UnsafeRawBufferPointer(lines))
        #expect(try map.verifiedUnitCount() == kept.count)
        var places: [Int: Int] = [:]
        for (place, unit) in kept.enumerated() { places[unit] = place }
        for unit in 0..<(units + 500) {
          let expected = places[unit].map { SegmentHeader.length + 8 * $0 }
          let physical = map.physicalOffset(of: SegmentHeader.length + 8 * unit)
          if physical != expected {
            Issue.record("unit \(unit) of \(units) is at \(String(describing: physical))")
          }
        }
        for (place, unit) in kept.enumerated() {
          let original = map.originalOffset(of: SegmentHeader.length + 8 * place)
          if original != SegmentHeader.length + 8 * unit { Issue.record("place \(place) of \(units)") }
        }
        #expect(map.originalOffset(of: SegmentHeader.length + 8 * kept.count) == nil)
        #expect(map.physicalOffset(of: 0) == nil)
      }
    }
  }

  @Test("Lookups in a map with a flipped bit return an offset or nil")
  func damage() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    var builder = Self.random(900, &random).0
    builder.keep(SegmentHeader.length, length: 8)
    _ = builder.finish()
    Self.withCopy(of: builder) { lines in
      for bit in 0..<(8 * lines.count) {
        lines[bit / 8] ^= 1 << UInt8(bit % 8)
        let map = OffsetMap(lines: UnsafeRawBufferPointer(lines))
        for unit in stride(from: 0, to: 900, by: 7) {
          let physical = map.physicalOffset(of: SegmentHeader.length + 8 * unit)
          if let physical, physical < SegmentHeader.length { Issue.record("bit \(bit): \(physical)") }
          _ = map.originalOffset(of: SegmentHeader.length + 8 * unit)
        }
        lines[bit / 8] ^= 1 << UInt8(bit % 8)
      }
    }
  }

  /// A file with zeros as frames, because the map does not read them.
  private static func file(_ builder: OffsetMapBuilder, units: Int, kept: Int) -> (RewrittenFooter, [UInt8]) {
    builder.withLines { lines in
      let table = RewrittenFooter.table(of: lines)
      let footer = RewrittenFooter(
        generation: 3, originalEnd: UInt64(SegmentHeader.length + 8 * units),
        dataEnd: UInt64(SegmentHeader.length + 8 * kept), recordBytes: 64, tombstoneBytes: 32,
        lineCount: UInt32(lines.count / OffsetMap.lineLength), mapDigest: table.digest)
      var bytes = [UInt8](repeating: 0, count: footer.fileLength)
      bytes.replaceSubrange(footer.mapOffset..<footer.tableOffset, with: lines)
      bytes.replaceSubrange(footer.tableOffset..<(footer.tableOffset + table.bytes.count), with: table.bytes)
      bytes.withUnsafeMutableBytes {
        footer.write(
          to: UnsafeMutableRawBufferPointer(rebasing: $0[footer.offset...]), store: Sample.store, number: 9)
      }
      return (footer, bytes)
    }
  }

  @Test("A file's footer and map are decoded as encoded, and flipped bits are detected")
  func footer() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<20 {
      let units = Int.random(in: 1...40_000, using: &random)
      var (builder, kept) = Self.random(units, &random)
      _ = builder.finish()
      let (footer, bytes) = Self.file(builder, units: units, kept: kept.count)
      func read(_ bytes: [UInt8]) throws -> Int {
        try bytes.withUnsafeBytes { file in
          let read = try RewrittenFooter(
            reading: UnsafeRawBufferPointer(rebasing: file[footer.offset...]), store: Sample.store, number: 9,
            fileLength: bytes.count)
          #expect(read == footer)
          return try read.verifiedMap(in: file).verifiedUnitCount()
        }
      }
      #expect(try read(bytes) == kept.count)
      for _ in 0..<200 {
        var damaged = bytes
        let place = Int.random(in: Int(footer.dataEnd)..<bytes.count, using: &random)
        damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        #expect(throws: FormatError.self, "byte \(place) of \(bytes.count)") { try read(damaged) }
      }
      #expect(throws: FormatError.self) { try read(bytes + [0]) }
    }
  }

  @Test("A footer of another store or segment is rejected")
  func misplaced() throws {
    let bytes = Structure.rewrittenFooter.sample
    let length = Sample.rewrittenFooter.fileLength
    try bytes.withUnsafeBytes { bytes in
      #expect(throws: FormatError.self) {
        try RewrittenFooter(reading: bytes, store: Sample.store, number: 8, fileLength: length)
      }
      let other = StoreID(high: 1, low: 2)
      #expect(throws: FormatError.self) {
        try RewrittenFooter(reading: bytes, store: other, number: 9, fileLength: length)
      }
      _ = try RewrittenFooter(reading: bytes, store: Sample.store, number: 9, fileLength: length)
    }
  }
}

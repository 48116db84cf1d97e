import PerdureFormat

/// Corrects checksums in arbitrary bytes, as far as the lengths in these bytes are usable.
enum Seals {
  static func integer<T: FixedWidthInteger>(_ bytes: [UInt8], _ offset: Int, as type: T.Type) -> T {
    bytes.withUnsafeBytes { $0.integer(at: offset, as: T.self) }
  }

  static func set<T: FixedWidthInteger>(_ value: T, _ bytes: inout [UInt8], at offset: Int) {
    bytes.withUnsafeMutableBytes { $0.setInteger(value, at: offset) }
  }

  static func checksum(_ bytes: [UInt8], _ range: Range<Int>, continuing before: UInt32 = 0) -> UInt32 {
    bytes.withUnsafeBytes {
      Checksum.crc32c(UnsafeRawBufferPointer(rebasing: $0[range]), continuing: before)
    }
  }

  /// Seals a structure whose last four bytes are the checksum of the others.
  static func end(_ bytes: inout [UInt8], _ start: Int, _ length: Int) {
    guard start + length <= bytes.count else { return }
    set(checksum(bytes, start..<(start + length - 4)), &bytes, at: start + length - 4)
  }

  /// Seals a structure whose first four bytes are the checksum of the others.
  static func begin(_ bytes: inout [UInt8], _ start: Int, _ length: Int) {
    guard start + length <= bytes.count else { return }
    set(checksum(bytes, (start + 4)..<(start + length)), &bytes, at: start)
  }

  /// Seals a record. Returns the offset of the next record; nil if the record does not end within
  /// the bytes.
  static func record(_ bytes: inout [UInt8], at start: Int) -> Int? {
    guard start + 16 <= bytes.count else { return nil }
    let key = Int(integer(bytes, start + 6, as: UInt16.self))
    let value = Int(integer(bytes, start + 12, as: UInt32.self))
    guard value <= bytes.count, start + 16 + key + value <= bytes.count else { return nil }
    begin(&bytes, start, 16 + key + value)
    return start + (16 + key + value + 7) / 8 * 8
  }

  /// Seals all consecutive frames from `start` on, with their records.
  ///
  /// - Parameter place: The offset of `start` within the segment.
  static func frames(_ bytes: inout [UInt8], from start: Int, at place: Int, of segment: UInt64) {
    var (frame, chain) = (start, UInt32(0))
    while frame + 64 <= bytes.count {
      let payload = Int(integer(bytes, frame + 24, as: UInt32.self))
      let end = min(bytes.count, frame + 64 + min(payload, bytes.count))
      var (record, count, digest) = (frame + 64, UInt32(0), UInt32(0))
      while record < end, let next = Self.record(&bytes, at: record), next <= end {
        digest = Checksum.crc32c(word: integer(bytes, record, as: UInt32.self), continuing: digest)
        (record, count) = (next, count + 1)
      }
      if record == end {
        set(count, &bytes, at: frame + 28)
        set(digest, &bytes, at: frame + 32)
        let isFirst = integer(bytes, frame + 12, as: UInt32.self) == 0
        chain = bytes[frame + 8] == 3 ? 0 : Checksum.crc32c(word: digest, continuing: isFirst ? 0 : chain)
        set(chain, &bytes, at: frame + 36)
      }
      frameHeader(&bytes, at: frame, UInt64(place + frame - start), of: segment)
      guard end > frame + 64 || payload == 0 else { return }
      frame = end
    }
  }

  private static func frameHeader(_ bytes: inout [UInt8], at start: Int, _ offset: UInt64, of segment: UInt64)
  {
    var covered: [UInt8] = []
    for number in [EngineDecoders.store.high, EngineDecoders.store.low, segment, offset] {
      withUnsafeBytes(of: number.littleEndian) { covered += Array($0) }
    }
    covered += bytes[(start + 8)..<(start + 64)]
    set(checksum(covered, 0..<covered.count), &bytes, at: start + 4)
  }

  /// Seals the map, the groups and the footer of a rewritten segment.
  static func rewritten(_ bytes: inout [UInt8]) {
    let footer = bytes.count - RewrittenFooter.length
    guard footer >= 0 else { return }
    let groups = Int(integer(bytes, footer + 56, as: UInt32.self))
    let lines = Int(integer(bytes, footer + 48, as: UInt32.self))
    guard groups < 1 << 16, lines < 1 << 16 else { return seal(footerAt: footer, &bytes) }
    let entries = footer - groups * GroupEntry.length
    let tableLength = 4 * ((lines * 64 + 4095) / 4096)
    let table = entries - (tableLength + 7) / 8 * 8
    // The table is assumed to be padded to a multiple of 8 bytes. The map begins at the highest
    // multiple of 64 that leaves enough space for both.
    let map = (table - lines * 64) / 64 * 64
    guard map >= 0, map + lines * 64 + tableLength <= entries else { return seal(footerAt: footer, &bytes) }
    for index in 0..<groups { end(&bytes, entries + index * GroupEntry.length, GroupEntry.length) }
    let sums = bytes.withUnsafeBytes {
      RewrittenFooter.table(of: UnsafeRawBufferPointer(rebasing: $0[map..<(map + lines * 64)]))
    }
    bytes.replaceSubrange((map + lines * 64)..<(map + lines * 64 + tableLength), with: sums.bytes)
    set(sums.digest, &bytes, at: footer + 52)
    seal(footerAt: footer, &bytes)
  }

  private static func seal(footerAt footer: Int, _ bytes: inout [UInt8]) {
    var place: [UInt8] = []
    for number in [EngineDecoders.store.high, EngineDecoders.store.low, 1] {
      withUnsafeBytes(of: number.littleEndian) { place += Array($0) }
    }
    let before = checksum(place, 0..<place.count)
    set(checksum(bytes, footer..<(footer + 60), continuing: before), &bytes, at: footer + 60)
  }

  /// Seals the last eight places before the footer that a reader may use as the entry of a group.
  static func groupEntries(_ bytes: inout [UInt8]) {
    var start = bytes.count - RewrittenFooter.length - GroupEntry.length
    for _ in 0..<8 where start >= 0 {
      end(&bytes, start, GroupEntry.length)
      start -= GroupEntry.length
    }
  }

  /// Seals a segment's header, and either its frames or the end of a rewritten segment.
  static func segment(_ bytes: inout [UInt8]) {
    guard bytes.count >= 128 else { return }
    end(&bytes, 0, 128)
    if integer(bytes, 40, as: UInt64.self) == 0 {
      frames(&bytes, from: 128, at: 128, of: 1)
    } else {
      rewritten(&bytes)
    }
  }
}

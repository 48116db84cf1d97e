import PerdureFormat

// Finds the intact records in partly damaged bytes.
//
// A record has its own checksum and length, so each intact record proves where the next one begins.
// The length of a damaged record is trusted if another record begins at its end. Otherwise every
// multiple of 8 is tried. Bytes of a value may look like a record. So a *run* of records counts as
// anchored only if it starts or ends at an offset where a record must start or end.
//
// Invariants
//  RF1  Every found record is complete: its checksum (`RecordSeals`), kind and lengths are valid,
//       and it is within the bytes.
//  RF2  Found records do not overlap, and are in the order of the bytes.
//  RF3  Found records and damages together cover the bytes.
//  RF4  A damaged length may skip intact records and end at another record by chance. If the
//       frame's count shows that records are missing, the skipped bytes are searched too.
//  RF5  The time is linear in the number of bytes, regardless of their content. Each multiple of 8
//       may look like the header of a record that is a mebibyte long. The bytes whose checksums
//       found no record are counted. When their number exceeds the number of searched bytes,
//       checksums of long ranges are looked up instead of computed (`StretchChecksums`).

/// The complete records in a range of bytes, and the damaged places between them.
struct RecordSearch {
  struct Found: Equatable {
    var offset: Int
    /// The length including padding.
    var length: Int
    /// The original end of the record. RS3
    var originalEnd: Int
    /// Whether the start or end of a frame proves that a record is here.
    var isAnchored = false
  }

  private let seals: RecordSeals
  /// The offset of the bytes in the segment.
  private let place: Int
  /// The original end of the record before the bytes.
  private let originalStart: Int
  private(set) var found: [Found] = []
  private(set) var damages: [Range<Int>] = []
  /// The index in `found` where the current run begins, and the end of the run that starts with the
  /// bytes.
  private var runStart = 0
  private var firstRunEnd: Int?
  /// Damages whose length was trusted, each with the original end of the record before it.
  private var trustedDamages: [(range: Range<Int>, originalEnd: Int)] = []
  /// The number of bytes whose checksums were computed without finding a record. When it is too
  /// high, `stretches` makes the search fast. RF5
  private(set) var fruitlessByteCount = 0
  private var stretches: StretchChecksums?

  /// The original end of the last record found. A test for a record at an offset does not change
  /// this value, so a repeated test has the same result.
  var originalEnd: Int { found.last?.originalEnd ?? originalStart }

  /// Finds the records of a frame whose header is intact and has their count.
  ///
  /// If more records are found than the count allows, those that are not anchored are bytes of
  /// values and are omitted.
  ///
  /// - Parameters:
  ///   - place: The offset of the bytes in the segment.
  ///   - count: The number of records, from the frame's header.
  ///   - endIsKnown: Whether the last record must end where the bytes end.
  ///   - originalEnd: The original end of the previous record.
  init(
    inFrame bytes: UnsafeRawBufferPointer, at place: Int, count: Int, endIsKnown: Bool, _ seals: RecordSeals,
    after originalEnd: Int = RecordSeals.firstOriginal
  ) {
    self.init(bytes, at: place, from: 0, endIsKnown: endIsKnown, seals, after: originalEnd)
    if found.count + damages.count > count && !damages.isEmpty {
      dropUnanchored(in: bytes.count, count: count)
    } else {
      findHidden(in: bytes, count: count)
    }
  }

  /// Finds the records in bytes without an intact frame header.
  ///
  /// - Parameters:
  ///   - place: The offset of the bytes in the segment.
  ///   - first: The offset in the bytes at which a record is expected to begin.
  ///   - endIsKnown: Whether the last record must end where the bytes end.
  ///   - originalEnd: The original end of the previous record.
  init(
    inGap bytes: UnsafeRawBufferPointer, at place: Int, from first: Int, endIsKnown: Bool,
    _ seals: RecordSeals, after originalEnd: Int = RecordSeals.firstOriginal
  ) {
    self.init(bytes, at: place, from: first, endIsKnown: endIsKnown, seals, after: originalEnd)
  }

  private init(
    _ bytes: UnsafeRawBufferPointer, at place: Int, from first: Int, endIsKnown: Bool, _ seals: RecordSeals,
    after originalEnd: Int
  ) {
    originalStart = originalEnd
    self.seals = seals
    self.place = place
    var offset = min(first, bytes.count)
    if offset > 0 { damages.append(0..<offset) }
    while offset < bytes.count {
      if var record = wholeRecord(in: bytes, at: offset, after: originalEnd) {
        record.isAnchored = firstRunEnd == nil
        found.append(record)
        offset += record.length
      } else {
        offset = skip(in: bytes, from: offset)
      }
    }
    if endIsKnown, let last = found.last, last.offset + last.length == bytes.count { anchorRun() }
  }

  /// Discards the damage after `end`, where no record has to be.
  mutating func dropDamages(from end: Int) {
    damages = damages.filter { $0.lowerBound < end }.map { $0.clamped(to: 0..<end) }
  }

  /// The record at `offset`, if it is complete and does not extend beyond `end`. Padding has no
  /// content, and is not checked.
  ///
  /// - Parameter originalEnd: The original end of the previous record.
  private mutating func wholeRecord(
    in bytes: UnsafeRawBufferPointer, at offset: Int, before end: Int? = nil, after originalEnd: Int
  ) -> Found? {
    let before = fruitlessByteCount
    guard let (record, alone, length) = claimedRecord(in: bytes, at: offset, before: end) else { return nil }
    let place = place + offset
    var original = seals.original(of: record, alone: alone, at: place)
    if original == nil, let implied = seals.implied(by: record, alone: alone, at: place) {
      let isConfirmed =
        RecordSeals.mayFollow(implied, on: originalEnd)
        || confirms(in: bytes, at: offset + length, implied + length)
      if isConfirmed { original = implied }
    }
    guard let original else { return nil }
    fruitlessByteCount = before
    return Found(offset: offset, length: length, originalEnd: original + length)
  }

  /// Whether a record at `offset` may follow the record whose original end is `originalEnd`.
  private mutating func confirms(
    in bytes: UnsafeRawBufferPointer, at offset: Int, _ originalEnd: Int
  ) -> Bool {
    guard offset < bytes.count,
      let (record, alone, _) = claimedRecord(in: bytes, at: offset, before: nil)
    else { return false }
    let place = place + offset
    let original =
      seals.original(of: record, alone: alone, at: place)
      ?? seals.implied(by: record, alone: alone, at: place)
    return original.map { RecordSeals.mayFollow($0, on: originalEnd) } ?? false
  }

  /// The record that the header at `offset` claims, and the checksum over the record alone.
  private mutating func claimedRecord(
    in bytes: UnsafeRawBufferPointer, at offset: Int, before end: Int?
  ) -> (record: Record, alone: UInt32, length: Int)? {
    let rest = bytes.part(offset, (end ?? bytes.count) - offset)
    guard let length = Self.claimedLength(in: rest, at: 0), let record = try? Record(reading: rest, .none)
    else {
      return nil
    }
    let alone = checksum(of: (offset + 4)..<(offset + record.header.unpaddedLength), in: bytes)
    return (record, alone, length)
  }

  /// Computes a checksum, or looks it up. RF5
  private mutating func checksum(of range: Range<Int>, in bytes: UnsafeRawBufferPointer) -> UInt32 {
    if range.count > Self.longClaim {
      if stretches == nil && fruitlessByteCount > bytes.count { stretches = StretchChecksums(bytes) }
      if let stretches { return stretches.checksum(of: range, in: bytes) }
    }
    fruitlessByteCount += range.count
    return Checksum.crc32c(bytes.part(range.lowerBound, range.count))
  }

  /// From this length on, a lookup is faster than computing the checksum.
  private static let longClaim = 4096

  /// The length of a record at `offset` according to its header, if the header is plausible. This
  /// is a cheap test before the checksum.
  private static func claimedLength(in bytes: UnsafeRawBufferPointer, at offset: Int) -> Int? {
    guard bytes.count - offset >= RecordHeader.length,
      let kind = RecordHeader.Kind(rawValue: bytes[offset + 4]), bytes[offset + 5] == 0
    else { return nil }
    let valueLength = Int(bytes.integer(at: offset + 12, as: UInt32.self))
    let keyLength = Int(bytes.integer(at: offset + 6, as: UInt16.self))
    guard kind.valueLengths.contains(valueLength) else { return nil }
    let length = RecordHeader.length + keyLength + valueLength
    guard length <= bytes.count - offset else { return nil }
    // If the file was truncated, padding may be missing.
    return min(length.roundedUpToAlignment, bytes.count - offset)
  }

  /// Skips a damaged record, and returns the offset of the next record or the end.
  private mutating func skip(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    if let length = Self.claimedLength(in: bytes, at: start) {
      let end = start + length
      if end == bytes.count || wholeRecord(in: bytes, at: end, after: originalEnd) != nil {
        damages.append(start..<end)
        trustedDamages.append((start..<end, originalEnd))
        return end
      }
    }
    var offset = start + FormatLimits.alignment
    while offset < bytes.count, wholeRecord(in: bytes, at: offset, after: originalEnd) == nil {
      offset += FormatLimits.alignment
    }
    offset = min(offset, bytes.count)
    damages.append(start..<offset)
    runStart = found.count
    firstRunEnd = firstRunEnd ?? found.count
    return offset
  }

  /// Searches damages whose length was trusted, as long as the count shows that records are
  /// missing. RF4
  private mutating func findHidden(in bytes: UnsafeRawBufferPointer, count: Int) {
    var missing = count - found.count - damages.count
    var all: [Found] = []
    for (range, originalEnd) in trustedDamages where missing > 0 {
      let hidden = lastRun(in: bytes, range, after: originalEnd)
      guard !hidden.isEmpty, hidden.count <= missing else { continue }
      missing -= hidden.count
      all += hidden
    }
    if !all.isEmpty { keep((found + all).sorted { $0.offset < $1.offset }, in: bytes.count) }
  }

  /// The last run of records in a range: they follow each other up to its end. The record at the
  /// start of the range is ignored.
  private mutating func lastRun(
    in bytes: UnsafeRawBufferPointer, _ range: Range<Int>, after originalEnd: Int
  ) -> [Found] {
    var run: [Found] = []
    var offset = range.lowerBound + FormatLimits.alignment
    while offset < range.upperBound {
      let end = run.last?.originalEnd ?? originalEnd
      if var record = wholeRecord(in: bytes, at: offset, before: range.upperBound, after: end) {
        record.isAnchored = true
        run.append(record)
        offset += record.length
      } else {
        run.removeAll()
        offset += FormatLimits.alignment
      }
    }
    return run
  }

  private mutating func anchorRun() {
    for place in runStart..<found.count { found[place].isAnchored = true }
  }

  /// Drops records that only their checksums confirm. If the count is still impossible, it also
  /// drops records that only the payload's end anchors.
  private mutating func dropUnanchored(in length: Int, count: Int) {
    let first = found[..<(firstRunEnd ?? found.count)]
    keep(found.filter(\.isAnchored), in: length)
    if found.count + damages.count > count { keep(Array(first), in: length) }
  }

  private mutating func keep(_ kept: [Found], in length: Int) {
    var start = 0
    damages = []
    for record in kept {
      if record.offset > start { damages.append(start..<record.offset) }
      start = record.offset + record.length
    }
    if start < length { damages.append(start..<length) }
    found = kept
  }
}

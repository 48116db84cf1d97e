import PerdureFormat

/// The checks that a reader makes on the record at an address. The value has one byte, because each
/// read loads it.
enum RecordChecks: UInt8 {
  case all
  /// The keyspace and the key, but not the checksum (`StoreOptions.verifiesChecksumsOnRead`).
  case keys
  /// The checksum, but not the keyspace and the key (`StoreOptions.comparesReadRecords`).
  case checksums

  init(_ options: StoreOptions) {
    self = !options.comparesReadRecords ? .checksums : options.verifiesChecksumsOnRead ? .all : .keys
  }
}

/// Reads the record at an address word, in the state of one root.
///
/// The record must be the requested one. Keyspace and key are compared, because a checksum over the
/// record alone does not detect a stale address. In a segment with bound records the checksum
/// covers the address word too, so an older version of the same key is not accepted either.
struct RecordReader {
  let root: UnsafeMutablePointer<Root>
  private let checks: RecordChecks

  @inline(__always)
  init(root: UnsafeMutablePointer<Root>, checks: RecordChecks) {
    (self.root, self.checks) = (root, checks)
  }

  @inline(__always)
  init(root: UnsafeMutablePointer<Root>, verifiesChecksum: Bool) {
    self.init(root: root, checks: verifiesChecksum ? .all : .keys)
  }

  /// The bytes from an address to the end of its group, or to the end of the log in its segment.
  ///
  /// - Parameter hold: Keeps unpacked bytes in memory until the next call with the same hold.
  @inline(__always)
  private func bytes(
    at address: RecordAddress, in entry: UnsafeMutablePointer<SegmentTable.Entry>, _ hold: inout GroupHold
  ) throws(StoreError) -> UnsafeRawBufferPointer {
    let end = root.end(of: address.segment, entry)
    guard let base = entry.pointee.base, address.offset < end else { throw Self.beyondEnd(address) }
    if let map = entry.pointee.map { return try Self.rewrittenBytes(at: address, base, map, &hold) }
    return UnsafeRawBufferPointer(start: base + address.offset, count: end &- address.offset)
  }

  @inline(__always)
  func record(
    at word: UInt64, keyspace: UInt32, key: UnsafeRawBufferPointer, _ hold: inout GroupHold
  ) throws(StoreError) -> Record {
    let record = try record(at: word, &hold)
    guard record.header.keyspace == keyspace, record.header.keyLength == key.count,
      Self.isEqual(record.key, key)
    else { return try unlessCompared(record, word) }
    return record
  }

  @inline(__always)
  func record(
    at word: UInt64, keyspace: UInt32, id: UInt64, _ hold: inout GroupHold
  ) throws(StoreError) -> Record {
    let record = try record(at: word, &hold)
    guard record.header.keyspace == keyspace, record.header.keyLength == 8,
      record.key.integer(at: 0, as: UInt64.self) == id
    else { return try unlessCompared(record, word) }
    return record
  }

  /// The value of an id's record, if it can be read in place in a segment.
  ///
  /// It makes the same checks as `record(at:keyspace:id:)`, but on all fields together. If it
  /// returns nil, the caller uses that method, which decodes the record or throws an error with its
  /// offset.
  @inline(__always)
  func valueInPlace(
    at word: UInt64, keyspace: UInt32, id: UInt64, _ hold: inout GroupHold
  ) throws(StoreError) -> UnsafeRawBufferPointer? {
    let address = RecordAddress(rawValue: word)
    let entry = root.segment(of: address)
    let bytes = try bytes(at: address, in: entry, &hold)
    guard !hold.covers(bytes),
      let value = valueInPlace(in: bytes, word, entry, keyspace: keyspace, keyLength: 8),
      bytes.integer(at: RecordHeader.length, as: UInt64.self) == id
    else { return nil }
    return value
  }

  /// The value of a byte-string key's record, if it can be read in place in a segment.
  @inline(__always)
  func valueInPlace(
    at word: UInt64, keyspace: UInt32, key: UnsafeRawBufferPointer, _ hold: inout GroupHold
  ) throws(StoreError) -> UnsafeRawBufferPointer? {
    let address = RecordAddress(rawValue: word)
    let entry = root.segment(of: address)
    let bytes = try bytes(at: address, in: entry, &hold)
    guard !hold.covers(bytes),
      let value = valueInPlace(in: bytes, word, entry, keyspace: keyspace, keyLength: key.count),
      let start = bytes.baseAddress, let wanted = key.baseAddress,
      KeyBytes.compare(start + RecordHeader.length, wanted, count: key.count) == 0
    else { return nil }
    return value
  }

  /// The value of the record at the start of `bytes`; nil if the record does not put a key of this
  /// length in this keyspace.
  @inline(__always)
  private func valueInPlace(
    in bytes: UnsafeRawBufferPointer, _ word: UInt64, _ entry: UnsafeMutablePointer<SegmentTable.Entry>,
    keyspace: UInt32, keyLength: Int
  ) -> UnsafeRawBufferPointer? {
    let valueOffset = RecordHeader.length &+ keyLength
    guard bytes.count >= valueOffset, let start = bytes.baseAddress else { return nil }
    // Bytes 4 to 11: kind, a zero, the key's length, and the keyspace.
    let expected =
      UInt64(RecordHeader.Kind.put.rawValue) | UInt64(truncatingIfNeeded: keyLength) &<< 16
      | UInt64(keyspace) &<< 32
    let valueLength = Int(start.integer(at: 12, as: UInt32.self))
    guard start.integer(at: 4, as: UInt64.self) == expected,
      valueLength <= min(bytes.count &- valueOffset, FormatLimits.inlineValueLengthMax)
    else { return nil }
    let checked = UnsafeRawBufferPointer(start: start + 4, count: valueOffset &+ valueLength &- 4)
    guard isRight(start.integer(at: 0, as: UInt32.self), checked, word, entry) else { return nil }
    return UnsafeRawBufferPointer(start: start + valueOffset, count: valueLength)
  }

  @inline(__always)
  func record(at word: UInt64, _ hold: inout GroupHold) throws(StoreError) -> Record {
    let address = RecordAddress(rawValue: word)
    let entry = root.segment(of: address)
    let bytes = try bytes(at: address, in: entry, &hold)
    do {
      return try Record(reading: bytes) { isRight($0, $1, word, entry) }
    } catch {
      throw damaged(error, address)
    }
  }

  /// Whether `checksum` is correct for the record at an address; true without a check if checksums
  /// are not verified. `covered` has the record without its first four bytes.
  @inline(__always)
  private func isRight(
    _ checksum: UInt32, _ covered: UnsafeRawBufferPointer, _ word: UInt64,
    _ entry: UnsafeMutablePointer<SegmentTable.Entry>
  ) -> Bool {
    if checks == .keys { return true }
    // There are two calls, because with one function for both cases, a scan of ids needed 4 % more
    // instructions.
    let expected =
      entry.pointee.bindsRecords ? Checksum.crc32c(covered, thenWord: word) : Checksum.crc32c(covered)
    return expected == checksum
  }

  @inline(__always)
  static func isEqual(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    KeyBytes.compare(a, b) == 0
  }

  /// The bytes of a record in a segment that compaction has rewritten. The map gives the record's
  /// current offset.
  private static func rewrittenBytes(
    at address: RecordAddress, _ base: UnsafeRawPointer, _ map: UnsafeMutablePointer<SegmentMap>,
    _ hold: inout GroupHold
  ) throws(StoreError) -> UnsafeRawBufferPointer {
    let offsets: OffsetMap
    do { offsets = try map.pointee.verified(base) } catch {
      throw .corruption(error, segment: address.segment, offset: error.offset)
    }
    let end = map.pointee.dataEnd
    guard let start = offsets.physicalOffset(of: address.offset), start < end else {
      throw beyondEnd(address)
    }
    if let groups = map.pointee.groups { return try groups.bytes(from: start, &hold) }
    return UnsafeRawBufferPointer(start: base + start, count: end &- start)
  }

  @inline(never)
  private static func beyondEnd(_ address: RecordAddress) -> StoreError {
    .corruption(
      FormatError(.incomplete, in: "segment", at: address.offset), segment: address.segment,
      offset: address.offset)
  }

  /// Returns a record although it has another key. Throws an error if the reader compares keys.
  @inline(never)
  private func unlessCompared(_ record: Record, _ word: UInt64) throws(StoreError) -> Record {
    if checks == .checksums { return record }
    throw misplaced(RecordAddress(rawValue: word))
  }

  @inline(never)
  func misplaced(_ address: RecordAddress) -> StoreError {
    damaged(FormatError(.misplaced, in: "record", at: 0), address)
  }

  /// An error with the offset in the file. The offset differs from the address in two cases. In a
  /// rewritten segment, addresses are the original ones. In a grouped segment, the body is packed.
  @inline(never)
  private func damaged(_ error: FormatError, _ address: RecordAddress) -> StoreError {
    .corruption(error, segment: address.segment, offset: root.fileOffset(of: address) ?? address.offset)
  }
}

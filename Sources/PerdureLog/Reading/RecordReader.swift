import PerdureFormat

/// From an address word to the record's bytes, on one root.
///
/// The record must be the one that was asked for: keyspace and key are compared, because a
/// checksum alone would accept a stale address.
struct RecordReader {
  let root: UnsafeMutablePointer<Root>
  let verifiesChecksum: Bool

  /// The bytes from an address to the end of what is written in its segment, or of its group.
  ///
  /// - Parameter hold: Keeps what does not stand in a file as it is, until the next call with it.
  @inline(__always)
  func bytes(
    at address: RecordAddress, _ hold: inout GroupHold
  ) throws(StoreError) -> UnsafeRawBufferPointer {
    let entry = root.segment(of: address)
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
    else { throw Self.misplaced(RecordAddress(rawValue: word)) }
    return record
  }

  @inline(__always)
  func record(
    at word: UInt64, keyspace: UInt32, id: UInt64, _ hold: inout GroupHold
  ) throws(StoreError) -> Record {
    let record = try record(at: word, &hold)
    guard record.header.keyspace == keyspace, record.header.keyLength == 8,
      record.key.integer(at: 0, as: UInt64.self) == id
    else { throw Self.misplaced(RecordAddress(rawValue: word)) }
    return record
  }

  /// The value of an id's record, if it stands in a file as it is.
  ///
  /// The checks are those of `record(at:keyspace:id:)`, all fields at once; what does not pass has to go there,
  /// to be read otherwise or to be named.
  @inline(__always)
  func put(
    at word: UInt64, keyspace: UInt32, id: UInt64, _ hold: inout GroupHold
  ) throws(StoreError) -> UnsafeRawBufferPointer? {
    let bytes = try bytes(at: RecordAddress(rawValue: word), &hold)
    let valueOffset = RecordHeader.length &+ 8
    guard bytes.count >= valueOffset, !hold.covers(bytes) else { return nil }
    let kindAndKeyLength = bytes.integer(at: 4, as: UInt32.self)
    let valueLength = Int(bytes.integer(at: 12, as: UInt32.self))
    guard kindAndKeyLength == Self.putOfID, bytes.integer(at: 8, as: UInt32.self) == keyspace,
      bytes.integer(at: 16, as: UInt64.self) == id, valueLength <= bytes.count &- valueOffset,
      valueLength <= FormatLimits.inlineValueLengthMax,
      !verifiesChecksum
        || Checksum.crc32c(bytes.part(4, valueOffset &+ valueLength &- 4))
          == bytes.integer(at: 0, as: UInt32.self)
    else { return nil }
    return bytes.part(valueOffset, valueLength)
  }

  /// Bytes 4 to 7 of a record that puts an id: kind, a zero, and the key's length.
  private static let putOfID = UInt32(RecordHeader.Kind.put.rawValue) | 8 << 16

  @inline(__always)
  func record(at word: UInt64, _ hold: inout GroupHold) throws(StoreError) -> Record {
    let address = RecordAddress(rawValue: word)
    let bytes = try bytes(at: address, &hold)
    do {
      return try Record(reading: bytes, verifyingChecksum: verifiesChecksum)
    } catch {
      throw .corruption(error, segment: address.segment, offset: address.offset)
    }
  }

  @inline(__always)
  static func isEqual(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    KeyBytes.compare(a, b) == 0
  }

  /// In a segment that compaction has rewritten: the map says where the record is now.
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

  @inline(never)
  private static func misplaced(_ address: RecordAddress) -> StoreError {
    .corruption(
      FormatError(.misplaced, in: "record", at: 0), segment: address.segment, offset: address.offset)
  }
}

import PerdureFormat

/// From an address word to the record's bytes, on one root.
///
/// The record must be the one that was asked for: keyspace and key are compared, because a
/// checksum alone would accept a stale address.
struct RecordReader {
  let root: UnsafeMutablePointer<Root>
  let verifiesChecksum: Bool

  /// The bytes from an address to the end of what is written in its segment.
  @inline(__always)
  func bytes(at address: RecordAddress) throws(StoreError) -> UnsafeRawBufferPointer {
    let segment = address.segment
    let entry = root.pointee.segments + Int(truncatingIfNeeded: segment)
    // The entry's own end is not looked at before it is set for good.
    let end =
      segment == root.pointee.end.segment ? Int(root.pointee.end.offset) : entry.pointee.end
    guard let base = entry.pointee.base, address.offset < end else { throw Self.beyondEnd(address) }
    return UnsafeRawBufferPointer(start: base + address.offset, count: end &- address.offset)
  }

  @inline(__always)
  func record(
    at word: UInt64, keyspace: UInt32, key: UnsafeRawBufferPointer
  ) throws(StoreError) -> Record {
    let record = try record(at: word)
    guard record.header.keyspace == keyspace, record.header.keyLength == key.count,
      Self.isEqual(record.key, key)
    else { throw Self.misplaced(RecordAddress(rawValue: word)) }
    return record
  }

  @inline(__always)
  func record(at word: UInt64, keyspace: UInt32, id: UInt64) throws(StoreError) -> Record {
    let record = try record(at: word)
    guard record.header.keyspace == keyspace, record.header.keyLength == 8,
      record.key.integer(at: 0, as: UInt64.self) == id
    else { throw Self.misplaced(RecordAddress(rawValue: word)) }
    return record
  }

  @inline(__always)
  func record(at word: UInt64) throws(StoreError) -> Record {
    let address = RecordAddress(rawValue: word)
    let bytes = try bytes(at: address)
    do {
      return try Record(reading: bytes, verifyingChecksum: verifiesChecksum)
    } catch {
      throw .corruption(error, segment: address.segment, offset: address.offset)
    }
  }

  @inline(__always)
  static func isEqual(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    if a.count == 8 { return a.loadUnaligned(as: UInt64.self) == b.loadUnaligned(as: UInt64.self) }
    return a.elementsEqual(b)
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

/// Verifies the records of one frame: each record by its checksum, and all records by the count and
/// the digest in the frame's header.
///
/// Offsets in errors are counted from the beginning of the frame, like the offsets in errors of its
/// header.
package enum FramePayload {
  /// Calls `visit` with each record in order and with the record's offset in `bytes`, the frame's
  /// payload. If the payload is not completely valid, `visit` is never called.
  package static func visitRecords(
    of header: FrameHeader, in bytes: UnsafeRawBufferPointer, _ places: RecordPlaces,
    _ visit: (Record, Int) -> Void
  ) throws(FormatError) {
    try verify(header, bytes, places)
    var records = SealedRecords(in: bytes)
    while let next = try records.next() { visit(next.record, next.offset) }
  }

  /// Verifies every record, the count, the padding and the digest.
  package static func verify(
    _ header: FrameHeader, _ bytes: UnsafeRawBufferPointer, _ places: RecordPlaces
  ) throws(FormatError) {
    guard UInt64(bytes.count) == UInt64(header.payloadLength) else {
      throw FormatError(.incomplete, in: "frame", at: FrameHeader.length + bytes.count)
    }
    var offset = 0
    var count: UInt32 = 0
    var digest: UInt32 = 0
    while offset < bytes.count {
      let record: Record
      do {
        record = try Record(reading: bytes.part(offset, bytes.count - offset), places.check(at: offset))
      } catch {
        // The lengths in a damaged record have no meaning, so the error is at the start of the
        // record.
        throw damaged(error.reason, at: offset + (error.reason == .incomplete ? 0 : error.offset))
      }
      let end = offset + record.header.paddedLength
      guard end <= bytes.count else { throw damaged(.incomplete, at: offset) }
      if let place = bytes.firstNonZero(in: (offset + record.header.unpaddedLength)..<end) {
        throw damaged(.reservedNotZero, at: place)
      }
      digest = Checksum.crc32c(word: record.checksum, continuing: digest)
      count += 1
      offset = end
    }
    guard count == header.recordCount else { throw FormatError(.illegalField, in: "frame", at: 28) }
    guard digest == header.recordDigest else { throw FormatError(.wrongChecksum, in: "frame", at: 32) }
  }

  /// Whether the header's count and digest match the checksums in the records. The checksums
  /// themselves are not verified.
  package static func hasDigest(of header: FrameHeader, _ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count == Int(header.payloadLength) else { return false }
    var records = SealedRecords(in: bytes)
    var (count, digest) = (0 as UInt32, 0 as UInt32)
    do throws(FormatError) {
      while let next = try records.next() {
        digest = Checksum.crc32c(word: next.record.checksum, continuing: digest)
        count += 1
        guard next.offset + next.length <= bytes.count,
          bytes.firstNonZero(
            in: (next.offset + next.record.header.unpaddedLength)..<(next.offset + next.length)) == nil
        else { return false }
      }
    } catch { return false }
    return count == header.recordCount && digest == header.recordDigest
  }

  private static func damaged(_ reason: FormatError.Reason, at offset: Int) -> FormatError {
    FormatError(reason, in: "record", at: FrameHeader.length + offset)
  }
}

/// Iterates over records without a check of their checksums. The caller has verified or made the
/// records (the payload of a verified frame, the records of a batch), or checks them in another
/// way.
@usableFromInline package struct SealedRecords {
  /// A record, its offset, and its length with padding.
  @usableFromInline package typealias Element = (record: Record, offset: Int, length: Int)

  @usableFromInline let bytes: UnsafeRawBufferPointer
  @usableFromInline var offset = 0

  @inlinable package init(in bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// The next record, with its offset and its length with padding; nil after the last record.
  ///
  /// - Throws: `FormatError` for bytes that are not a record. Verified bytes never cause it.
  @inline(__always)
  @inlinable package mutating func next() throws(FormatError) -> Element? {
    guard offset < bytes.count else { return nil }
    let record = try Record(reading: bytes.part(offset, bytes.count &- offset)) { _, _ in true }
    let length = record.header.paddedLength
    defer { offset &+= length }
    return (record, offset, length)
  }
}

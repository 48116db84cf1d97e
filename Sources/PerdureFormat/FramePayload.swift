/// The records of one frame, each checked, and all of them checked against the frame's header.
package enum FramePayload {
  /// Calls `visit` with each record and its offset in `bytes`, the payload of the frame, in
  /// order. Nothing is visited unless the whole payload is right.
  package static func visitRecords(
    of header: FrameHeader, in bytes: UnsafeRawBufferPointer, _ visit: (Record, Int) -> Void
  ) throws(FormatError) {
    try verify(header, bytes)
    var offset = 0
    while offset < bytes.count {
      let rest = bytes.part(offset, bytes.count - offset)
      let record = try Record(reading: rest, verifyingChecksum: false)
      visit(record, offset)
      offset += record.header.paddedLength
    }
  }

  /// Verifies every record, the count, the padding and the digest.
  package static func verify(_ header: FrameHeader, _ bytes: UnsafeRawBufferPointer) throws(FormatError) {
    guard UInt64(bytes.count) == UInt64(header.payloadLength) else {
      throw FormatError(.incomplete, in: "frame", at: bytes.count)
    }
    var offset = 0
    var count: UInt32 = 0
    var digest: UInt32 = 0
    while offset < bytes.count {
      let record: Record
      do {
        record = try Record(reading: bytes.part(offset, bytes.count - offset))
      } catch {
        throw FormatError(error.reason, in: "record", at: offset + error.offset)
      }
      let end = offset + record.header.paddedLength
      guard end <= bytes.count else { throw FormatError(.incomplete, in: "record", at: bytes.count) }
      if let place = bytes.firstNonZero(in: (offset + record.header.unpaddedLength)..<end) {
        throw FormatError(.reservedNotZero, in: "record", at: place)
      }
      digest = Checksum.crc32c(word: record.checksum, continuing: digest)
      count += 1
      offset = end
    }
    guard count == header.recordCount else { throw FormatError(.illegalField, in: "frame", at: 28) }
    guard digest == header.recordDigest else { throw FormatError(.wrongChecksum, in: "frame", at: 32) }
  }
}

import PerdureFormat

/// A record in a segment file, at the offset at which it was first written.
package struct RecordPlace: Sendable {
  package let file: String
  package let offset: Int
  /// The length with padding.
  package let length: Int
  /// The number of the commit that wrote the record.
  package let sequence: UInt64
  package let keyspace: UInt32
  /// The bytes of the key in the record.
  package let key: [UInt8]

  /// All records of undamaged segments that no compaction has rewritten, in the order of the log.
  ///
  /// - Parameter files: The bytes of a store's files, by name.
  package static func all(in files: [String: [UInt8]]) throws -> [RecordPlace] {
    let segments = files.filter { $0.key.hasSuffix(".segment") }.sorted { $0.key < $1.key }
    return try segments.flatMap { name, bytes in try bytes.withUnsafeBytes { try all(in: $0, of: name) } }
  }

  private static func all(in bytes: UnsafeRawBufferPointer, of file: String) throws -> [RecordPlace] {
    let header = try SegmentHeader(reading: bytes)
    var places: [RecordPlace] = []
    var offset = SegmentHeader.length
    while offset + FrameHeader.length <= bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[offset...])
      let position = LogPosition(segment: header.number, offset: UInt64(offset))
      // The frames end where no valid header follows.
      guard let frame = try? FrameHeader(reading: rest, store: header.store, position: position) else {
        break
      }
      let start = offset + FrameHeader.length
      offset = start + Int(frame.payloadLength)
      var records = SealedRecords(in: UnsafeRawBufferPointer(rebasing: bytes[start..<offset]))
      while let next = try records.next() {
        places.append(
          RecordPlace(
            file: file, offset: start + next.offset, length: next.length, sequence: frame.sequence,
            keyspace: next.record.header.keyspace, key: Array(next.record.key)))
      }
    }
    return places
  }
}

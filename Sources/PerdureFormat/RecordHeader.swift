/// The 16 bytes before a record's key and value. FORMAT.md, "Record".
///
/// A record carries its own checksum, so one value can be verified without its frame. In a segment
/// with bound records, the checksum continues over the record's address word (`RecordCheck`).
/// Compaction changes neither the checksum nor the address.
@usableFromInline package struct RecordHeader: Sendable {
  @inlinable package static var length: Int { 16 }

  @usableFromInline package enum Kind: UInt8, Sendable {
    case put = 1
    /// The key was removed. The value is the address of the shadowed record (`Tombstone`).
    case tombstone = 2
    /// The value references a blob file (`BlobReference`).
    case blob = 3
    /// The value is packed (`PackedValueHeader`).
    case packed = 4

    /// The permitted lengths of a value of this kind in the record.
    @inlinable package var valueLengths: ClosedRange<Int> {
      switch self {
      case .put: 0...FormatLimits.inlineValueLengthMax
      case .tombstone: Tombstone.valueLength...Tombstone.valueLength
      case .blob: BlobReference.length...BlobReference.length
      case .packed: PackedValueHeader.length + 1...FormatLimits.inlineValueLengthMax
      }
    }

    /// Whether the value in the record needs no decoding. The test is a single comparison, to keep
    /// reads fast.
    @inlinable package var holdsPlainValue: Bool { rawValue <= Kind.tombstone.rawValue }
  }

  @usableFromInline package var kind: Kind
  @usableFromInline package var keyLength: Int
  @usableFromInline package var keyspace: UInt32
  @usableFromInline package var valueLength: Int

  @inlinable package init(kind: Kind, keyspace: UInt32, keyLength: Int, valueLength: Int) {
    self.kind = kind
    self.keyspace = keyspace
    self.keyLength = keyLength
    self.valueLength = valueLength
  }

  /// The length of header, key and value, without padding.
  @inlinable package var unpaddedLength: Int { Self.length &+ keyLength &+ valueLength }

  /// The length of the record in the log.
  @inlinable package var paddedLength: Int { unpaddedLength.roundedUpToAlignment }

  /// Writes the header, with its checksum, before the key and value that are already in `bytes`.
  /// Sets the padding to zero.
  @inlinable package func seal(_ bytes: UnsafeMutableRawBufferPointer) {
    precondition(
      keyLength <= FormatLimits.keyLengthMax && valueLength <= FormatLimits.inlineValueLengthMax
        && bytes.count >= paddedLength, "The record is longer than the format allows.")
    bytes.setInteger(kind.rawValue, at: 4)
    bytes.setInteger(UInt8(0), at: 5)
    bytes.setInteger(UInt16(truncatingIfNeeded: keyLength), at: 6)
    bytes.setInteger(keyspace, at: 8)
    bytes.setInteger(UInt32(truncatingIfNeeded: valueLength), at: 12)
    let end = unpaddedLength
    for i in end..<end.roundedUpToAlignment { bytes[i] = 0 }
    let checked = UnsafeRawBufferPointer(bytes).part(4, end &- 4)
    bytes.setInteger(Checksum.crc32c(checked), at: 0)
  }
}

/// A checked record in memory. It is valid as long as the bytes from which it was read are valid.
@usableFromInline package struct Record {
  @usableFromInline package let header: RecordHeader
  @usableFromInline package let checksum: UInt32
  @usableFromInline let base: UnsafeRawPointer

  @usableFromInline init(header: RecordHeader, checksum: UInt32, base: UnsafeRawPointer) {
    self.header = header
    self.checksum = checksum
    self.base = base
  }

  @inlinable package var key: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + RecordHeader.length, count: header.keyLength)
  }

  @inlinable package var value: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + (RecordHeader.length &+ header.keyLength), count: header.valueLength)
  }

  /// Reads the record at the start of `bytes` and verifies its checksum according to `check`.
  package init(reading bytes: UnsafeRawBufferPointer, _ check: RecordCheck) throws(FormatError) {
    try self.init(reading: bytes) { check.accepts($0, of: $1) }
  }

  /// Reads the record at the start of `bytes` and verifies its checksum with a closure. This
  /// function is inlined, so reads by address avoid a call.
  ///
  /// - Parameter isRight: Returns whether a checksum matches a record. It receives the record
  ///   without its first four bytes.
  @inline(__always)
  @inlinable package init(
    reading bytes: UnsafeRawBufferPointer, isRight: (UInt32, UnsafeRawBufferPointer) -> Bool
  ) throws(FormatError) {
    guard bytes.count >= RecordHeader.length, let base = bytes.baseAddress else {
      throw Self.wrong(.incomplete, bytes.count)
    }
    let valueLength = bytes.integer(at: 12, as: UInt32.self)
    guard valueLength <= UInt32(FormatLimits.inlineValueLengthMax) else {
      throw Self.wrong(.illegalField, 12)
    }
    let keyLength = bytes.integer(at: 6, as: UInt16.self)
    let unpaddedLength = RecordHeader.length &+ Int(keyLength) &+ Int(valueLength)
    guard unpaddedLength <= bytes.count else { throw Self.wrong(.incomplete, bytes.count) }
    let checksum = bytes.integer(at: 0, as: UInt32.self)
    guard isRight(checksum, bytes.part(4, unpaddedLength &- 4)) else {
      throw Self.wrong(.wrongChecksum, 0)
    }
    guard let kind = RecordHeader.Kind(rawValue: bytes[4]) else { throw Self.wrong(.unsupported, 4) }
    guard bytes[5] == 0 else { throw Self.wrong(.unsupported, 5) }
    guard kind == .put || kind.valueLengths.contains(Int(valueLength)) else {
      throw Self.wrong(.illegalField, 12)
    }
    let header = RecordHeader(
      kind: kind, keyspace: bytes.integer(at: 8), keyLength: Int(keyLength), valueLength: Int(valueLength))
    self.init(header: header, checksum: checksum, base: base)
  }

  @usableFromInline static func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError {
    FormatError(reason, in: "record", at: offset)
  }
}

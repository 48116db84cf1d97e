import PerdureCompression
import PerdureFormat

/// Reads the value of a record, wherever the value is stored.
///
/// Most values are plain: they are in the record and need no decoding. For them, the check for
/// other kinds costs one comparison. Other values are in a blob file, or LZ4 unpacks them into
/// memory that is valid during the call.
struct RecordContents: Sendable {
  let blobs: BlobFiles
  let dictionaries: DictionaryTable

  /// Calls `body` with the record's value, which is valid until `body` returns.
  @inline(__always)
  func withValue<R>(of record: Record, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
    if record.header.kind.holdsPlainValue { return try body(record.value) }
    return try withValueElsewhere(of: record, body)
  }

  /// Like `withValue`, for a packed record or a blob record.
  ///
  /// - Parameter opened: Keeps open the blob files that are read. If it is nil, the files are
  ///   closed.
  @inline(never)
  func withValueElsewhere<R>(
    of record: Record, openedIn opened: OpenedBlobs? = nil, _ body: (UnsafeRawBufferPointer) throws -> R
  ) throws -> R {
    if record.header.kind == .packed { return try dictionaries.withUnpacked(record, body) }
    let reference = try BlobReference(in: record)
    guard let opened else { return try blobs.read(reference).withBytes(body) }
    return try opened.withValue(of: reference, blobs, body)
  }

  /// The value of a packed record or a blob record. Its bytes are valid while `opened` exists.
  ///
  /// - Parameter word: The record's address.
  @inline(never)
  func keptValueElsewhere(
    of record: Record, at word: UInt64, in opened: OpenedBlobs
  ) throws(StoreError) -> UnsafeRawBufferPointer {
    if record.header.kind == .packed { return try opened.unpackedValue(of: record, at: word, dictionaries) }
    return try opened.keptValue(of: BlobReference(in: record), blobs)
  }
}

extension DictionaryTable {
  /// Calls `body` with the unpacked value of a packed record. The value's memory is valid during
  /// the call.
  ///
  /// - Throws: `StoreError` with code `.corruption`; the errors of `body`.
  func withUnpacked<R>(_ record: Record, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
    let header = try Self.header(of: record)
    return try withUnsafeTemporaryAllocation(byteCount: header.valueLength, alignment: 16) { target in
      try unpack(record, header, into: target)
      return try body(UnsafeRawBufferPointer(target))
    }
  }

  /// The value of a packed record, in memory that the caller frees.
  func unpacked(_ record: Record) throws(StoreError) -> UnsafeMutableRawBufferPointer {
    let header = try Self.header(of: record)
    let target = UnsafeMutableRawBufferPointer.allocate(byteCount: header.valueLength, alignment: 16)
    do throws(StoreError) { try unpack(record, header, into: target) } catch {
      target.deallocate()
      throw error
    }
    return target
  }

  private static func header(of record: Record) throws(StoreError) -> PackedValueHeader {
    do { return try PackedValueHeader(reading: record.value) } catch { throw damaged("\(error)", record) }
  }

  private func unpack(
    _ record: Record, _ header: PackedValueHeader, into target: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    guard let dictionary = bytes(of: header.dictionary) else {
      throw Self.damaged("dictionary \(header.dictionary) is missing", record)
    }
    try Self.unpack(record, header, dictionary, into: target)
  }

  /// The value of a packed record, unpacked with dictionaries that the caller provides.
  static func unpacked(
    _ record: Record, dictionary: (Int) -> [UInt8]?
  ) throws -> [UInt8] {
    let header = try header(of: record)
    guard let bytes = header.dictionary == 0 ? [] : dictionary(header.dictionary) else {
      throw damaged("dictionary \(header.dictionary) is missing", record)
    }
    let target = UnsafeMutableRawBufferPointer.allocate(byteCount: header.valueLength, alignment: 16)
    defer { target.deallocate() }
    try bytes.withUnsafeBytes { bytes in try unpack(record, header, bytes, into: target) }
    return Array(target)
  }

  private static func unpack(
    _ record: Record, _ header: PackedValueHeader, _ dictionary: UnsafeRawBufferPointer,
    into target: UnsafeMutableRawBufferPointer
  ) throws(StoreError) {
    let value = record.value
    let block = value.part(PackedValueHeader.length, value.count - PackedValueHeader.length)
    let length: Int
    do { length = try LZ4Block.decompress(block, into: target, dictionary: dictionary) } catch {
      throw damaged("\(error)", record)
    }
    guard length == header.valueLength else {
      throw damaged("it has \(length) bytes, not \(header.valueLength)", record)
    }
  }

  @inline(never)
  private static func damaged(_ reason: String, _ record: Record) -> StoreError {
    StoreError(
      .corruption,
      "A packed value cannot be unpacked: \(reason). Nothing was changed. Put the value again, or restore a backup",
      at: "a record of keyspace \(record.header.keyspace)")
  }
}

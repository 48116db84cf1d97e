import PerdureFormat

/// Reads a value in pieces or in parts. `Snapshot.reader(id:in:)` creates a reader.
///
/// It retains its snapshot. If the value has its own file, only the chunks of 64 KiB that contain
/// the requested part are read and verified. At most half a megabyte is kept in memory. A
/// compressed value is unpacked completely, and its memory is freed with the reader. A reader may
/// be used from any thread.
public final class ValueReader {
  private enum Content {
    case inPlace(UnsafeRawBufferPointer)
    case copied(CopiedBytes)
    case file(BlobFileReader)
  }

  private let snapshot: Snapshot
  private let content: Content
  /// The number of bytes of the value.
  public let count: UInt64

  init(_ record: Record, _ hold: GroupHold, _ snapshot: Snapshot) throws {
    self.snapshot = snapshot
    if record.header.kind == .blob {
      let reader = try BlobFileReader(BlobReference(in: record), snapshot.engine.blobs)
      content = .file(reader)
      count = reader.reference.valueLength
    } else if record.header.kind == .packed {
      let value = CopiedBytes(try snapshot.engine.contents.dictionaries.unpacked(record))
      (content, count) = (.copied(value), UInt64(value.bytes.count))
    } else if hold.covers(record.value) {
      (content, count) = (.copied(CopiedBytes(copying: record.value)), UInt64(record.value.count))
    } else {
      (content, count) = (.inPlace(record.value), UInt64(record.value.count))
    }
  }

  /// Calls `body` with the bytes of a range, piece by piece and in order. A piece of a value with
  /// its own file has at most 64 KiB. The calls stop when `body` returns false.
  ///
  /// - Parameter range: Must be within `0..<count`, or the program stops; nil: the whole value.
  /// - Parameter body: Receives one piece. Returns false to stop.
  /// - Throws: `StoreError` with code `.corruption` or `.io`; the errors of `body`. Pieces that
  ///   were passed before an error are correct.
  public func forEachPiece(of range: Range<UInt64>? = nil, _ body: (RawSpan) throws -> Bool) throws {
    try forEachRawPiece(of: range) { try body($0.bytes) }
  }

  /// A copy of a part of the value.
  ///
  /// - Parameter range: Must be within `0..<count`, or the program stops.
  /// - Throws: `StoreError` with code `.corruption` or `.io`.
  public func bytes(in range: Range<UInt64>) throws -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(range.count)
    try forEachRawPiece(of: range) {
      bytes.append(contentsOf: $0)
      return true
    }
    return bytes
  }

  package func forEachRawPiece(
    of range: Range<UInt64>? = nil, _ body: (UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    let range = range ?? 0..<count
    precondition(range.upperBound <= count, "A part must be inside the value of \(count) bytes")
    try snapshot.engine.checkProcess()
    if range.isEmpty { return }
    switch content {
    case .file(let reader): try reader.read(range, body)
    case .inPlace(let value): _ = try body(value.part(Int(range.lowerBound)..<Int(range.upperBound)))
    case .copied(let value): _ = try body(value.bytes.part(Int(range.lowerBound)..<Int(range.upperBound)))
    }
  }
}

// Unchecked: it has no mutable state, and the snapshot keeps bytes in place unchanged.
extension ValueReader: @unchecked Sendable {}

extension Snapshot {
  /// A reader for the value of an id; nil if the id is absent.
  ///
  /// - Precondition: The keyspace has ids as keys.
  /// - Throws: `StoreError` with code `.corruption` or `.io`.
  public func reader(id: UInt64, in keyspace: Keyspace) throws -> ValueReader? {
    keyspace.requireKeys(.dense)
    guard let word = try word(id: id, in: keyspace) else { return nil }
    var hold = GroupHold()
    defer { hold.release() }
    let record = try reader.record(at: word, keyspace: keyspace.id, id: id, &hold)
    return try ValueReader(record, hold, self)
  }

  /// A reader for the value of a byte-string key; nil if the key is absent.
  ///
  /// - Precondition: The keyspace has byte strings as keys.
  /// - Throws: `StoreError` with code `.corruption` or `.io`.
  public func reader(key: [UInt8], in keyspace: Keyspace) throws -> ValueReader? {
    keyspace.requireKeys(.bytes)
    return try key.withUnsafeBytes { key in
      guard let word = try word(key: key, in: keyspace) else { return nil }
      var hold = GroupHold()
      defer { hold.release() }
      let record = try reader.record(at: word, keyspace: keyspace.id, key: key, &hold)
      return try ValueReader(record, hold, self)
    }
  }
}

/// The built-in extractor: index keys are slices of the record's key and value.
///
/// It is for programs with values at fixed offsets, and for the reverse direction of links
/// (`[.key(offset: 8, length: 8)]` with the reference `.keyPrefix`). In this example, each value
/// contains a name that starts at byte 4. The example defines an index over the names, and reads
/// the index's entries for one name:
///
///     let byName = try store.defineIndex(IndexDefinition(
///       name: "byName",
///       source: .records(
///         keyspaces: [people], extractor: SliceExtractor.name,
///         parameters: SliceExtractor.parameters([.valueRest(offset: 4)]))))
///     let ada = KeyRange.prefix(IndexKey.text("Ada".utf8))
///     try snapshot.forEachEntry(in: byName, range: ada) { _, id in … }
///
/// A reference has 8 bytes, so shorter byte-string keys have no entry. Longer keys may share these
/// 8 bytes. Then the slices must include the bytes that distinguish the records, such as the rest
/// of the key. No two records may give the same entry (`IndexExtractor`).
public struct SliceExtractor: IndexExtractor, IndexExtractorFactory {
  /// The name that definitions use.
  public static let name = "slices"

  /// A piece of a record. A record that is too short for a slice has no entry.
  public enum Slice: Hashable, Sendable {
    /// Bytes of the key as it is stored (dense ids: 8 bytes, little-endian).
    case key(offset: Int, length: Int)
    /// Bytes of the value.
    case value(offset: Int, length: Int)
    /// The value from `offset` to its end, as `IndexKey.text`.
    case valueRest(offset: Int)
  }

  /// The source of an entry's reference.
  public enum Reference: UInt8, Sendable {
    /// The id of a dense keyspace.
    case id = 0
    /// The first 8 bytes of the key, big-endian.
    case keyPrefix = 1
    /// Bytes 8 to 15 of the key, big-endian.
    case keySuffix = 2
  }

  let slices: [Slice]
  let reference: Reference

  /// The parameters of a definition that uses these slices. Offsets and lengths must be at least 0
  /// and less than 2^32, or the program stops.
  public static func parameters(_ slices: [Slice], reference: Reference = .id) -> [UInt8] {
    var bytes = [reference.rawValue]
    for slice in slices {
      let (tag, offset, length): (UInt8, Int, Int) =
        switch slice {
        case .key(let offset, let length): (0, offset, length)
        case .value(let offset, let length): (1, offset, length)
        case .valueRest(let offset): (2, offset, 0)
        }
      bytes.append(tag)
      withUnsafeBytes(of: UInt32(offset).littleEndian) { bytes.append(contentsOf: $0) }
      withUnsafeBytes(of: UInt32(length).littleEndian) { bytes.append(contentsOf: $0) }
    }
    return bytes
  }

  /// Creates a factory. Its extractors read their slices from the parameters.
  public init() {
    slices = []
    reference = .id
  }

  private init(slices: [Slice], reference: Reference) {
    self.slices = slices
    self.reference = reference
  }

  /// Makes an extractor from the result of `parameters(_:reference:)`. Throws an error for other
  /// bytes.
  public func makeExtractor(parameters: [UInt8], in store: borrowing StoredValues) throws
    -> any IndexExtractor
  {
    let slices = try Self.slices(in: parameters.dropFirst())
    guard let first = parameters.first, let reference = Reference(rawValue: first) else {
      throw Self.unreadable
    }
    return SliceExtractor(slices: slices, reference: reference)
  }

  private static let unreadable = StoreError(
    .corruption, "The definition of a slice index cannot be decoded; define the index again")

  private static func slices(in bytes: ArraySlice<UInt8>) throws -> [Slice] {
    guard bytes.count % 9 == 0 else { throw unreadable }
    func number(_ start: Int) -> Int {
      (0..<4).reduce(0) { $0 | Int(bytes[start + $1]) << (8 * $1) }
    }
    return try stride(from: bytes.startIndex, to: bytes.endIndex, by: 9).map { start in
      switch bytes[start] {
      case 0: return .key(offset: number(start + 1), length: number(start + 5))
      case 1: return .value(offset: number(start + 1), length: number(start + 5))
      case 2: return .valueRest(offset: number(start + 1))
      default: throw unreadable
      }
    }
  }

  /// Adds one entry, or none when the record is too short.
  public func extract(
    keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    into entries: inout IndexEntries
  ) {
    guard key.count >= (reference == .keySuffix ? 16 : 8) else { return }
    entries.add(reference: target(key)) { indexKey in
      for slice in slices {
        let (source, range) =
          switch slice {
          case .key(let offset, let length): (key, offset..<(offset + length))
          case .value(let offset, let length): (value, offset..<(offset + length))
          case .valueRest(let offset): (value, offset..<max(offset, value.count))
          }
        guard range.upperBound <= source.count else { return false }
        if case .valueRest = slice {
          indexKey.append(contentsOf: IndexKey.text(source[range]))
        } else {
          indexKey.append(contentsOf: source[range])
        }
      }
      return true
    }
  }

  private func target(_ key: UnsafeRawBufferPointer) -> UInt64 {
    switch reference {
    case .id: UInt64(littleEndian: key.loadUnaligned(as: UInt64.self))
    case .keyPrefix: UInt64(bigEndian: key.loadUnaligned(as: UInt64.self))
    case .keySuffix: UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
  }
}

import PerdureFormat

/// Makes extractors from the parameters in an index's definition.
///
/// Definitions are data in the store, so any program that knows the factory's name can maintain the
/// index. A program that does not know it gets `.indexUnavailable` when it reads the index.
public protocol IndexExtractorFactory: Sendable {
  /// Reads the parameters of a definition.
  ///
  /// - Parameters:
  ///   - parameters: The bytes in the definition.
  ///   - store: Reads other values of the store. These values must not change the entries of
  ///     records that are already indexed.
  /// - Throws: any error if this factory did not write the parameters. The index is then
  ///   unavailable.
  func makeExtractor(parameters: [UInt8], in store: borrowing StoredValues) throws -> any IndexExtractor
}

/// A factory that can refuse to open a store.
package protocol AdmittingFactory: IndexExtractorFactory {
  /// Called with the values of the store before the opening changes anything.
  ///
  /// - Throws: An error to refuse the store. The opening rethrows it, and no byte of the store is
  ///   changed.
  func admit(_ store: borrowing StoredValues) throws
}

/// Determines the index entries of a record. It must be a pure function of the record: the same
/// bytes must always give the same entries, in later versions of the program too.
///
/// An entry has an index key and a reference, and belongs to one record. Two records must not give
/// the same key with the same reference. The index has such an entry only once. If one of these
/// records is removed or changed, the entry is removed. Verification (V4) then reports the missing
/// entry. Unique references, such as the ids of one dense keyspace, are sufficient. Otherwise the
/// keys must distinguish the records. One record may give the same entry twice.
///
/// If an extractor is not pure, an index of entries lacks entries or has too many. With sums
/// (`IndexDefinition.Source.groupSums`), a commit can remove numbers that were never added. If the
/// store detects that, it makes the commit, and the index becomes unavailable. The next opening or
/// `Store.defineIndex(_:)` rebuilds the index. If the store does not detect it, the sum is wrong
/// until the index is removed and defined again.
public protocol IndexExtractor: Sendable {
  /// Adds the entries of one record to `entries`. The buffers are valid only during the call.
  func extract(
    keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    into entries: inout IndexEntries)
}

/// The entries that an extractor found. Each entry has an index key and a reference.
public struct IndexEntries: ~Copyable {
  /// Tree keys, one after another. A tree key is the index key, then the reference as 8 bytes
  /// big-endian.
  private(set) var bytes: [UInt8] = []
  /// The end of each tree key in `bytes`.
  private(set) var ends: [Int] = []

  init() { bytes.reserveCapacity(256) }

  /// Adds an entry. No other record may give the same entry (`IndexExtractor`).
  ///
  /// - Parameters:
  ///   - key: At most 65,000 bytes; a longer key is truncated. No key of an index may be a prefix
  ///     of another key. Use keys of one length, or keys with an end mark (`IndexKey.text`).
  ///   - reference: The number to store with the key, such as the id of the record.
  public mutating func add(key: UnsafeRawBufferPointer, reference: UInt64) {
    bytes.append(contentsOf: key.prefix(IndexKey.lengthMax))
    finish(reference)
  }

  /// Adds an entry whose key is in an array. In all other respects it is like the method for a
  /// buffer.
  public mutating func add(key: [UInt8], reference: UInt64) {
    bytes.append(contentsOf: key.prefix(IndexKey.lengthMax))
    finish(reference)
  }

  /// Like `add(key:reference:)`, with a key that the closure appends to the buffer. If it returns
  /// false, the appended bytes are removed and no entry is added.
  package mutating func add(reference: UInt64, appendingKey: (inout [UInt8]) -> Bool) {
    let start = bytes.count
    let hasKey = appendingKey(&bytes)
    let kept = hasKey ? min(bytes.count - start, IndexKey.lengthMax) : 0
    if start + kept < bytes.count { bytes.removeLast(bytes.count - start - kept) }
    if hasKey { finish(reference) }
  }

  /// Like `add(key:reference:)`, with a key of 8 bytes, big-endian.
  package mutating func add(key: UInt64, reference: UInt64) {
    withUnsafeBytes(of: (key.bigEndian, reference.bigEndian)) { bytes.append(contentsOf: $0) }
    ends.append(bytes.count)
  }

  private mutating func finish(_ reference: UInt64) {
    withUnsafeBytes(of: reference.bigEndian) { bytes.append(contentsOf: $0) }
    ends.append(bytes.count)
  }

  /// Adds a whole tree key.
  mutating func append(treeKey: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: treeKey)
    ends.append(bytes.count)
  }

  /// Appends these entries to others.
  func append(to others: inout IndexEntries) {
    for position in 0..<count { withEntry(position) { others.append(treeKey: $0) } }
  }

  mutating func removeAll() {
    if ends.isEmpty { return }
    bytes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }

  var count: Int { ends.count }

  func withEntry<R>(_ position: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    let start = position == 0 ? 0 : ends[position - 1]
    return try bytes.withUnsafeBytes {
      try body(UnsafeRawBufferPointer(rebasing: $0[start..<ends[position]]))
    }
  }

  /// The reference of the group, which is the first 8 bytes of the key; nil for a key that is too
  /// short.
  func group(_ position: Int) -> UInt64? {
    withEntry(position) { entry in
      guard entry.count >= 8 + IndexKey.referenceLength else { return nil }
      return UInt64(bigEndian: entry.loadUnaligned(as: UInt64.self))
    }
  }

  /// All tree keys, and their ends.
  func withAll<R>(_ body: (UnsafeRawBufferPointer, UnsafeBufferPointer<Int>) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes { bytes in try ends.withUnsafeBufferPointer { try body(bytes, $0) } }
  }

  func forEach(_ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
    try bytes.withUnsafeBytes { all in
      var start = 0
      for end in ends {
        try body(UnsafeRawBufferPointer(rebasing: all[start..<end]))
        start = end
      }
    }
  }
}

/// The layout of an index entry in the tree: the index key, then the reference.
public enum IndexKey {
  static let lengthMax = 65_000
  static let referenceLength = 8

  /// Encodes bytes of any length as a key, or as a part of a key. No encoding is a prefix of
  /// another encoding. A zero byte becomes 00 FF, and 00 00 ends the bytes. Encodings have the same
  /// order as the bytes.
  public static func text(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    var key: [UInt8] = []
    for byte in bytes {
      key.append(byte)
      if byte == 0 { key.append(0xFF) }
    }
    return key + [0, 0]
  }

  static func reference(in treeKey: UnsafeRawBufferPointer) -> UInt64 {
    // Only a faulty writer makes keys shorter than a reference.
    guard treeKey.count >= referenceLength else { return 0 }
    return UInt64(
      bigEndian: treeKey.loadUnaligned(fromByteOffset: treeKey.count - referenceLength, as: UInt64.self))
  }

  static func key(in treeKey: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    treeKey.part(0, max(0, treeKey.count - referenceLength))
  }
}

/// Identifies one state of one record. Two equal versions of a key are the same record. Every write
/// of the key produces a new version.
public struct RecordVersion: RawRepresentable, Hashable, Sendable {
  /// The record's logical address.
  public let rawValue: UInt64

  /// Creates a version from the raw value of a version that was read.
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A condition that must be true for a commit. It is checked in the commit's turn against all
/// earlier commits, not against the snapshot that the caller read.
public enum Precondition: Sendable {
  /// The key still has this version. If the version is nil, the key is still absent.
  case unchanged(Keyspace, Key, RecordVersion?)
  /// The key exists, in any version.
  case exists(Keyspace, Key)
  /// The index has the same entries with keys in `lower ..< upper` as in the snapshot. While the
  /// index is unavailable, this cannot be checked, and the commit throws `.indexUnavailable`.
  case indexRangeUnchanged(DerivedIndex, KeyRange, since: Snapshot)
  /// The byte-string keyspace has the same keys in `lower ..< upper` as in the snapshot, with the
  /// same versions.
  case rangeUnchanged(Keyspace, KeyRange, since: Snapshot)
  /// The dense keyspace has the same ids in the range as in the snapshot, with the same versions.
  case idRangeUnchanged(Keyspace, ClosedRange<UInt64>, since: Snapshot)
}

/// The reason why a commit was refused.
public enum Conflict: Sendable {
  /// The precondition with this index in the transaction's list was not met.
  case precondition(index: Int, Precondition)
  /// Two records have the same key in a unique index. `existing` and `rejected` are the references
  /// of their entries.
  case duplicateKey(DerivedIndex, key: [UInt8], existing: UInt64, rejected: UInt64)
}

/// A range of byte-string keys: `lower <= key < upper`.
public struct KeyRange: Hashable, Sendable {
  /// The lowest key of the range.
  public var lower: [UInt8]
  /// The first key after the range; nil if the range has no upper bound.
  public var upper: [UInt8]?

  /// Creates the range `lower <= key < upper`. If `upper` is nil, the range has no upper bound.
  public init(lower: [UInt8], upper: [UInt8]?) {
    self.lower = lower
    self.upper = upper
  }

  /// Every key.
  public static let all = KeyRange(lower: [], upper: nil)

  /// The keys that begin with `bytes`.
  public static func prefix(_ bytes: [UInt8]) -> KeyRange {
    KeyRange(lower: bytes, upper: successor(ofPrefix: bytes))
  }

  /// Calls `body` with the range in the form that the trees use.
  func withRaw<R>(_ body: (RawKeyRange) throws -> R) rethrows -> R {
    try lower.withUnsafeBytes { lower in
      guard let upper else { return try body(RawKeyRange(lower: lower, upper: nil)) }
      return try upper.withUnsafeBytes { try body(RawKeyRange(lower: lower, upper: $0)) }
    }
  }

  /// The lowest byte string that is greater than all byte strings with the prefix `bytes`; nil if
  /// there is none.
  static func successor(ofPrefix bytes: [UInt8]) -> [UInt8]? {
    guard let last = bytes.lastIndex(where: { $0 != 0xFF }) else { return nil }
    return Array(bytes[..<last]) + [bytes[last] + 1]
  }
}

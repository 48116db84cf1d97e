import PerdureFormat

/// The limits of a store. Input beyond a limit is refused with a `StoreError` before anything is
/// written, unless a limit says otherwise. docs/limits.md has all limits in one table, including
/// the limits of the system.
public enum StoreLimits {
  /// The maximum length of a key of a byte-string keyspace, in bytes. Longer keys are refused with
  /// `.invalidArgument`. A key may be empty.
  public static let keyLengthMax = FormatLimits.keyLengthMax
  /// The maximum length of a value, in bytes. Longer values are refused with `.invalidArgument`. A
  /// value may be empty.
  public static let valueLengthMax = FormatLimits.blobLengthMax
  /// The maximum length of a key in a derived index, in bytes. Longer keys are truncated in the
  /// index.
  public static let indexKeyLengthMax = IndexKey.lengthMax
  /// The maximum length of the name of a keyspace or a derived index, in bytes of UTF-8. Longer
  /// names and empty names are refused with `.invalidArgument`.
  public static let nameLengthMax = 255
  /// The maximum number of keyspaces of a store. More are refused with `.invalidArgument`. For each
  /// keyspace, each state that a snapshot holds takes 72 bytes of memory.
  public static let keyspacesMax = 65_536
  /// The maximum number of derived indexes of a store, including removed ones. More are refused
  /// with `.invalidArgument`. For each index, each state that a snapshot holds takes 48 bytes of
  /// memory.
  public static let indexesMax = 65_536
  /// The maximum number of snapshots that are open at the same time, including the store's own. If
  /// there are more, the program stops.
  public static let snapshotsMax = PinTable.pinsMax
}

extension StoreLimits {
  static func check(keyspaces count: Int) throws(StoreError) {
    guard count > keyspacesMax else { return }
    throw StoreError(
      .invalidArgument,
      "The keyspace was not created: a store has at most \(keyspacesMax); use an existing keyspace")
  }

  static func check(indexes count: Int) throws(StoreError) {
    guard count > indexesMax else { return }
    throw StoreError(
      .invalidArgument,
      "The index was not defined: a store has at most \(indexesMax), including removed ones; use the name of a removed index"
    )
  }

  static func check(name: String) throws(StoreError) {
    guard !(1...nameLengthMax).contains(name.utf8.count) else { return }
    throw StoreError(
      .invalidArgument, "The name \"\(name.prefix(32))\" must have 1 to \(nameLengthMax) bytes of UTF-8")
  }

  static func check(commitParts count: Int) throws(StoreError) {
    guard count > FormatLimits.commitPartsMax else { return }
    throw StoreError(
      .invalidArgument,
      "The commit has \(count) parts, but at most \(FormatLimits.commitPartsMax) are allowed; make smaller commits"
    )
  }
}

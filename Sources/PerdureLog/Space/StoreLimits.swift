import PerdureFormat

/// The limits of a store. Input beyond a limit is refused with a `StoreError` before anything is
/// written, unless said otherwise. ARCHITECTURE.md has all limits in one table, including those of
/// the system.
public enum StoreLimits {
  /// The longest key of a byte-string keyspace, in bytes; beyond: `.invalidArgument`. A key may be
  /// empty.
  public static let keyLengthMax = FormatLimits.keyLengthMax
  /// The longest value, in bytes; beyond: `.invalidArgument`. A value may be empty.
  public static let valueLengthMax = FormatLimits.blobLengthMax
  /// The longest key in a derived index, in bytes; longer ones are cut there.
  public static let indexKeyLengthMax = IndexKey.lengthMax
  /// The longest name of a keyspace or a derived index, in bytes of UTF-8; beyond, or when empty:
  /// `.invalidArgument`.
  public static let nameLengthMax = 255
  /// Keyspaces of a store; beyond: `.invalidArgument`. Each adds 32 bytes to copy to every commit.
  public static let keyspacesMax = 65_536
  /// Derived indexes of a store; beyond: `.invalidArgument`. Each adds 16 bytes to copy to every
  /// commit.
  public static let indexesMax = 65_536
  /// Snapshots that are open at the same time, including the store's own; beyond: the program
  /// stops.
  public static let snapshotsMax = PinTable.pinsMax
}

extension StoreLimits {
  static func check(keyspaces count: Int) throws(StoreError) {
    guard count > keyspacesMax else { return }
    throw StoreError(.invalidArgument, "A store has at most \(keyspacesMax) keyspaces")
  }

  static func check(indexes count: Int) throws(StoreError) {
    guard count > indexesMax else { return }
    throw StoreError(.invalidArgument, "A store has at most \(indexesMax) derived indexes")
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
      "A commit has at most \(FormatLimits.commitPartsMax) parts; write less at once")
  }
}

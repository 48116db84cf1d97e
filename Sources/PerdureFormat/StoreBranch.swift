/// Identifies the copy of a store in a directory. FORMAT.md, "Superblock".
///
/// Copies of a store share its id and the beginning of its log. Each copy gets its own branch id at
/// its first opening for writing. Files with equal names and generations are equal only within one
/// branch.
package struct StoreBranch: Hashable, Sendable {
  /// The two halves of the branch id. Both are 0 in the original store and in its unopened copies.
  package var high: UInt64
  package var low: UInt64
  /// Whether the directory is a copy that no writer has opened yet. Such a copy still has the
  /// branch id of the original store.
  package var isUnopenedCopy: Bool

  package init(high: UInt64 = 0, low: UInt64 = 0, isUnopenedCopy: Bool = false) {
    self.high = high
    self.low = low
    self.isUnopenedCopy = isUnopenedCopy
  }

  /// A new branch, for a copy that a writer opens for the first time.
  package static func random() -> StoreBranch {
    StoreBranch(high: .random(in: 1 ... .max), low: .random(in: 0 ... .max))
  }

  /// Whether both directories have the same branch id. If true, one log is a prefix of the other.
  package func isSameBranch(as other: StoreBranch) -> Bool { high == other.high && low == other.low }

  package func write(to bytes: UnsafeMutableRawBufferPointer, at offset: Int) {
    bytes.setInteger(high, at: offset)
    bytes.setInteger(low, at: offset + 8)
    bytes.setInteger(UInt32(isUnopenedCopy ? 1 : 0), at: offset + 16)
  }

  package init(reading bytes: UnsafeRawBufferPointer, at offset: Int) throws(FormatError) {
    high = bytes.integer(at: offset)
    low = bytes.integer(at: offset + 8)
    let flag: UInt32 = bytes.integer(at: offset + 16)
    guard flag <= 1 else { throw FormatError(.illegalField, in: "superblock", at: offset + 16) }
    isUnopenedCopy = flag == 1
  }
}

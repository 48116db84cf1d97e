/// Why bytes are not what FORMAT.md says they must be.
///
/// Decoders return this for any input: they never trap.
@usableFromInline package struct FormatError: Error, Hashable, Sendable, CustomStringConvertible {
  @usableFromInline package enum Reason: String, Hashable, Sendable {
    /// Fewer bytes are there than the structure needs.
    case incomplete
    /// The first bytes are not the structure's mark.
    case wrongMagic
    /// The checksum does not match.
    case wrongChecksum
    /// The structure is of a version, or needs a feature, that this reader does not know.
    case unsupported
    /// A field holds a value that no writer may write.
    case illegalField
    /// A byte that must be zero is not.
    case reservedNotZero
    /// It belongs to another store, segment or place.
    case misplaced
  }

  @usableFromInline package let reason: Reason
  /// The position of the first wrong byte in the structure (or buffer).
  package let offset: Int
  /// The structure that was read, in FORMAT.md's words.
  package let structure: String
  /// Details beyond the reason, such as the feature that is missing.
  package let detail: String?

  package init(_ reason: Reason, in structure: String, at offset: Int, detail: String? = nil) {
    self.reason = reason
    self.detail = detail
    self.structure = structure
    self.offset = offset
  }

  @usableFromInline package var description: String {
    "\(structure): \(reason.rawValue) at byte \(offset)\(detail.map { ", " + $0 } ?? "")"
  }
}

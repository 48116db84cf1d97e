/// A violation of FORMAT.md in bytes that were read.
///
/// Decoders throw this for any invalid input. They never trap.
@usableFromInline package struct FormatError: Error, Hashable, Sendable, CustomStringConvertible {
  @usableFromInline package enum Reason: String, Hashable, Sendable {
    /// The structure needs more bytes than the buffer contains.
    case incomplete
    /// The first bytes are not the structure's magic.
    case wrongMagic
    /// The checksum does not match.
    case wrongChecksum
    /// The structure has a version, or needs a feature, that this reader does not support.
    case unsupported
    /// A field contains a value that no writer may write.
    case illegalField
    /// A byte that must be zero is not zero.
    case reservedNotZero
    /// The structure belongs to another store, segment or position.
    case misplaced
  }

  @usableFromInline package let reason: Reason
  /// The offset of the wrong byte or field in the structure (or buffer).
  package let offset: Int
  /// The name of the structure that was read, as in FORMAT.md.
  package let structure: String
  /// Details beyond the reason, such as the missing feature.
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

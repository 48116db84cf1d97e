/// A failure of compression or decompression, with its byte offset.
///
/// For any input bytes, the functions of this module return a result or throw one of these errors.
/// They never trap.
package struct CompressionError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure, which determines the remedy.
  package struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Raw: String { case truncated, damaged, unsupported, outputTooSmall, tooLarge }
    private let raw: Raw

    /// The input is incomplete: it ends too early for its format.
    package static let truncated = Code(raw: .truncated)
    /// The input breaks a rule of its format.
    package static let damaged = Code(raw: .damaged)
    /// This build cannot do the operation, because it has no liblz4.
    package static let unsupported = Code(raw: .unsupported)
    /// The result does not fit in the caller's buffer.
    package static let outputTooSmall = Code(raw: .outputTooSmall)
    /// The input is longer than the format allows.
    package static let tooLarge = Code(raw: .tooLarge)

    package var description: String { raw.rawValue }
  }

  package let code: Code
  /// The distance in bytes from the start of the block to the position of the failure.
  package let byteOffset: Int
  package let message: String

  package init(_ code: Code, at byteOffset: Int, _ message: String) {
    self.code = code
    self.byteOffset = byteOffset
    self.message = message
  }

  package var description: String { "\(message) at byte \(byteOffset)" }
}

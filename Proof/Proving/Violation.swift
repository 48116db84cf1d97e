/// A violation that a check found.
package struct Violation: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

/// The error for a requested part that does not exist. It is an error of the request, not a
/// violation.
package struct NoSuchPart: Error, CustomStringConvertible {
  /// The exit code of a process with wrong arguments (EX_USAGE).
  package static let exitCode: Int32 = 64

  package let description: String

  package init(_ description: String) { self.description = description }
}

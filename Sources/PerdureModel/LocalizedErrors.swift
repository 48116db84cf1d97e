// The conformance of model errors to Foundation's `LocalizedError`. `localizedDescription` is the
// same text as `description`.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension ModelError: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}

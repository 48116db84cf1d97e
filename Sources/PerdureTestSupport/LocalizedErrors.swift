// The conformances of the errors of suites to Foundation's `LocalizedError`. `localizedDescription`
// is the same text as `description`.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension CrashViolation: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}

extension FailureViolation: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}

extension SuiteMistake: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}

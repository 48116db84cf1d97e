// The errors of suites in Foundation's form. `localizedDescription` has the text of `description`.

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

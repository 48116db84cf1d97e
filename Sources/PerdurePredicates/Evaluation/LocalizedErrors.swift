// Conformances of the errors of predicates to `LocalizedError`. `localizedDescription` is the same
// text as `description`.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension PredicateEvaluationError: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}

extension PredicateSyntaxError: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}

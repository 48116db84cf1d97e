// The errors of predicates in Foundation's form. `localizedDescription` says what `description`
// says.

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

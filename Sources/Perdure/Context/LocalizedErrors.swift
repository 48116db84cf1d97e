// The errors of contexts and containers in Foundation's form. `localizedDescription` equals
// `description`. Container/EngineErrors.swift does the same for the errors of the engine.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension PerdureError: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}

extension FetchError: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}

extension FetchTemplateError: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}

/// Programs see this error as the `cause` of a `PerdureError`.
extension RowError: LocalizedError {
  package var errorDescription: String? { description }
}

/// Programs see this error as the `cause` of a `PerdureError`.
extension StoreViewExpired: LocalizedError {
  package var errorDescription: String? { description }
}

// The errors of models in Foundation's form. `localizedDescription` says what `description` says.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension ModelError: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}

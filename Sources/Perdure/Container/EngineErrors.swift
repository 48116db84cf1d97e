// The engine's errors as Foundation's `LocalizedError`, for programs that use the graph.
//
// PerdureLog and PerdureFileIO do not import Foundation, because this import doubles the size of a
// program that uses only the engine (docs/decisions). Such a program prints the errors themselves.

public import PerdureFileIO
public import PerdureLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension StoreError: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}

extension FileIOError: LocalizedError {
  /// The description.
  public var errorDescription: String? { description }
}

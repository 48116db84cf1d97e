// The engine's errors in Foundation's form, for programs that use the graph.
//
// PerdureLog and PerdureFileIO import no part of Foundation, as a program that uses the engine
// alone would double in size (docs/decisions). Such a program prints the errors themselves.

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

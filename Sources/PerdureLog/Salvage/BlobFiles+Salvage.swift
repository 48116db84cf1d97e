import PerdureFileIO
import PerdureFormat

// Blob files of a damaged store are read by calls and not mapped: a file that becomes shorter while
// it is mapped ends the process.

extension BlobFiles {
  /// Whether the value that a record names is there and undamaged.
  ///
  /// - Throws: `FileIOError` for a shortage, which says nothing of the file.
  func holds(_ reference: BlobReference) throws -> Bool { try visitPieces(of: reference) { _ in } }

  /// Reads a value, piece by piece, and checks each.
  ///
  /// - Returns: False if the file is damaged or cannot be read; some pieces may have been visited.
  /// - Throws: `FileIOError` for a shortage; what `body` throws.
  func visitPieces(of reference: BlobReference, _ body: (UnsafeRawBufferPointer) throws -> Void) throws
    -> Bool
  {
    var isBodyWrong = false
    do {
      try BlobFileReader(reference, self).read(0..<reference.valueLength) { bytes in
        isBodyWrong = true
        try body(bytes)
        isBodyWrong = false
        return true
      }
      return true
    } catch let error as StoreError where !isBodyWrong {
      if let cause = error.cause, cause.code.isShortage { throw cause }
      return false
    }
  }
}

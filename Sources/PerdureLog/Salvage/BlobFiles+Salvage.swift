import PerdureFileIO
import PerdureFormat

// Salvage reads blob files with `read` and does not map them: a mapped file that becomes shorter
// can crash the process.

extension BlobFiles {
  /// Whether the value that a record references is present and undamaged.
  ///
  /// - Throws: As `FileIOError.checkIsDamage`, for errors that do not prove damage of the file.
  func holds(_ reference: BlobReference) throws -> Bool { try visitPieces(of: reference) { _ in } }

  /// Reads a value in pieces, and verifies each piece before it calls `body` with the piece.
  ///
  /// - Returns: False if the file is damaged or cannot be read; some pieces may have been visited.
  /// - Throws: As `FileIOError.checkIsDamage`, and the errors of `body`.
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
      try error.cause?.checkIsDamage()
      return false
    }
  }
}

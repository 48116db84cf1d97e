import PerdureFileIO
import PerdureFormat

extension Engine {
  /// Writes the next superblock, which is durable when this returns. Concurrent callers wait for
  /// each other.
  ///
  /// - Throws: `StoreError`: `.diskFull` or `.io` if there was no space, and the superblock is
  ///   unchanged; `.io` if the store's folder could not be checked; `.closed`. `.poisoned` after
  ///   any other error of the write, because it is unknown which superblock is valid (S5).
  ///   `.poisoned` also if the store's folder was removed or replaced.
  func replaceSuperblock(_ change: (inout Superblock) -> Void) throws {
    guard let superblock = try readingState({ $0.superblock }) else { return }
    if let poison = gate.poison { throw poison }
    try beginChange()
    do { try directory.checkIsWriters() } catch { throw StoreError.io(error, "Writing the superblock") }
    do throws(FileIOError) { try superblock.replace(change) } catch {
      if error.isRefusedWrite, superblock.isUntouched { throw StoreError.io(error, "Writing the superblock") }
      let poison = StoreError(
        .poisoned, "The superblock could not be written. Close the store and open it again", cause: error)
      gate.poison(poison)
      throw poison
    }
  }
}

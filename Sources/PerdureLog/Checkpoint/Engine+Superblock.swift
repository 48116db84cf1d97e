import PerdureFileIO
import PerdureFormat

extension Engine {
  /// Writes another superblock, durable when this returns; by whoever needs one, one at a time.
  ///
  /// - Throws: `StoreError`: `.diskFull` or `.io` when the system had no room for it, and left the
  ///   superblock as it was; `.poisoned` when it could not be written otherwise, and then the store
  ///   is: which superblock counts is not known any more (S5); `.closed`.
  func replaceSuperblock(_ change: (inout Superblock) -> Void) throws {
    guard let superblock = try looking({ $0.superblock }) else { return }
    if let poison = gate.poison { throw poison }
    do { try directory.checkIsWriters() } catch { throw StoreError.io(error, "Writing the superblock") }
    do throws(FileIOError) { try superblock.replace(change) } catch {
      let isRefusal = error.operation == "write" && (error.code.isLackOfRoom || error.code == .fileTooLarge)
      if isRefusal, superblock.isUntouched { throw StoreError.io(error, "Writing the superblock") }
      let poison = StoreError(
        .poisoned, "The superblock could not be written. Close the store and open it again", cause: error)
      gate.poison(poison)
      throw poison
    }
  }
}

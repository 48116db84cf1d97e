/// Zeroed memory that the system allocates page by page when it is touched. It is for tables whose
/// length comes from a number in a file.
///
/// Systems without overcommit, or with a limit of the address space, also count untouched memory.
/// They refuse a huge length. Only a hostile file requests one.
package final class ReservedMemory: Sendable {
  // `nonisolated(unsafe)` is correct here: the address is constant, and its readers and writers
  // synchronize the access.
  package nonisolated(unsafe) let base: UnsafeMutableRawPointer
  private let address: UInt
  private let byteCount: Int

  /// - Parameter byteCount: 1 or more.
  /// - Parameter purpose: The use of the memory, for the error message.
  /// - Throws: `.outOfMemory` if the system has no address space left or refuses to reserve it.
  package init(byteCount: Int, for purpose: String) throws(FileIOError) {
    precondition(byteCount > 0, "The size must be at least one byte")
    let result = SystemCall.reserveMemory(length: byteCount)
    guard result.errno == 0, let base = UnsafeMutableRawPointer(bitPattern: result.value) else {
      throw FileIOError(
        .outOfMemory, operation: .reserve, path: "\(byteCount) bytes of memory for \(purpose)",
        errno: result.errno)
    }
    self.base = base
    self.byteCount = byteCount
    address = result.value
  }

  deinit { SystemCall.unmap(address, length: byteCount) }
}

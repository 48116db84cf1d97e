/// Zero bytes of memory that are allocated only when they are touched, page by page: for tables
/// whose length follows from a number in a file.
///
/// Some systems count untouched memory (without overcommitting, or with a limit of address space),
/// and refuse a length that only a hostile file requests.
package final class ReservedMemory: Sendable {
  // Unsafe: the address is constant; its readers and writers synchronize the access.
  package nonisolated(unsafe) let base: UnsafeMutableRawPointer
  private let address: UInt
  private let byteCount: Int

  /// - Parameter byteCount: 1 or more.
  /// - Parameter purpose: Its use, for the error message.
  /// - Throws: `.outOfMemory` if the system has no address space left, or refuses to promise it.
  package init(byteCount: Int, for purpose: String) throws(FileIOError) {
    precondition(byteCount > 0, "There is something to reserve")
    let result = SystemCall.reserveMemory(length: byteCount)
    guard result.errno == 0, let base = UnsafeMutableRawPointer(bitPattern: result.value) else {
      throw FileIOError(
        .outOfMemory, operation: "reserve", path: "\(byteCount) bytes of memory for \(purpose)",
        errno: result.errno)
    }
    self.base = base
    self.byteCount = byteCount
    address = result.value
  }

  deinit { SystemCall.unmap(address, length: byteCount) }
}

/// Zero bytes of memory that cost nothing until they are touched, page by page: for tables whose length
/// follows from a number that somebody else chose.
///
/// Not every system gives what nobody has touched yet for nothing: some count it (overcommitting switched
/// off, a limit of address space), and refuse a length that only a hostile file asks for.
package final class ReservedMemory: Sendable {
  // Unsafe: the address is constant; who reads and writes behind it sees to the rest.
  package nonisolated(unsafe) let base: UnsafeMutableRawPointer
  private let address: UInt
  private let byteCount: Int

  /// - Parameter byteCount: 1 or more.
  /// - Parameter purpose: What it is for, to be told to people.
  /// - Throws: `.outOfMemory` where the system has no address space left, or none that it would promise.
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

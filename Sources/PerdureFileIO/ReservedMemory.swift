/// Zero bytes of memory that cost nothing until they are touched, page by page: for tables whose length follows from a
/// number that somebody else chose.
package final class ReservedMemory: Sendable {
  // Unsafe: the address is constant; who reads and writes behind it sees to the rest.
  package nonisolated(unsafe) let base: UnsafeMutableRawPointer
  private let address: UInt
  private let byteCount: Int

  /// - Parameter byteCount: 1 or more. Where no address space is left for them the program stops, as for all memory.
  package init(byteCount: Int) {
    precondition(byteCount > 0, "There is something to reserve")
    let result = SystemCall.reserveMemory(length: byteCount)
    guard result.errno == 0, let base = UnsafeMutableRawPointer(bitPattern: result.value) else {
      fatalError("No address space is left for \(byteCount) bytes")
    }
    self.base = base
    self.byteCount = byteCount
    address = result.value
  }

  deinit { SystemCall.unmap(address, length: byteCount) }
}

// The bytes of a file in memory, and mappings of them.
//
// A mapping's address must not change, and the mapping must show later writes. So the bytes are in
// a memory region that a mapping shares. A file moves to a larger region if it outgrows its region,
// or if a longer mapping is requested. After that, each write is also copied to every old region
// that is still mapped, up to the length of that region. The common case is one long mapping that
// is made early. Then there is one region and no copy.
//
// Invariants, while the lock is held:
//   MC1  The bytes of `region` after `size` are zero.
//   MC2  Every live region of this file contains the file's bytes, up to the region's length.

/// The bytes of one file.
// Unchecked: the three variables are accessed only under `lock`.
package final class MemoryContent: @unchecked Sendable {
  private let lock = Lock()
  private var region: MemoryRegion
  private var size: Int
  private var outgrown: [WeakRegion] = []
  /// The locks on ranges of bytes, with their owners.
  package let locks = RangeLockTable()

  private struct WeakRegion {
    weak var region: MemoryRegion?
  }

  /// Returns nil if no memory is left.
  package init?(_ bytes: [UInt8] = []) {
    guard let region = MemoryRegion(capacity: max(bytes.count, 512)) else { return nil }
    bytes.withUnsafeBytes { region.copy($0, to: 0) }
    self.region = region
    size = bytes.count
  }

  package var count: Int {
    lock.withLock { size }
  }

  /// A copy of all bytes. O(n).
  package var bytes: [UInt8] {
    lock.withLock { Array(UnsafeRawBufferPointer(start: region.base, count: size)) }
  }

  /// Copies the bytes from `offset` on, and returns their number.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
    lock.withLock {
      guard let start = Int(exactly: offset), start < size else { return 0 }
      let count = min(buffer.count, size - start)
      buffer.copyMemory(from: UnsafeRawBufferPointer(start: region.base + start, count: count))
      return count
    }
  }

  /// Writes the bytes. If no memory is left, writes nothing and returns false. Amortised O(n).
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) -> Bool {
    guard !bytes.isEmpty else { return true }
    return lock.withLock {
      guard let start = Int(exactly: offset) else { return false }
      let (end, overflow) = start.addingReportingOverflow(bytes.count)
      guard !overflow && reserve(end) else { return false }
      size = max(size, end)
      region.copy(bytes, to: start)
      for copy in outgrown { copy.region?.copy(bytes, to: start) }
      return true
    }
  }

  /// Returns nil if no memory is left.
  package func map(_ length: Int) -> FileMapping? {
    lock.withLock {
      guard length <= region.capacity || move(to: length) else { return nil }
      let region = region
      return FileMapping(base: UnsafeRawPointer(region.base), length: length) {
        withExtendedLifetime(region) {}
      }
    }
  }

  private func reserve(_ length: Int) -> Bool {
    length <= region.capacity || move(to: max(length, region.capacity.multipliedClamping(by: 2)))
      || move(to: length)
  }

  private func move(to capacity: Int) -> Bool {
    guard let larger = MemoryRegion(capacity: capacity) else { return false }
    larger.copy(UnsafeRawBufferPointer(start: region.base, count: size), to: 0)
    outgrown = outgrown.filter { $0.region != nil } + [WeakRegion(region: region)]
    region = larger
    return true
  }
}

extension Int {
  fileprivate func multipliedClamping(by other: Int) -> Int {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? .max : product
  }
}

/// Zeroed memory at a constant address.
private final class MemoryRegion: Sendable {
  /// The system allocates memory for regions of at least this length only when it is touched.
  private static let reservationLengthMin = 1 << 16

  // `nonisolated(unsafe)` is correct here: the address is constant, and MemoryContent's lock orders
  // the writes to its bytes.
  nonisolated(unsafe) let base: UnsafeMutableRawPointer
  let capacity: Int

  /// Returns nil if no memory is left.
  init?(capacity: Int) {
    self.capacity = capacity
    if capacity < Self.reservationLengthMin {
      base = .allocate(byteCount: capacity, alignment: 16)
      base.initializeMemory(as: UInt8.self, repeating: 0, count: capacity)
    } else {
      let reserved = SystemCall.reserveMemory(length: capacity)
      guard let base = UnsafeMutableRawPointer(bitPattern: reserved.value) else { return nil }
      self.base = base
    }
  }

  deinit {
    if capacity < Self.reservationLengthMin {
      base.deallocate()
    } else {
      SystemCall.unmap(UInt(bitPattern: base), length: capacity)
    }
  }

  /// Copies as many of the bytes as fit.
  func copy(_ bytes: UnsafeRawBufferPointer, to offset: Int) {
    let count = min(bytes.count, capacity - offset)
    guard count > 0, let source = bytes.baseAddress else { return }
    (base + offset).copyMemory(from: source, byteCount: count)
  }
}

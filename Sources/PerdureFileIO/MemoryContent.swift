// The bytes of a file that lives in memory, and mappings of them.
//
// A mapping's address must not change, and the mapping must show later writes. So the bytes are in
// a region of memory that a mapping shares. A file that outgrows its region, or is mapped for
// longer than it, moves to a larger region. Every region that is still mapped then gets a copy of
// each later write, up to its length. In the common case, one long mapping made early, there is one
// region and no copy.
//
// Invariants, while the lock is held:
//   MC1  The bytes of `region` behind `size` are zero.
//   MC2  Every live region of this file holds the file's bytes, as far as it reaches.

/// The bytes of one file.
// Unchecked: the three variables are only touched under `lock`.
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

  /// Nil if there is no memory left.
  package init?(_ bytes: [UInt8] = []) {
    guard let region = MemoryRegion(capacity: max(bytes.count, 512)) else { return nil }
    bytes.withUnsafeBytes { region.copy($0, to: 0) }
    self.region = region
    size = bytes.count
  }

  package var count: Int {
    lock.withLock { size }
  }

  /// All bytes. O(n).
  package var bytes: [UInt8] {
    lock.withLock { Array(UnsafeRawBufferPointer(start: region.base, count: size)) }
  }

  /// Copies the bytes from `offset` on; returns their number.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
    lock.withLock {
      guard let start = Int(exactly: offset), start < size else { return 0 }
      let count = min(buffer.count, size - start)
      buffer.copyMemory(from: UnsafeRawBufferPointer(start: region.base + start, count: count))
      return count
    }
  }

  /// Returns false, and has written nothing, if there is no memory left. Amortised O(n).
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

  /// Nil if there is no memory left.
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

/// Zeroed memory at one address.
private final class MemoryRegion: Sendable {
  /// From this length on, untouched memory costs nothing.
  private static let reservationLengthMin = 1 << 16

  // Unsafe: the address is constant; MemoryContent's lock orders the writes to its bytes.
  nonisolated(unsafe) let base: UnsafeMutableRawPointer
  let capacity: Int

  /// Nil if there is no memory left.
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

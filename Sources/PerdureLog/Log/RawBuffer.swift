import CPerdureShims

/// A growing byte buffer with its own memory. The memory is kept when the buffer is emptied, unless
/// it is unusually large.
struct RawBuffer: ~Copyable {
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private(set) var count = 0

  /// - Parameter capacity: The number of bytes to allocate in one piece. With 0, memory is
  ///   allocated with the first bytes.
  init(capacity: Int = 0) {
    if capacity > 0 { resize(to: capacity) }
  }

  deinit { perdure_free(memory.baseAddress) }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory.baseAddress, count: count) }

  /// The bytes of a range, for changes in place.
  func mutableBytes(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: memory[range])
  }

  /// Removes all bytes, and frees the memory if it is unusually large.
  mutating func removeAll() {
    count = 0
    guard memory.count > Self.keptLength else { return }
    perdure_free(memory.baseAddress)
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }

  private static let keptLength = 8 << 20
  /// Enough for a commit of one small record. The system allocates memory of this size quickly.
  private static let firstCapacity = 512

  /// Makes the buffer `length` bytes longer, and returns the new bytes. Their content is
  /// unspecified.
  mutating func extend(by length: Int) -> UnsafeMutableRawBufferPointer {
    let start = count
    count += length
    if count > memory.count { grow(toHold: count) }
    return UnsafeMutableRawBufferPointer(rebasing: memory[start..<count])
  }

  /// Removes the bytes after the first `length` bytes.
  mutating func truncate(to length: Int) {
    precondition(length <= count, "The new length must not exceed the count.")
    count = length
  }

  /// Removes the first `length` bytes, and moves the others to the front.
  mutating func removeFirst(_ length: Int) {
    precondition(length <= count, "The length must not exceed the count.")
    memory.copyMemory(from: bytes.part(length..<count))
    count -= length
  }

  mutating func append(_ source: UnsafeRawBufferPointer) {
    extend(by: source.count).copyMemory(from: source)
  }

  mutating func appendZeros(_ length: Int) {
    let target = extend(by: length)
    target.initializeMemory(as: UInt8.self, repeating: 0)
  }

  private mutating func grow(toHold needed: Int) {
    resize(to: max(needed, memory.count * 2, Self.firstCapacity))
  }

  private mutating func resize(to capacity: Int) {
    guard let start = perdure_resize(memory.baseAddress, capacity) else {
      preconditionFailure("The system has no memory for a buffer of \(capacity) bytes.")
    }
    memory = UnsafeMutableRawBufferPointer(start: start, count: capacity)
  }
}

extension UnsafeRawBufferPointer {
  /// A view of a part of these bytes.
  func part(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[range]) }
}

/// A growing run of bytes in memory of its own, kept from one use to the next.
struct RawBuffer: ~Copyable {
  private var memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  /// - Parameter capacity: Bytes to take memory for at once; without it memory is taken with the first bytes.
  init(capacity: Int = 0) {
    memory =
      capacity > 0
      ? .allocate(byteCount: capacity, alignment: 8) : UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }

  deinit { memory.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory.baseAddress, count: count) }

  /// The bytes of a range, to be changed in place.
  func mutableBytes(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: memory[range])
  }

  /// Forgets the bytes, and gives memory back after an unusually large use.
  mutating func removeAll() {
    count = 0
    guard memory.count > Self.keptLength else { return }
    memory.deallocate()
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }

  private static let keptLength = 8 << 20
  /// A commit of one small record needs no more, and the system has memory of this size at hand.
  private static let firstCapacity = 512

  /// Makes the buffer `length` bytes longer; the new bytes hold anything.
  mutating func extend(by length: Int) -> UnsafeMutableRawBufferPointer {
    let start = count
    count += length
    if count > memory.count { grow(toHold: count) }
    return UnsafeMutableRawBufferPointer(rebasing: memory[start..<count])
  }

  /// Drops what was appended after the first `length` bytes.
  mutating func truncate(to length: Int) {
    precondition(length <= count, "A buffer cannot be cut to more than it holds.")
    count = length
  }

  /// Drops the first `length` bytes; the others move to the front.
  mutating func removeFirst(_ length: Int) {
    precondition(length <= count, "A buffer cannot lose more than it holds.")
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
    // As words: memory that is asked for with an alignment comes from a slower place.
    let capacity = (max(needed, memory.count * 2, Self.firstCapacity) + 7) / 8
    let words = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity)
    let larger = UnsafeMutableRawBufferPointer(start: words, count: capacity * 8)
    larger.copyMemory(from: UnsafeRawBufferPointer(memory))
    memory.deallocate()
    memory = larger
  }
}

extension UnsafeRawBufferPointer {
  /// A view of a part of these bytes.
  func part(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[range]) }
}

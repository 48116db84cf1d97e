/// The bytes of a source with a look-ahead buffer and an offset, for reading exact amounts.
struct FrameInput: ~Copyable {
  private static let aheadSize = 0x1_0000
  private let source: LZ4FrameReader.Source
  private var ahead = ByteBuffer()
  private var available = 0..<0
  private var sourceHasEnded = false
  /// How many bytes have been taken.
  private(set) var offset = 0

  init(_ source: @escaping LZ4FrameReader.Source) {
    self.source = source
    ahead.reserve(Self.aheadSize)
  }

  mutating func isAtEnd() throws(CompressionError) -> Bool {
    try refill()
    return available.isEmpty
  }

  /// Takes four bytes, little-endian.
  mutating func word(_ what: StaticString) throws(CompressionError) -> UInt32 {
    var word: UInt32 = 0
    for shift in stride(from: UInt32(0), to: 32, by: 8) {
      try requireMore(what)
      word |= UInt32(ahead.bytes[available.lowerBound]) << shift
      take(1)
    }
    return word
  }

  /// Takes as many bytes as `range` has, into that part of `buffer`.
  mutating func read(
    into buffer: UnsafeMutableRawBufferPointer, _ range: Range<Int>, _ what: StaticString
  ) throws(CompressionError) {
    var position = range.lowerBound
    while position < range.upperBound {
      try requireMore(what)
      let count = min(available.count, range.upperBound - position)
      let piece = ahead.bytes[available.lowerBound..<(available.lowerBound + count)]
      UnsafeMutableRawBufferPointer(rebasing: buffer[position..<(position + count)])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: piece))
      take(count)
      position += count
    }
  }

  mutating func skip(_ count: Int) throws(CompressionError) {
    var left = count
    while left > 0 {
      try requireMore("a skippable frame")
      let step = min(available.count, left)
      take(step)
      left -= step
    }
  }

  private mutating func requireMore(_ what: StaticString) throws(CompressionError) {
    try refill()
    guard !available.isEmpty else {
      throw CompressionError(.truncated, at: offset, "The LZ4 stream ends inside \(what)")
    }
  }

  private mutating func refill() throws(CompressionError) {
    guard available.isEmpty, !sourceHasEnded else { return }
    do {
      let count = try source(ahead.bytes)
      precondition((0...ahead.bytes.count).contains(count), "A source returns how many bytes it gave")
      available = 0..<count
      sourceHasEnded = count == 0
    } catch {
      throw CompressionError(.unreadable, at: offset, "The LZ4 stream cannot be read", cause: error)
    }
  }

  private mutating func take(_ count: Int) {
    available = (available.lowerBound + count)..<available.upperBound
    offset += count
  }
}

/// Memory that grows and is never seen by two owners.
struct ByteBuffer: ~Copyable {
  private(set) var bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  /// Makes room for `size` bytes; what was there is lost when it grows.
  mutating func reserve(_ size: Int) {
    guard size > bytes.count else { return }
    bytes.deallocate()
    bytes = .allocate(byteCount: size, alignment: 16)
  }

  deinit { bytes.deallocate() }
}

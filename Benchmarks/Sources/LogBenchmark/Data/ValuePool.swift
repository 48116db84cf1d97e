import CLogFloor

/// Values that compress to about half. Each value is a window into one buffer, so making a value
/// costs only an addition. In each piece of 100 bytes, the first half is noise, and the second half
/// repeats it.
// Unchecked: the bytes are written once, before the pool is shared, and are never freed.
struct ValuePool: @unchecked Sendable {
  private let bytes: UnsafeMutableRawPointer
  let valueLength: Int

  private static let byteCount = 1 << 20
  private static let pieceLength = 100

  init(valueLength: Int) {
    self.valueLength = valueLength
    bytes = .allocate(byteCount: Self.byteCount + valueLength, alignment: 64)
    var generator = Scramble(seed: 1)
    var noise: UInt64 = 0
    for offset in 0..<Self.byteCount + valueLength {
      let place = offset % Self.pieceLength
      if place < Self.pieceLength / 2 {
        if place % 8 == 0 { noise = generator.next() }
        bytes.storeBytes(
          of: UInt8(truncatingIfNeeded: noise >> UInt64(place % 8 * 8)), toByteOffset: offset, as: UInt8.self)
      } else {
        let earlier = bytes.load(fromByteOffset: offset - Self.pieceLength / 2, as: UInt8.self)
        bytes.storeBytes(of: earlier, toByteOffset: offset, as: UInt8.self)
      }
    }
  }

  /// The value with this number. Different numbers usually have different values.
  @inline(__always)
  func value(_ number: UInt64) -> UnsafeRawPointer {
    UnsafeRawPointer(bytes + Int(Scramble.mix(number) & UInt64(Self.byteCount - 1)))
  }
}

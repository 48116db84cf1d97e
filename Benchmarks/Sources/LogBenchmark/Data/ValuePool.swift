import CLogFloor

/// Values that compress to about half: each is a window into one buffer, so that making one costs
/// an addition. Pieces of 100 bytes are half noise, half its repetition.
// Unchecked: the bytes are written once, before the pool is shared, and live as long as the
// process.
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

  /// The value of a number; numbers that differ have, as a rule, different values.
  @inline(__always)
  func value(_ number: UInt64) -> UnsafeRawPointer {
    UnsafeRawPointer(bytes + Int(Scramble.mix(number) & UInt64(Self.byteCount - 1)))
  }
}

// xxHash32, the checksum of LZ4 frames.
//
// Input is taken in stripes of 16 bytes, one 32-bit word for each of four lanes; a lane mixes its word in by
// multiply, rotate, multiply. At the end the lanes are folded into one word, the length is added, the bytes that
// filled no stripe are mixed in (words first, then single bytes), and an avalanche spreads the last bits.
// Source: the xxHash specification, version 0.1.1.

/// A running xxHash32 with seed 0.
package struct XXHash32: Sendable {
  private static let prime1: UInt32 = 0x9E37_79B1
  private static let prime2: UInt32 = 0x85EB_CA77
  private static let prime3: UInt32 = 0xC2B2_AE3D
  private static let prime4: UInt32 = 0x27D4_EB2F
  private static let prime5: UInt32 = 0x1656_67B1
  private static let stripeSize = 16

  private var lanes = SIMD4<UInt32>(prime1 &+ prime2, prime2, 0, 0 &- prime1)
  /// The bytes behind the last whole stripe; the first `pendingCount` count.
  private var pending = SIMD16<UInt8>()
  private var pendingCount = 0
  private var size: UInt64 = 0

  package init() {}

  /// The hash of `bytes`.
  package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    var hash = XXHash32()
    hash.update(bytes)
    return hash.value
  }

  /// Appends `bytes` to what is hashed.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    size += UInt64(bytes.count)
    var position = 0
    if pendingCount > 0 { position = fillPending(from: bytes) }
    while bytes.count - position >= Self.stripeSize {
      mix(
        SIMD4(
          Self.word(bytes, position), Self.word(bytes, position + 4), Self.word(bytes, position + 8),
          Self.word(bytes, position + 12)))
      position += Self.stripeSize
    }
    while position < bytes.count {
      pending[pendingCount] = bytes[position]
      pendingCount += 1
      position += 1
    }
  }

  /// The hash of everything appended so far.
  package var value: UInt32 {
    var hash = foldedLanes &+ UInt32(truncatingIfNeeded: size)
    withUnsafeBytes(of: pending) { bytes in
      var position = 0
      while pendingCount - position >= 4 {
        hash = Self.rotate(hash &+ Self.word(bytes, position) &* Self.prime3, 17) &* Self.prime4
        position += 4
      }
      while position < pendingCount {
        hash = Self.rotate(hash &+ UInt32(bytes[position]) &* Self.prime5, 11) &* Self.prime1
        position += 1
      }
    }
    return Self.avalanche(hash)
  }

  private var foldedLanes: UInt32 {
    guard size >= UInt64(Self.stripeSize) else { return Self.prime5 }
    return Self.rotate(lanes[0], 1) &+ Self.rotate(lanes[1], 7) &+ Self.rotate(lanes[2], 12)
      &+ Self.rotate(lanes[3], 18)
  }

  /// Completes the pending stripe as far as `bytes` reach; returns how many were taken.
  private mutating func fillPending(from bytes: UnsafeRawBufferPointer) -> Int {
    let taken = min(Self.stripeSize - pendingCount, bytes.count)
    for index in 0..<taken { pending[pendingCount + index] = bytes[index] }
    pendingCount += taken
    if pendingCount == Self.stripeSize {
      let words = withUnsafeBytes(of: pending) { stripe in
        SIMD4(Self.word(stripe, 0), Self.word(stripe, 4), Self.word(stripe, 8), Self.word(stripe, 12))
      }
      mix(words)
      pendingCount = 0
    }
    return taken
  }

  private mutating func mix(_ words: SIMD4<UInt32>) {
    let sum = lanes &+ words &* Self.prime2
    lanes = ((sum &<< 13) | (sum &>> 19)) &* Self.prime1
  }

  private static func avalanche(_ folded: UInt32) -> UInt32 {
    var hash = folded
    hash = (hash ^ (hash &>> 15)) &* prime2
    hash = (hash ^ (hash &>> 13)) &* prime3
    return hash ^ (hash &>> 16)
  }

  private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 {
    (word &<< count) | (word &>> (32 - count))
  }

  private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
    UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }
}

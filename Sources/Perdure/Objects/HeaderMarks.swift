// Three values of an object's header, in one byte.
//
//     bits 0…2   the raw value of the saved state plus 1; 0 without a saved state
//     bit  3     whether a cached relationship refers to the instance
//     bits 4, 5  the two lowest bits of the link stamp at which bits 6 and 7 were set
//     bit  6     whether a relationship with an even slot was read
//     bit  7     whether a relationship with an odd slot was read

/// The values that share one byte of `ObjectHeader`.
struct HeaderMarks {
  private var bits: UInt8 = 0

  private static let stateBits: UInt8 = 0b111
  private static let keptBit: UInt8 = 0b1000
  private static let stampBits: UInt8 = 0b11_0000

  var savedState: ObjectState? {
    get {
      let state = bits & Self.stateBits
      return state == 0 ? nil : ObjectState(rawValue: state - 1)
    }
    set { bits = bits & ~Self.stateBits | (newValue.map { $0.rawValue + 1 } ?? 0) }
  }

  @inline(__always)
  var isKept: Bool {
    get { bits & Self.keptBit != 0 }
    set { if newValue { bits |= Self.keptBit } else { bits &= ~Self.keptBit } }
  }

  /// Notes that a relationship is read.
  ///
  /// - Returns: Whether it was probably read before at this stamp. Several relationships and stamps
  ///   share the bits.
  @inline(__always)
  mutating func noteRead(_ slot: Int, at stamp: UInt64) -> Bool {
    let end = UInt8(truncatingIfNeeded: stamp & 0b11) &<< 4
    let asked = UInt8(0b100_0000) &<< UInt8(truncatingIfNeeded: slot & 1)
    if bits & Self.stampBits != end {
      bits = bits & (Self.stateBits | Self.keptBit) | end | asked
      return false
    }
    defer { bits |= asked }
    return bits & asked != 0
  }
}

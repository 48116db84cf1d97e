/// Sixteen random bytes that bind a store's files to each other. They are generated when the store
/// is created.
package struct StoreID: Hashable, Sendable, CustomStringConvertible {
  package var high: UInt64
  package var low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  package static func random() -> StoreID {
    StoreID(high: .random(in: 1 ... .max), low: .random(in: .min ... .max))
  }

  package static let length = 16

  init(reading bytes: UnsafeRawBufferPointer, at offset: Int) {
    high = bytes.integer(at: offset)
    low = bytes.integer(at: offset + 8)
  }

  func write(to bytes: UnsafeMutableRawBufferPointer, at offset: Int) {
    bytes.setInteger(high, at: offset)
    bytes.setInteger(low, at: offset + 8)
  }

  package var description: String { hex(high) + hex(low) }
}

/// The number in sixteen lower-case hexadecimal digits.
func hex(_ value: UInt64) -> String {
  let digits = String(value, radix: 16)
  return String(repeating: "0", count: 16 - digits.count) + digits
}

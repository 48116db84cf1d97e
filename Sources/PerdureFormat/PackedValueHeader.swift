/// The header before the LZ4 block of a packed value. FORMAT.md, "Record".
@usableFromInline package struct PackedValueHeader: Hashable, Sendable {
  @inlinable package static var length: Int { 4 }

  /// The length of the unpacked value in bytes.
  package var valueLength: Int
  /// The number of the dictionary with which the value was packed; 0 if none was used.
  package var dictionary: Int

  private static let lengthBits = 21

  package init(valueLength: Int, dictionary: Int) {
    self.valueLength = valueLength
    self.dictionary = dictionary
  }

  package func write(to bytes: UnsafeMutableRawBufferPointer) {
    precondition(
      (1...FormatLimits.inlineValueLengthMax).contains(valueLength)
        && (0...FormatLimits.dictionaryNumberMax).contains(dictionary),
      "The format cannot represent the packed value.")
    bytes.setInteger(UInt32(valueLength | dictionary << Self.lengthBits), at: 0)
  }

  package init(reading bytes: UnsafeRawBufferPointer) throws(FormatError) {
    guard bytes.count > Self.length else {
      throw FormatError(.incomplete, in: "packed value", at: bytes.count)
    }
    let word = Int(bytes.integer(at: 0, as: UInt32.self))
    valueLength = word & (1 << Self.lengthBits - 1)
    dictionary = word >> Self.lengthBits
    guard (1...FormatLimits.inlineValueLengthMax).contains(valueLength) else {
      throw FormatError(.illegalField, in: "packed value", at: 0)
    }
  }
}

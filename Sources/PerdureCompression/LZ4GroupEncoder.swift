#if canImport(CLZ4)
  private import CLZ4
#endif

// Making LZ4 blocks of tens of kilobytes that are written once and read for years: with liblz4's thorough search,
// five times slower than its fast one and a sixth shorter, and opened as fast. Where liblz4 is absent the encoder
// for short values does it, with its one look at each place.

/// Makes blocks of groups of records.
package struct LZ4GroupEncoder: Sendable {
  #if canImport(CLZ4)
    /// Of liblz4's levels from 3 to 12 the first: the next ones cost a half more time for a fiftieth of the bytes.
    private static let level: Int32 = 3
  #else
    private let encoder = LZ4DictionaryEncoder(UnsafeRawBufferPointer(start: nil, count: 0))
  #endif

  package init() {}

  /// Compresses a group into one block.
  ///
  /// - Parameter group: 1 to `LZ4Block.inputSizeLimit` bytes.
  /// - Parameter output: Where the block goes. If there is no room for it, it is not made.
  /// - Returns: The length of the block; nil when it does not fit.
  package func encode(
    _ group: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) -> Int? {
    #if canImport(CLZ4)
      guard let source = group.baseAddress, let target = output.baseAddress,
        group.count <= LZ4Block.inputSizeLimit
      else { return nil }
      let length = LZ4_compress_HC(
        source.assumingMemoryBound(to: CChar.self), target.assumingMemoryBound(to: CChar.self),
        Int32(group.count), Int32(clamping: output.count), Self.level)
      return length > 0 ? Int(length) : nil
    #else
      return encoder.encode(group, into: output)
    #endif
  }
}

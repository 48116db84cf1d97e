#if canImport(CLZ4)
  private import CLZ4
#endif

// Makes LZ4 blocks of tens of kilobytes that are written once and read for years. liblz4's thorough
// search is five times slower than its fast one, its blocks are a sixth shorter, and they
// decompress as fast. Without liblz4 the encoder for short values makes them, with one comparison
// at each position.

/// Makes blocks of groups of records.
package struct LZ4GroupEncoder: Sendable {
  #if canImport(CLZ4)
    /// Of liblz4's levels from 3 to 12 the first: the next ones cost a half more time for a
    /// fiftieth of the bytes.
    private static let level: Int32 = 3
  #else
    private let encoder = LZ4DictionaryEncoder(UnsafeRawBufferPointer(start: nil, count: 0))
  #endif

  package init() {}

  /// Compresses a group into one block.
  ///
  /// - Parameter group: 1 to `LZ4Block.inputSizeLimit` bytes.
  /// - Parameter output: The buffer for the block. If the block does not fit, nothing is returned.
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

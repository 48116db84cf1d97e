// The interface between code that stores LZ4 blocks and code that decompresses them.
//
// A block is a series of sequences. A sequence is a token, literals and a match: a copy of `length`
// bytes from `offset` bytes back. The block contains neither its own length nor its decompressed
// length. The caller supplies both. Two decoders implement this interface: `LZ4Block` calls liblz4,
// and `LZ4BlockDecoder` is written in Swift, for platforms without liblz4.
//
// Rules of both decoders, for any input bytes:
//  LB1. No byte outside the block is read, and no byte outside the output is written.
//  LB2. A match never starts before the first byte of the output buffer, or of the dictionary.
//  LB3. Both decoders give the same bytes for a block that conforms to the format.
//  LB4. For any other block, a decoder throws an error or gives unspecified bytes. If liblz4
//       decompresses a block, `LZ4BlockDecoder` gives the same bytes, except for a match with
//       offset 0. The format forbids that offset: `LZ4BlockDecoder` rejects it, and liblz4 writes
//       arbitrary bytes. `LZ4BlockDecoder` also accepts matches that are nearer to the end than the
//       format allows.
// A block has no checksum. A caller that must detect damage checks its own checksum first.

/// A decoder of LZ4 blocks.
package protocol LZ4BlockDecoding: Sendable {
  /// Decompresses one block that was made with a dictionary. Its matches may copy bytes of the
  /// dictionary, which is a separate buffer.
  ///
  /// - Parameters:
  ///   - block: Exactly one compressed block; at least 1 byte.
  ///   - output: The buffer for the result. The result starts at its first byte.
  ///   - dictionary: The same dictionary as for compression. Matches use at most its last 65,535
  ///     bytes.
  /// - Returns: The number of bytes written.
  /// - Throws: `CompressionError` with an offset in `block`. The bytes of `output` are then
  ///   unspecified.
  /// - Complexity: O(bytes read + bytes written), independent of the dictionary's length. It does
  ///   not allocate.
  static func decompress(
    _ block: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
    dictionary: UnsafeRawBufferPointer
  ) throws(CompressionError) -> Int
}

extension LZ4BlockDecoding {
  /// Decompresses one block that was made without a dictionary. See
  /// `decompress(_:into:dictionary:)`.
  package static func decompress(
    _ block: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(CompressionError) -> Int {
    try decompress(block, into: output, dictionary: UnsafeRawBufferPointer(start: nil, count: 0))
  }

  /// Decompresses one block whose decompressed size the caller knows.
  ///
  /// - Throws: `CompressionError`. If the block contains fewer bytes, the code is `.damaged`. If it
  ///   contains more, the code is `.damaged` or `.outputTooSmall`.
  package static func decompress(
    _ block: UnsafeRawBufferPointer, size: Int
  ) throws(CompressionError) -> [UInt8] {
    var failure: CompressionError?
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      let output = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<size])
      do throws(CompressionError) {
        count = try decompress(block, into: output)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    guard bytes.count == size else {
      throw CompressionError(
        .damaged, at: block.count, "The block has \(bytes.count) bytes, but \(size) were expected,")
    }
    return bytes
  }
}

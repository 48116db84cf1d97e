// The interface between code that holds LZ4 blocks and code that decompresses them.
//
// A block is a run of sequences: a token, literals, then a match (copy `length` bytes from `offset`
// bytes back). It contains neither its own length nor its decompressed length; the caller supplies
// both. Two decoders implement this interface: `LZ4Block`, which calls liblz4, and
// `LZ4BlockDecoder`, in Swift, for platforms without it.
//
// Rules both follow, for any input bytes:
//  LB1. No byte outside the block is read, none outside the output is written.
//  LB2. A match never reaches back beyond the first byte of the output buffer, or of the
//       dictionary.
//  LB3. A block that keeps to the format gives the same bytes through either.
//  LB4. Any other block is refused or gives bytes. If liblz4 decompresses a block,
//       `LZ4BlockDecoder` gives the same bytes, except for a match with offset 0: the format
//       forbids it, Swift refuses it, liblz4 fills in arbitrary bytes. `LZ4BlockDecoder` also opens
//       blocks whose matches come closer to the end than the format allows.
// A block has no checksum. Callers that must detect damage check one of their own first.

/// A decoder of LZ4 blocks.
package protocol LZ4BlockDecoding: Sendable {
  /// Decompresses one block that was made with a dictionary: its matches may copy from that
  /// separate buffer.
  ///
  /// - Parameters:
  ///   - block: Exactly one compressed block; at least 1 byte.
  ///   - output: The buffer of the result, which begins with its first byte.
  ///   - dictionary: The bytes before it, as they were when the block was made; only the last 64
  ///     KiB can be referred to.
  /// - Returns: How many bytes were written.
  /// - Throws: `CompressionError` with an offset in `block`. The bytes of `output` are then
  ///   unspecified.
  /// - Complexity: O(bytes read + bytes written), whatever the length of the dictionary; it does
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
  /// - Throws: `CompressionError`; `.damaged` also when the block holds another number of bytes.
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
        .damaged, at: block.count, "The block holds \(bytes.count) bytes where \(size) were expected,")
    }
    return bytes
  }
}

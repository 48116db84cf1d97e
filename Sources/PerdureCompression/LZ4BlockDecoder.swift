// An LZ4 decoder in Swift.
//
// A sequence:   token | more literal length... | literals | offset (2 bytes) | more match length...
//   token       high 4 bits: literal length; low 4 bits: match length - 4. The value 15 means that
//               more bytes follow. They are added up to and including the first byte below 255.
//   offset      little-endian, 1...65535: the distance from the output position back to the start
//               of the match. A match may overlap its copy (offset 1 repeats one byte).
// The last sequence ends after its literals.
//
// This decoder checks the offsets, and the bounds of the block and of the output. The format also
// forbids matches near the end, so that decoders can copy in long steps. This decoder does not copy
// beyond a match, so it ignores that rule.

/// Decodes raw LZ4 blocks without liblz4. The decoder is slower than liblz4 and gives equal
/// results: see rules LB3 and LB4 of `LZ4BlockDecoding`.
package enum LZ4BlockDecoder: LZ4BlockDecoding {
  package static func decompress(
    _ block: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
    dictionary: UnsafeRawBufferPointer
  ) throws(CompressionError) -> Int {
    guard !block.isEmpty else {
      throw CompressionError(.truncated, at: 0, "The LZ4 block is empty")
    }
    var sequences = Sequences(block: block, output: output)
    sequences.dictionary = UnsafeRawBufferPointer(rebasing: dictionary.suffix(0xFFFF))
    while try !sequences.decodeNext() {}
    return sequences.written
  }
}

/// The state of a decoder: the read position in the block and the write position in the output.
private struct Sequences {
  private let block: UnsafeRawBufferPointer
  private let output: UnsafeMutableRawBufferPointer
  /// The bytes that logically precede the output.
  var dictionary = UnsafeRawBufferPointer(start: nil, count: 0)
  private var read = 0
  private(set) var written = 0

  init(block: UnsafeRawBufferPointer, output: UnsafeMutableRawBufferPointer) {
    self.block = block
    self.output = output
  }

  /// Decodes one sequence. Returns true if it was the last one.
  mutating func decodeNext() throws(CompressionError) -> Bool {
    guard read < block.count else { throw truncated() }
    let token = Int(block[read])
    read += 1
    try copyLiterals(try length(token >> 4))
    if read == block.count { return true }
    let offset = try matchOffset()
    try copyMatch(offset: offset, length: try length(token & 15) + 4)
    return false
  }

  /// Reads the rest of a length whose first four bits are `start`, and returns the whole length.
  private mutating func length(_ start: Int) throws(CompressionError) -> Int {
    guard start == 15 else { return start }
    var length = start
    while true {
      guard read < block.count else { throw truncated() }
      let more = Int(block[read])
      read += 1
      length += more
      // This check also prevents an overflow of the sum on a long run of 255s.
      guard length <= output.count else { throw tooSmall() }
      if more < 255 { return length }
    }
  }

  private mutating func copyLiterals(_ length: Int) throws(CompressionError) {
    guard length <= block.count - read else { throw truncated() }
    guard length <= output.count - written else { throw tooSmall() }
    if length > 0, let target = output.baseAddress, let source = block.baseAddress {
      target.advanced(by: written).copyMemory(from: source.advanced(by: read), byteCount: length)
    }
    read += length
    written += length
  }

  private mutating func matchOffset() throws(CompressionError) -> Int {
    guard block.count - read >= 2 else { throw truncated() }
    let offset = Int(block[read]) | Int(block[read + 1]) << 8
    guard offset != 0 else { throw damaged("An LZ4 match has offset 0") }
    guard offset <= written + dictionary.count else {
      throw damaged("An LZ4 match reaches back before the start")
    }
    read += 2
    return offset
  }

  private mutating func copyMatch(offset: Int, length: Int) throws(CompressionError) {
    guard length <= output.count - written, let base = output.baseAddress else { throw tooSmall() }
    let length = length - copyFromDictionary(back: offset - written, length, to: base)
    if length == 0 { return }
    let source = base.advanced(by: written - offset)
    let target = base.advanced(by: written)
    var copied = min(offset, length)
    target.copyMemory(from: source, byteCount: copied)
    // An overlapping match repeats its first `offset` bytes. The number of bytes copied so far is a
    // multiple of `offset`, so they can be copied again.
    while copied < length {
      let step = min(copied, length - copied)
      target.advanced(by: copied).copyMemory(from: target, byteCount: step)
      copied += step
    }
    written += length
  }

  /// Copies the part of a match that is in the dictionary.
  ///
  /// - Parameter distance: The distance from the match's first byte to the end of the dictionary.
  ///   At most 0 if the match is in the output.
  /// - Returns: The number of copied bytes.
  private mutating func copyFromDictionary(
    back distance: Int, _ length: Int, to base: UnsafeMutableRawPointer
  ) -> Int {
    guard distance > 0, let dictionaryBase = dictionary.baseAddress else { return 0 }
    let count = min(distance, length)
    base.advanced(by: written)
      .copyMemory(from: dictionaryBase + (dictionary.count - distance), byteCount: count)
    written += count
    return count
  }

  private func truncated() -> CompressionError {
    CompressionError(.truncated, at: read, "The LZ4 block ends too early")
  }

  private func tooSmall() -> CompressionError {
    CompressionError(
      .outputTooSmall, at: read, "The LZ4 block needs more than \(output.count) bytes of output")
  }

  private func damaged(_ message: String) -> CompressionError {
    CompressionError(.damaged, at: read, message)
  }
}

// A stream of LZ4 frames, opened one block at a time.
//
//   stream := frame+          frame := magic header block* 0x00000000 [content checksum]
//   block  := size (4 bytes; high bit: stored as it is) data [block checksum]
//           | a skippable frame: magic 0x184D2A50...5F, size (4 bytes), that many bytes
//
//  F1. At most one block is held, compressed and decompressed, with 64 KiB of history before it: memory is
//      bounded by 2 x 4 MiB + 64 KiB, whatever the stream says about itself.
//  F2. Nothing is allocated for a size before that size has been checked against the limit of its frame.
//  F3. Every check that the stream carries is made: header, block and content checksum, content size.
//  F4. Bytes are handed out as soon as their block is good; damage further on is reported when it is reached.
//  F5. The end of the source is the end of the stream only between two frames.

/// Reads the content of concatenated LZ4 frames from a source of bytes, in pieces of at most 4 MiB.
package struct LZ4FrameReader: ~Copyable {
  /// Fills the buffer from its start and returns how many bytes came; 0 only at the end of the source.
  package typealias Source = (_ buffer: UnsafeMutableRawBufferPointer) throws -> Int

  private enum State {
    case betweenFrames
    case inFrame(LZ4FrameHeader)
    case ended
    case failed(CompressionError)
  }

  private static let historySizeLimit = 0x1_0000
  private let decoder: any LZ4BlockDecoding.Type
  private var input: FrameInput
  private var window = ByteBuffer()
  private var historySize = 0
  private var block = ByteBuffer()
  private var contentHash = XXHash32()
  private var contentSize: UInt64 = 0
  private var frameCount = 0
  private var state = State.betweenFrames

  /// - Parameters:
  ///   - decoder: What opens the blocks.
  ///   - source: Called for more bytes; what it throws comes out as `.unreadable` with that as the cause.
  package init(decoder: any LZ4BlockDecoding.Type = LZ4Block.self, source: @escaping Source) {
    self.decoder = decoder
    input = FrameInput(source)
  }

  /// How many bytes of the source have been used so far.
  package var bytesRead: Int { input.offset }

  /// Lends the next piece of content to `body`; nil at the end of the stream.
  ///
  /// - Throws: `.truncated`, `.damaged`, `.unsupported` or `.unreadable` with the offset in the source. Pieces lent
  ///   before are good as far as block checksums go; the content checksum is judged at the end of each frame.
  ///   Every later call throws the same error.
  /// - Complexity: O(size of a block); allocates only when a frame has larger blocks than those before.
  package mutating func withNextChunk<R>(
    _ body: (UnsafeRawBufferPointer) -> R
  ) throws(CompressionError) -> R? {
    do throws(CompressionError) {
      guard let chunk = try nextChunk() else { return nil }
      return body(UnsafeRawBufferPointer(rebasing: window.bytes[chunk]))
    } catch {
      state = .failed(error)
      throw error
    }
  }

  /// Decodes blocks until one holds something; its place in the window.
  private mutating func nextChunk() throws(CompressionError) -> Range<Int>? {
    while true {
      switch state {
      case .failed(let error): throw error
      case .ended: return nil
      case .betweenFrames: try startFrame()
      case .inFrame(let header):
        guard let size = try nextBlockSize(header) else {
          try endFrame(header)
          continue
        }
        let chunk = try decodeBlock(size, header)
        if !chunk.isEmpty { return chunk }
      }
    }
  }

  private mutating func startFrame() throws(CompressionError) {
    let start = input.offset
    guard try !input.isAtEnd() else {
      guard frameCount > 0 else {
        throw CompressionError(.truncated, at: 0, "The LZ4 stream is empty")
      }
      state = .ended
      return
    }
    let magic = try input.word("the magic number of an LZ4 frame")
    frameCount += 1
    if LZ4FrameHeader.skippableMagics.contains(magic) {
      try input.skip(Int(clamping: try input.word("the size of a skippable frame")))
    } else if magic == LZ4FrameHeader.magic {
      try beginContent(try header())
    } else {
      throw CompressionError(.damaged, at: start, "There is no LZ4 frame")
    }
  }

  private mutating func header() throws(CompressionError) -> LZ4FrameHeader {
    let start = input.offset
    block.reserve(LZ4FrameHeader.descriptorSizeLimit)
    try input.read(into: block.bytes, 0..<1, "an LZ4 frame header")
    let size = LZ4FrameHeader.descriptorSize(flags: block.bytes[0])
    try input.read(into: block.bytes, 1..<size, "an LZ4 frame header")
    return try LZ4FrameHeader(
      descriptor: UnsafeRawBufferPointer(rebasing: block.bytes[..<size]), at: start)
  }

  private mutating func beginContent(_ header: LZ4FrameHeader) throws(CompressionError) {
    block.reserve(header.blockSizeLimit)
    window.reserve(Self.historySizeLimit + header.blockSizeLimit)
    historySize = 0
    contentHash = XXHash32()
    contentSize = 0
    state = .inFrame(header)
  }

  /// The stored size of the next block and whether it is compressed; nil at the mark that ends the blocks.
  private mutating func nextBlockSize(_ header: LZ4FrameHeader) throws(CompressionError) -> BlockSize? {
    let start = input.offset
    let word = try input.word("the size of an LZ4 block")
    guard word != 0 else { return nil }
    let size = BlockSize(bytes: Int(word & 0x7FFF_FFFF), isCompressed: word >> 31 == 0)
    guard size.bytes <= header.blockSizeLimit else {
      throw CompressionError(
        .damaged, at: start,
        "An LZ4 block of \(size.bytes) bytes exceeds its frame's limit of \(header.blockSizeLimit)")
    }
    return size
  }

  private mutating func decodeBlock(
    _ size: BlockSize, _ header: LZ4FrameHeader
  ) throws(CompressionError) -> Range<Int> {
    let start = input.offset
    try input.read(into: block.bytes, 0..<size.bytes, "an LZ4 block")
    let stored = UnsafeRawBufferPointer(rebasing: block.bytes[..<size.bytes])
    if header.hasBlockChecksums {
      let checksumOffset = input.offset
      guard try input.word("the checksum of an LZ4 block") == XXHash32.hash(stored) else {
        throw CompressionError(.damaged, at: checksumOffset, "The checksum of an LZ4 block does not match")
      }
    }
    let chunk = try fillWindow(stored, size, header, at: start)
    if header.hasContentChecksum { contentHash.update(UnsafeRawBufferPointer(rebasing: window.bytes[chunk])) }
    contentSize += UInt64(chunk.count)
    return chunk
  }

  /// Puts the content of a block behind its history.
  private mutating func fillWindow(
    _ stored: UnsafeRawBufferPointer, _ size: BlockSize, _ header: LZ4FrameHeader, at start: Int
  ) throws(CompressionError) -> Range<Int> {
    if header.hasIndependentBlocks { historySize = 0 }
    keepHistory()
    let room = UnsafeMutableRawBufferPointer(
      rebasing: window.bytes[..<(historySize + header.blockSizeLimit)])
    let chunkStart = historySize
    if size.isCompressed {
      do throws(CompressionError) {
        historySize += try decoder.decompress(stored, into: room, after: chunkStart)
      } catch {
        // Its size word was there, so whatever is wrong with the block is damage to the frame.
        throw CompressionError(.damaged, at: start + error.byteOffset, error.message)
      }
    } else {
      UnsafeMutableRawBufferPointer(rebasing: room[chunkStart...]).copyMemory(from: stored)
      historySize += stored.count
    }
    return chunkStart..<historySize
  }

  /// Moves the last 64 KiB of the window to its start.
  private mutating func keepHistory() {
    guard historySize > Self.historySizeLimit else { return }
    let kept = UnsafeRawBufferPointer(
      rebasing: window.bytes[(historySize - Self.historySizeLimit)..<historySize])
    window.bytes.copyMemory(from: kept)
    historySize = Self.historySizeLimit
  }

  private mutating func endFrame(_ header: LZ4FrameHeader) throws(CompressionError) {
    if let expected = header.contentSize, expected != contentSize {
      throw CompressionError(
        .damaged, at: input.offset, "The LZ4 frame holds \(contentSize) bytes where it promised \(expected),")
    }
    if header.hasContentChecksum {
      let start = input.offset
      guard try input.word("the content checksum of an LZ4 frame") == contentHash.value else {
        throw CompressionError(.damaged, at: start, "The content checksum of an LZ4 frame does not match")
      }
    }
    state = .betweenFrames
  }
}

/// A block as its size word describes it.
private struct BlockSize {
  var bytes: Int
  var isCompressed: Bool
}

import PerdureCompression

/// Makes LZ4 frames byte by byte, with any option on and any part wrong.
struct FrameBuilder {
  enum Block {
    case compressed([UInt8])
    case stored([UInt8])
  }

  var independentBlocks = true
  var blockChecksums = false
  var contentChecksum = false
  var contentSize: UInt64?
  var dictionaryID: UInt32?
  var sizeClass: UInt8 = 4
  var version: UInt8 = 1

  func frame(_ blocks: [Block], content: [UInt8]) -> [UInt8] {
    var bytes = littleEndian(0x184D_2204 as UInt32)
    let descriptor = descriptor
    bytes += descriptor + [UInt8(truncatingIfNeeded: hash(descriptor) >> 8)]
    for block in blocks { bytes += encoded(block) }
    bytes += [0, 0, 0, 0]
    if contentChecksum { bytes += littleEndian(hash(content)) }
    return bytes
  }

  /// A frame of `content` in blocks of at most `blockSize` bytes that refer to nothing before them.
  func frame(_ content: [UInt8], blockSize: Int = 65_536) throws -> [UInt8] {
    let blocks = try stride(from: 0, to: content.count, by: blockSize).map { start in
      Block.compressed(try compressed(Array(content[start..<min(start + blockSize, content.count)])))
    }
    return frame(blocks, content: content)
  }

  static func skippable(_ bytes: [UInt8], number: UInt32 = 0) -> [UInt8] {
    littleEndian(0x184D_2A50 + number) + littleEndian(UInt32(bytes.count)) + bytes
  }

  private var descriptor: [UInt8] {
    var flags = version << 6
    if independentBlocks { flags |= 0b10_0000 }
    if blockChecksums { flags |= 0b1_0000 }
    if contentSize != nil { flags |= 0b1000 }
    if contentChecksum { flags |= 0b100 }
    if dictionaryID != nil { flags |= 0b1 }
    return [flags, sizeClass << 4] + (contentSize.map(littleEndian) ?? [])
      + (dictionaryID.map(littleEndian) ?? [])
  }

  private func encoded(_ block: Block) -> [UInt8] {
    switch block {
    case .compressed(let bytes): encoded(bytes, flag: 0)
    case .stored(let bytes): encoded(bytes, flag: 0x8000_0000)
    }
  }

  private func encoded(_ bytes: [UInt8], flag: UInt32) -> [UInt8] {
    littleEndian(UInt32(bytes.count) | flag) + bytes + (blockChecksums ? littleEndian(hash(bytes)) : [])
  }

  private func hash(_ bytes: [UInt8]) -> UInt32 { bytes.withUnsafeBytes { XXHash32.hash($0) } }
}

func littleEndian<Word: FixedWidthInteger>(_ word: Word) -> [UInt8] {
  withUnsafeBytes(of: word.littleEndian) { Array($0) }
}

/// Reads a whole stream, asking the source for at most `pieceSize` bytes at a time.
func content(
  of stream: [UInt8], pieceSize: Int = .max, decoder: any LZ4BlockDecoding.Type = LZ4Block.self
) throws(CompressionError) -> [UInt8] {
  var collected: [UInt8] = []
  try readAll(stream, pieceSize: pieceSize, decoder: decoder) { collected += $0 }
  return collected
}

/// Lends every chunk of a stream to `body`; returns how many bytes of the stream were used.
@discardableResult
func readAll(
  _ stream: [UInt8], pieceSize: Int = .max, decoder: any LZ4BlockDecoding.Type = LZ4Block.self,
  _ body: (UnsafeRawBufferPointer) -> Void
) throws(CompressionError) -> Int {
  var position = 0
  var reader = LZ4FrameReader(decoder: decoder) { buffer in
    let count = min(buffer.count, pieceSize, stream.count - position)
    buffer.copyBytes(from: stream[position..<(position + count)])
    position += count
    return count
  }
  while let _ = try reader.withNextChunk({ body($0) }) {}
  return reader.bytesRead
}

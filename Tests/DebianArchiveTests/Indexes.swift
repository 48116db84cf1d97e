import PerdureCompression

@testable import DebianIndexReading

/// An index as bytes, read in pieces of at most `pieceSize`.
func stanzas(
  of text: [UInt8], pieceSize: Int = .max
) -> (stanzas: [Stanza], problems: [ArchiveProblem], error: ArchiveReadError?) {
  let problems = Collected<ArchiveProblem>()
  var found: [Stanza] = []
  do throws(ArchiveReadError) {
    var reader = try reader(of: text, pieceSize: pieceSize) { problems.items.append($0) }
    while let stanza = try reader.next() { found.append(stanza) }
  } catch {
    return (found, problems.items, error)
  }
  return (found, problems.items, nil)
}

func stanzas(
  of text: String, pieceSize: Int = .max
) -> (stanzas: [Stanza], problems: [ArchiveProblem], error: ArchiveReadError?) {
  stanzas(of: Array(text.utf8), pieceSize: pieceSize)
}

func reader(
  of bytes: [UInt8], pieceSize: Int = .max, report: @escaping (ArchiveProblem) -> Void = { _ in }
) throws(ArchiveReadError) -> StanzaReader {
  var position = 0
  let text = try IndexText { buffer in
    let count = min(buffer.count, pieceSize, bytes.count - position)
    buffer.copyBytes(from: bytes[position..<(position + count)])
    position += count
    return count
  }
  return StanzaReader(label: "test", text: text, report: report)
}

final class Collected<Item> {
  var items: [Item] = []
}

/// An LZ4 frame of blocks of 64 KiB with block checksums.
func frame(_ content: [UInt8]) throws -> [UInt8] {
  func word(_ word: UInt32) -> [UInt8] { withUnsafeBytes(of: word.littleEndian) { Array($0) } }
  func hash(_ bytes: [UInt8]) -> UInt32 { bytes.withUnsafeBytes { XXHash32.hash($0) } }
  let descriptor: [UInt8] = [0b0111_0000, 4 << 4]
  var stream = word(0x184D_2204) + descriptor + [UInt8(truncatingIfNeeded: hash(descriptor) >> 8)]
  for start in stride(from: 0, to: content.count, by: 65_536) {
    let block = try Array(content[start...].prefix(65_536)).withUnsafeBytes { try LZ4Block.compress($0) }
    stream += word(UInt32(block.count)) + block + word(hash(block))
  }
  return stream + word(0)
}

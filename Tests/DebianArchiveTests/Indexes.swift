import CLZ4
import Testing

@testable import DebianIndexReading

/// Reads the stanzas of an index in pieces of at most `pieceSize` bytes.
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

/// An LZ4 frame of blocks of 64 KiB, with all checksums.
func frame(_ content: [UInt8]) throws -> [UInt8] {
  var preferences = LZ4F_preferences_t()
  preferences.frameInfo.blockSizeID = LZ4F_max64KB
  preferences.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled
  preferences.frameInfo.contentSize = UInt64(content.count)
  let bound = LZ4F_compressFrameBound(content.count, &preferences)
  let bytes = [UInt8](unsafeUninitializedCapacity: bound) { output, count in
    let length = LZ4F_compressFrame(output.baseAddress, bound, content, content.count, &preferences)
    count = LZ4F_isError(length) == 0 ? length : 0
  }
  try #require(!bytes.isEmpty)
  return bytes
}

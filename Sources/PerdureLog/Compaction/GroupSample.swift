import PerdureCompression
import PerdureFormat

/// Estimates the size of a segment's frames in groups. Some of the frames are packed as a trial,
/// before any file is written.
///
/// The estimate packs pieces with the length of a group, as far apart as possible. If there are few
/// pieces, it packs all frames. A piece may begin and end at any byte, because any piece of that
/// length compresses about as well as a group.
struct GroupSample {
  /// Bytes that were packed as a trial, and their size in groups, including the group entries.
  private(set) var frameBytes = 0
  private(set) var storedBytes = 0

  /// The maximum number of pieces. With the default lengths of groups and segments, this is 1 MiB
  /// of 64 MiB.
  static let pieceCountMax = 16

  /// - Parameter frames: All frames of a segment, unpacked.
  init(_ frames: UnsafeRawBufferPointer, groupLength: Int) {
    let encoder = LZ4GroupEncoder()
    for range in Self.pieces(of: frames.count, groupLength) {
      frameBytes += range.count
      withUnsafeTemporaryAllocation(byteCount: ValuePacker.lengthMax(of: range.count), alignment: 8) {
        target in
        storedBytes += (encoder.encode(frames.part(range), into: target) ?? range.count).roundedUpToAlignment
      }
      storedBytes += GroupEntry.length
    }
  }

  /// The ranges of the pieces, in order and without overlap.
  static func pieces(of length: Int, _ groupLength: Int) -> [Range<Int>] {
    let all = (length + groupLength - 1) / groupLength
    let count = min(all, pieceCountMax)
    return (0..<count).map { index in
      let start = index * all / count * groupLength
      return start..<min(start + groupLength, length)
    }
  }
}

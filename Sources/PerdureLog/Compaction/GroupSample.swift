import PerdureCompression
import PerdureFormat

/// How much shorter frames become in groups, judged by some of them before anything is written.
///
/// It packs pieces with the length of a group, as far apart as possible, or everything if that is
/// no more. A piece begins and ends anywhere: what repeats itself in a group does so in any bytes
/// of that length.
struct GroupSample {
  /// Bytes that were packed as a trial, and their size in groups, including the group entries.
  private(set) var frameBytes = 0
  private(set) var storedBytes = 0

  /// How many pieces are tried at most: of groups and segments as they are by default, 1 MiB of 64.
  static let pieceCountMax = 16

  /// - Parameter frames: All frames of a segment as they are.
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

  /// Where the pieces lie: in order, none over another.
  static func pieces(of length: Int, _ groupLength: Int) -> [Range<Int>] {
    let all = (length + groupLength - 1) / groupLength
    let count = min(all, pieceCountMax)
    return (0..<count).map { index in
      let start = index * all / count * groupLength
      return start..<min(start + groupLength, length)
    }
  }
}

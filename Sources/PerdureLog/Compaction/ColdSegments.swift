/// Decides which segments contain long-lived records. It reads no file.
///
/// Records that a rewrite has kept usually stay live. Old records also usually stay live. The age
/// of a segment is the number of segments written after it.
enum ColdSegments {
  /// Whether a segment counts as cold: it was rewritten, or at least a quarter of the segments were
  /// written after it.
  ///
  /// - Parameter generation: How often the segment was rewritten.
  /// - Parameter place: The number of segments of the log before it.
  /// - Parameter count: The number of all segments, without the one that is being written.
  static func isCold(generation: UInt64, place: Int, of count: Int) -> Bool {
    generation > 0 || (count - 1 - place) * 4 >= count
  }

  /// The expected file length, in bytes, of a segment whose frames are stored in groups. It assumes
  /// that the kept frames compress as well as the current frames.
  ///
  /// - Parameter length: The file's length with the kept frames unpacked.
  /// - Parameter frames: The number of bytes of frames in `length`.
  /// - Parameter storedNow: The current size of the frames in the file, in groups.
  /// - Parameter framesNow: The current size of the frames when unpacked.
  static func expectedLength(length: Int, frames: Int, storedNow: Int, framesNow: Int) -> Int {
    guard framesNow > 0 else { return length }
    return length - frames + Int(Double(frames) * Double(storedNow) / Double(framesNow))
  }
}

/// Decides which segments hold records that have lived long. It only computes.
///
/// Records that survived a rewriting mostly stay live. So do old records. The age of a segment is
/// the number of segments written since.
enum ColdSegments {
  /// - Parameter generation: How often the segment was rewritten.
  /// - Parameter place: The number of segments of the log before it.
  /// - Parameter count: The number of all segments, without the one that is being written.
  static func isCold(generation: UInt64, place: Int, of count: Int) -> Bool {
    generation > 0 || (count - 1 - place) * 4 >= count
  }

  /// The expected length of the file of a segment in groups, in bytes. It assumes that the kept
  /// frames shrink as much as all frames did before.
  ///
  /// - Parameter length: The file's length with the kept frames unpacked.
  /// - Parameter frames: The part of `length` that is frames.
  /// - Parameter storedNow: The present size of the frames in the file, in groups.
  /// - Parameter framesNow: The present size of the frames when unpacked.
  static func expectedLength(length: Int, frames: Int, storedNow: Int, framesNow: Int) -> Int {
    guard framesNow > 0 else { return length }
    return length - frames + Int(Double(frames) * Double(storedNow) / Double(framesNow))
  }
}

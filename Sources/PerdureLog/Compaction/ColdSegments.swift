/// Which segments hold records that have lived long: values in, values out.
///
/// Records that survived a rewriting mostly stay live. So do records that are old, measured by the
/// bytes written since.
enum ColdSegments {
  /// - Parameter generation: How often the segment was rewritten.
  /// - Parameter place: How many segments of the log come before it.
  /// - Parameter count: How many there are, without the one that is being written.
  static func isCold(generation: UInt64, place: Int, of count: Int) -> Bool {
    generation > 0 || (count - 1 - place) * 4 >= count
  }

  /// How long the file of a segment in groups will be, in bytes, if the frames that stay shrink as
  /// all did before.
  ///
  /// - Parameter length: Counts unchanged frames too.
  /// - Parameter frames: The part of `length` that is frames.
  /// - Parameter storedNow: The present size of the frames in the file, in groups.
  /// - Parameter framesNow: The current bytes of the frames when unpacked.
  static func expectedLength(length: Int, frames: Int, storedNow: Int, framesNow: Int) -> Int {
    guard framesNow > 0 else { return length }
    return length - frames + Int(Double(frames) * Double(storedNow) / Double(framesNow))
  }
}

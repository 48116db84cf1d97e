/// The number of durations in each bucket. Two durations in one bucket differ by at most 1/64 of
/// the smaller one.
struct Histogram: Equatable {
  private static let subdivisionBits = 6
  private var counts = [UInt32](repeating: 0, count: 64 << Self.subdivisionBits)
  private(set) var count = 0
  /// The largest duration, exactly.
  private(set) var maximum: UInt64 = 0

  @inline(__always)
  mutating func record(_ nanoseconds: UInt64) {
    counts[Self.bucket(of: nanoseconds)] &+= 1
    count &+= 1
    if nanoseconds > maximum { maximum = nanoseconds }
  }

  mutating func merge(_ other: Histogram) {
    for index in counts.indices { counts[index] &+= other.counts[index] }
    count += other.count
    maximum = max(maximum, other.maximum)
  }

  /// A duration that at least `fraction` of the durations do not exceed: the upper bound of a
  /// bucket, or the maximum if it is less. Returns 0 if there are no durations.
  func percentile(_ fraction: Double) -> UInt64 {
    guard count > 0 else { return 0 }
    let wanted = max(1, Int((fraction * Double(count)).rounded(.up)))
    var seen = 0
    for index in counts.indices {
      seen += Int(counts[index])
      if seen >= wanted { return min(Self.upperBound(of: index), maximum) }
    }
    return maximum
  }

  /// The bucket of a duration. Each duration below 64 has its own bucket. Above, each power of two
  /// has 64 buckets.
  @inline(__always)
  static func bucket(of nanoseconds: UInt64) -> Int {
    guard nanoseconds >= 64 else { return Int(nanoseconds) }
    let shift = 63 - nanoseconds.leadingZeroBitCount - subdivisionBits
    return (shift + 1) << subdivisionBits + Int(nanoseconds >> UInt64(shift)) - 64
  }

  /// The largest duration in a bucket.
  static func upperBound(of bucket: Int) -> UInt64 {
    guard bucket >= 64 else { return UInt64(bucket) }
    let shift = UInt64(bucket >> subdivisionBits - 1)
    let mantissa = UInt64(bucket & 63 + 64)
    return (mantissa + 1) << shift &- 1
  }
}

import CPerdureShims
import PerdureFormat

/// Orders the reads of many records by their addresses, and prefetches the next records.
enum BatchOrder {
  /// The number of records that are prefetched ahead.
  static let distance = 8

  /// The indices of the words, sorted by address. Absent records (word 0) are first.
  static func byAddress(_ words: UnsafeMutableBufferPointer<UInt64>) -> [Int] {
    words.indices.sorted { place(words[$0]) < place(words[$1]) }
  }

  /// Whether the words are already sorted by address, as is usual for records written together.
  static func isByAddress(_ words: UnsafeMutableBufferPointer<UInt64>) -> Bool {
    var position = 1
    while position < words.count, place(words[position &- 1]) <= place(words[position]) { position &+= 1 }
    return position >= words.count
  }

  /// The low bits of a word. They contain the offset and, above it, the segment number.
  @inline(__always)
  private static func place(_ word: UInt64) -> UInt64 { word & 0x7_FFFF_FFFF_FFFF }

  /// Prefetches the record at a step of the order. If `order` is nil, the steps follow the order of
  /// the words.
  @inline(__always)
  static func prefetch(
    _ step: Int, of order: [Int]?, _ words: UnsafeMutableBufferPointer<UInt64>,
    _ root: UnsafeMutablePointer<Root>
  ) {
    guard step < words.count else { return }
    let word = words[order?[step] ?? step]
    guard word != 0 else { return }
    let address = RecordAddress(rawValue: word)
    guard let start = root.hint(of: address) else { return }
    perdure_prefetch(start)
    if address.sizeClass > 2 { perdure_prefetch(start + 64) }
  }
}

import CPerdureShims
import PerdureFormat

/// Reading many records: in the order of their addresses, with the next ones already on the way.
enum BatchOrder {
  /// How many records ahead are prefetched.
  static let distance = 8

  /// Positions sorted by address; absent ones (word 0) first.
  static func byAddress(_ words: UnsafeMutableBufferPointer<UInt64>) -> [Int] {
    words.indices.sorted { place(words[$0]) < place(words[$1]) }
  }

  /// Whether the words are already in order: the usual case for records written together.
  static func isByAddress(_ words: UnsafeMutableBufferPointer<UInt64>) -> Bool {
    var position = 1
    while position < words.count, place(words[position &- 1]) <= place(words[position]) { position &+= 1 }
    return position >= words.count
  }

  /// Offset and segment are the word's low bits, segment above offset.
  @inline(__always)
  private static func place(_ word: UInt64) -> UInt64 { word & 0x7_FFFF_FFFF_FFFF }

  /// Asks the processor for the record at a step of the order; nil is the order of the words.
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

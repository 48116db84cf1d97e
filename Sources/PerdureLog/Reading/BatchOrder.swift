import CPerdureShims
import PerdureFormat

/// Reading many records: in the order of their addresses, with the next ones already on the way.
enum BatchOrder {
  /// How many records ahead are asked for.
  static let distance = 8

  /// Positions sorted by address; absent ones (word 0) first.
  static func byAddress(_ words: UnsafeMutableBufferPointer<UInt64>) -> [Int] {
    // Offset and segment are the word's low bits, segment above offset.
    words.indices.sorted { (words[$0] & 0x7_FFFF_FFFF_FFFF) < (words[$1] & 0x7_FFFF_FFFF_FFFF) }
  }

  /// Asks the processor for the record at a step of the order.
  static func prefetch(
    _ step: Int, of order: [Int], _ words: UnsafeMutableBufferPointer<UInt64>,
    _ root: UnsafeMutablePointer<Root>
  ) {
    guard step < order.count else { return }
    let word = words[order[step]]
    guard word != 0 else { return }
    let address = RecordAddress(rawValue: word)
    guard let base = root.pointee.segments[Int(truncatingIfNeeded: address.segment)].base else { return }
    let start = base + address.offset
    perdure_prefetch(start)
    if address.sizeClass > 2 { perdure_prefetch(start + 64) }
  }
}

import CPerdureShims
import PerdureFormat

// Records lie in the order in which they were written, so a read that goes by keys misses the cache for each
// of them, and an address says how many lines to ask for. Asking is a hint: an address that is not
// readable does no harm.

extension RecordReader {
  /// How many records ahead a walk asks for.
  static let distanceAhead = 8

  /// Lines of a record that are asked for; what follows in a longer one the processor foresees.
  private static let linesMax = 6

  /// Asks for the record at an address that will be read soon; 0 is no address.
  @inline(__always)
  func prefetch(_ word: UInt64) {
    guard word != 0 else { return }
    let address = RecordAddress(rawValue: word)
    guard let start = root.hint(of: address) else { return }
    let end = min(address.recordLengthMax, Self.linesMax &* 64)
    var offset = 0
    while offset < end {
      perdure_prefetch(start + offset)
      offset &+= 64
    }
  }
}

extension OrderedCursor {
  /// Asks for the records that a walk comes to soon.
  @inline(__always)
  mutating func prefetchAhead(_ reader: RecordReader, descending: Bool) {
    forEachPayloadAhead(RecordReader.distanceAhead, descending: descending) { reader.prefetch($0) }
  }
}

extension DenseCursor {
  /// Asks for the records that a walk comes to soon.
  @inline(__always)
  mutating func prefetchAhead(_ reader: RecordReader, descending: Bool) {
    forEachWordAhead(RecordReader.distanceAhead, descending: descending) { reader.prefetch($0) }
  }
}

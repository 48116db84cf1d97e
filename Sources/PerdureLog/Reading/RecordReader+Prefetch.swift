import CPerdureShims
import PerdureFormat

// Records are stored in the order in which they were written, so a read in key order misses the
// cache for each record. The address says how many lines to prefetch. Asking is a hint: an address
// that is not readable does no harm.
//
// A record begins at any multiple of eight bytes, so it may reach into one line more than its
// length says. Lines are counted from the one that it begins in. The address has only the class of
// the length. The middle of the class is assumed, so that mostly the prefetched lines are the ones
// read.

extension RecordReader {
  /// How many records ahead a walk prefetches.
  static let distanceAhead = 8

  /// The prefetched lines of a record; the processor predicts further ones.
  private static let linesMax = 6

  /// Prefetches the record at an address that will be read soon; 0 is no address.
  @inline(__always)
  func prefetch(_ word: UInt64) {
    guard word != 0 else { return }
    let address = RecordAddress(rawValue: word)
    guard let start = root.hint(of: address) else { return }
    var (line, end) = Self.linesAhead(of: address, at: UInt(bitPattern: start))
    repeat {
      perdure_prefetch(UnsafeRawPointer(bitPattern: line))
      line &+= 64
    } while line < end
  }

  /// The start of the first line to prefetch, and the end of the last.
  @inline(__always)
  static func linesAhead(of address: RecordAddress, at start: UInt) -> (first: UInt, end: UInt) {
    let longest = address.recordLengthMax
    // Classes end at 32, 48, 64, 96, 128, ...: one is a third or a quarter of its end wide.
    let length = min(longest &- longest &>> 3, linesMax &* 64)
    return (start & ~63, start &+ UInt(bitPattern: length))
  }
}

extension OrderedCursor {
  /// Prefetches the records that a walk reaches soon.
  @inline(__always)
  mutating func prefetchAhead(_ reader: RecordReader, descending: Bool) {
    forEachPayloadAhead(RecordReader.distanceAhead, descending: descending) { reader.prefetch($0) }
  }
}

extension DenseCursor {
  /// Prefetches the records that a walk reaches soon.
  @inline(__always)
  mutating func prefetchAhead(_ reader: RecordReader, descending: Bool) {
    forEachWordAhead(RecordReader.distanceAhead, descending: descending) { reader.prefetch($0) }
  }
}

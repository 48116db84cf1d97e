import CPerdureShims
import PerdureFormat

// Records are stored in the order in which they were written. So a read in key order causes cache
// misses for each record. The number of cache lines to prefetch follows from the address. A
// prefetch is only a hint: an address that cannot be read causes no harm.
//
// A record begins at any multiple of eight bytes, so it may extend into one line more than its
// length suggests. Lines are counted from the line in which it begins. The address contains only a
// size class. The code assumes a length in the middle of the class. So it usually prefetches
// exactly the lines that are read.

extension RecordReader {
  /// The number of records that a walk prefetches ahead.
  static let distanceAhead = 8

  /// The maximum number of prefetched lines of a record. The processor itself prefetches the lines
  /// after them.
  private static let linesMax = 6

  /// Prefetches the record at an address that will be read soon. A word of 0 is ignored.
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
    // Classes end at 32, 48, 64, 96, 128, ... The width of a class is a third or a quarter of its
    // end.
    let length = min(longest &- longest &>> 3, linesMax &* 64)
    return (start & ~63, start &+ UInt(bitPattern: length))
  }
}

extension OrderedCursor {
  /// Prefetches the records that a walk will reach next.
  @inline(__always)
  mutating func prefetchAhead(_ reader: RecordReader, descending: Bool) {
    forEachPayloadAhead(RecordReader.distanceAhead, descending: descending) { reader.prefetch($0) }
  }
}

extension DenseCursor {
  /// Prefetches the records that a walk will reach next.
  @inline(__always)
  mutating func prefetchAhead(_ reader: RecordReader, descending: Bool) {
    forEachWordAhead(RecordReader.distanceAhead, descending: descending) { reader.prefetch($0) }
  }
}

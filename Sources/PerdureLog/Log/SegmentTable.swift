import PerdureFileIO
import PerdureFormat

/// Segment number to bytes, for readers: a flat table in raw memory.
///
/// The writer adds an entry before it publishes the first root that can hold an address in the
/// segment, and never changes one that readers may use. When the table is full it is copied to
/// a larger one; the smaller ones are kept until the store goes, because roots point to them
/// (their sizes double, so they never take more than the newest).
final class SegmentTable {
  struct Entry {
    var base: UnsafeRawPointer?
    /// The end of what was written, set when the next segment begins; the last segment's end
    /// stands in the root.
    var end: Int
  }

  private(set) var entries: UnsafeMutablePointer<Entry>
  private(set) var capacity: Int
  private var outgrown: [UnsafeMutablePointer<Entry>] = []
  private(set) var segments: [UInt64: Segment] = [:]

  init() {
    capacity = 64
    entries = Self.allocate(capacity)
  }

  deinit {
    entries.deallocate()
    for table in outgrown { table.deallocate() }
  }

  private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Entry> {
    let table = UnsafeMutablePointer<Entry>.allocate(capacity: capacity)
    table.initialize(repeating: Entry(base: nil, end: 0), count: capacity)
    return table
  }

  /// - Parameter end: Where the log ends in it; nil: that stands in the root.
  func add(_ segment: Segment, endingAt end: UInt64?) {
    add(segment)
    if let end { setEnd(Int(end), of: segment.number) }
  }

  /// Whether an address that was read somewhere leads to a segment of the log.
  func check(_ address: RecordAddress) throws(FormatError) {
    guard segments[address.segment] != nil else {
      throw FormatError(.misplaced, in: "record address", at: 0)
    }
  }

  func add(_ segment: Segment) {
    let number = Int(segment.number)
    if number >= capacity { grow(toHold: number) }
    entries[number] = Entry(base: segment.mapping.base, end: 0)
    segments[segment.number] = segment
  }

  func setEnd(_ end: Int, of number: UInt64) { entries[Int(number)].end = end }

  private func grow(toHold number: Int) {
    var larger = capacity
    while larger <= number { larger *= 2 }
    let table = Self.allocate(larger)
    table.update(from: entries, count: capacity)
    outgrown.append(entries)
    entries = table
    capacity = larger
  }
}

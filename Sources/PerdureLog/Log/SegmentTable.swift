import PerdureFileIO
import PerdureFormat

/// The table from segment numbers to bytes, for readers: a flat array in raw memory.
///
/// The writer adds an entry before it publishes the first root that can contain an address in the
/// segment. After that, it changes only the entry's `end`, which no reader uses while the segment
/// is the last one of the reader's root. A full table is copied to a larger one. The smaller tables
/// are kept as long as the store, because roots point to them. (The sizes double, so all smaller
/// tables together are smaller than the newest.) When compaction has rewritten a segment, the table
/// is copied too: older roots still read the old file.
final class SegmentTable {
  struct Entry {
    var base: UnsafeRawPointer?
    /// The end of the log in the segment. It is set when the next segment begins. For the last
    /// segment, the end is in the root.
    var end: Int
    /// For a rewritten segment: the map with the new offsets of its records.
    var map: UnsafeMutablePointer<SegmentMap>?
    /// Whether the checksums of the segment's records also cover their address words.
    var bindsRecords: Bool

    static var none: Entry { Entry(base: nil, end: 0, map: nil, bindsRecords: false) }
  }

  /// The memory of a table. In a large table only the written parts use memory, because segment
  /// numbers may be far apart.
  private final class Memory {
    let entries: UnsafeMutablePointer<Entry>
    let capacity: Int
    private let reserved: ReservedMemory?

    private static let allocatedMax = 4096

    /// - Throws: `.outOfMemory`, for a large table.
    init(capacity: Int) throws(FileIOError) {
      self.capacity = capacity
      if capacity > Self.allocatedMax {
        // Zeros are empty entries.
        let memory = try ReservedMemory(
          byteCount: capacity * MemoryLayout<Entry>.stride, for: "the table of segments")
        entries = memory.base.bindMemory(to: Entry.self, capacity: capacity)
        reserved = memory
      } else {
        entries = .allocate(capacity: capacity)
        entries.initialize(repeating: .none, count: capacity)
        reserved = nil
      }
    }

    deinit { if reserved == nil { entries.deallocate() } }
  }

  /// An object that newer roots no longer use, but that older roots still need.
  enum Outdated {
    case table(AnyObject)
    case segment(Segment)

    /// The length in bytes of an unlinked file that older roots still use. For a segment that was
    /// not rewritten, it is an upper bound.
    var fileBytes: Int {
      switch self {
      case .table: 0
      case .segment(let segment): segment.fileLength(end: segment.capacity)
      }
    }
  }

  private var memory: Memory
  private var outgrown: [Memory] = []
  private(set) var segments: [UInt64: Segment] = [:]
  /// The newest segment: commits write to it without a lookup in `segments`.
  // The compiler's check of exclusivity is off: while this property is changed, no function calls
  // the table again. The reference is unmanaged, because in each commit, counting references takes
  // longer than finding the segment. `segments` retains the segment.
  @exclusivity(unchecked) private var newest: (number: UInt64, segment: Unmanaged<Segment>)?

  /// - Parameter number: The last known segment number, for which the table needs capacity.
  /// - Throws: `.outOfMemory`.
  init(reaching number: UInt64) throws(FileIOError) {
    memory = try Memory(capacity: Self.capacity(64, toHold: number))
  }

  var entries: UnsafeMutablePointer<Entry> { memory.entries }
  var capacity: Int { memory.capacity }

  /// Writes to the newest segment.
  @inline(__always)
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64, toLast number: UInt64) throws(FileIOError) {
    guard let newest, newest.number == number else {
      preconditionFailure("an extent must belong to the last segment or to a new one")
    }
    try newest.segment.takeUnretainedValue().file.write(bytes, at: offset)
  }

  /// - Parameter end: The end of the log in the segment; nil if the end is in the root.
  func add(_ segment: Segment, endingAt end: UInt64?) {
    add(segment)
    if let end { setEnd(Int(end), of: segment.number) }
  }

  /// Checks that a record address that was read from a file is in a segment of the log.
  func check(_ address: RecordAddress) throws(FormatError) {
    guard segments[address.segment] != nil else {
      throw FormatError(.misplaced, in: "record address", at: 0)
    }
  }

  /// Adds a segment. `reserve(_:)` must have reserved its memory before.
  func add(_ segment: Segment) {
    precondition(segment.number < capacity, "The table must have space for the segment.")
    set(segment, end: 0)
  }

  /// Reserves memory for a segment to be created. A failure changes nothing.
  ///
  /// - Throws: `.outOfMemory`.
  func reserve(_ number: UInt64) throws(FileIOError) {
    guard number >= capacity else { return }
    let larger = try copy(capacity: Self.capacity(capacity, toHold: number))
    outgrown.append(memory)
    memory = larger
  }

  func setEnd(_ end: Int, of number: UInt64) { entries[Int(number)].end = end }

  /// Removes a segment that no published root contains.
  func remove(_ number: UInt64) {
    entries[Int(number)] = .none
    segments[number] = nil
    if newest?.number == number { newest = nil }
  }

  /// Replaces a segment by its rewritten form, in a new table. Also removes the segments that
  /// become void.
  ///
  /// - Returns: The old table, which published roots still use. The caller retains it and its
  ///   segments.
  func replace(with segment: Segment, dropping void: [UInt64]) -> AnyObject {
    let outdated = memory
    let end = entries[Int(segment.number)].end
    // The file already has its final name, so the operation cannot be undone. If there is no
    // memory, the program stops, as in all other code.
    do { memory = try copy(capacity: capacity) } catch { fatalError("\(error)") }
    for number in void { remove(number) }
    set(segment, end: end)
    return outdated
  }

  private func set(_ segment: Segment, end: Int) {
    entries[Int(segment.number)] = Entry(
      base: segment.mapping.base, end: end, map: segment.map, bindsRecords: segment.header.bindsRecords)
    segments[segment.number] = segment
    if segment.number >= newest?.number ?? 0 { newest = (segment.number, .passUnretained(segment)) }
  }

  private func copy(capacity: Int) throws(FileIOError) -> Memory {
    let larger = try Memory(capacity: capacity)
    for number in segments.keys { larger.entries[Int(number)] = entries[Int(number)] }
    return larger
  }

  private static func capacity(_ capacity: Int, toHold number: UInt64) -> Int {
    var larger = capacity
    while larger <= number { larger *= 2 }
    return larger
  }
}

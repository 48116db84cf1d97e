import PerdureFileIO
import PerdureFormat

/// The frames of a segment, for code that walks over them. That code need not know whether the file
/// has the frames unpacked or in groups.
///
/// For a segment in groups, it keeps the last requested bytes, unpacked. An ordered walk unpacks
/// each group once. Memory use is limited to the longest frame, one group and `passedMax` bytes.
struct SegmentBody: ~Copyable {
  /// The end of the frames.
  let end: Int
  private let base: UnsafeRawPointer
  private let groups: SegmentGroups?
  /// For a segment in groups: the unpacked bytes of the body from `start` to the start of group
  /// `next`.
  private var unpacked = RawBuffer(capacity: 0)
  private var start = SegmentHeader.length
  private var next = 0

  /// The maximum number of bytes before the current offset that are kept. A smaller limit moves the
  /// rest of the buffer more often.
  private static let passedMax = FormatLimits.groupLengthTarget

  init(base: UnsafeRawPointer, end: Int, _ groups: SegmentGroups?) {
    self.base = base
    self.end = end
    self.groups = groups
  }

  /// The bytes of a part of the body, valid until the next call.
  ///
  /// - Parameter range: Starts at or after the end of the segment's header, and ends at `end` at
  ///   most.
  mutating func bytes(_ range: Range<Int>) throws(StoreError) -> UnsafeRawBufferPointer {
    precondition(range.upperBound <= end, "A part of a segment must be inside the segment.")
    guard let groups else {
      return UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count)
    }
    turn(to: range.lowerBound, groups)
    while start + unpacked.count < range.upperBound {
      let entry = try groups.entry(next)
      guard entry.offset == start + unpacked.count else {
        throw .corruption(
          FormatError(.misplaced, in: "group", at: 0), segment: groups.number, offset: entry.fileOffset)
      }
      let count = unpacked.count
      let target = unpacked.extend(by: entry.unpackedLength)
      do { try groups.unpack(entry, into: target) } catch {
        unpacked.truncate(to: count)
        throw error
      }
      next += 1
    }
    return unpacked.bytes.part((range.lowerBound - start)..<(range.upperBound - start))
  }

  /// Discards bytes before `place`, or restarts with the group that contains `place`.
  private mutating func turn(to place: Int, _ groups: SegmentGroups) {
    if place < start || place > start + unpacked.count {
      unpacked.truncate(to: 0)
      next = groups.table.index(of: place)
      start = (try? groups.entry(next).offset) ?? place
    } else if place - start >= Self.passedMax {
      unpacked.removeFirst(place - start)
      start = place
    }
  }
}

extension Segment {
  /// The segment's frames. For a segment that was not rewritten, they end at `end`.
  func body(upTo end: Int) -> SegmentBody {
    SegmentBody(base: mapping.base, end: footer.map { Int($0.dataEnd) } ?? end, map?.pointee.groups)
  }
}

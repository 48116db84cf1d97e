import PerdureFileIO
import PerdureFormat

/// The frames of a segment, for who walks over them: the one place that knows whether they stand in the file as they
/// are or in groups.
///
/// Of a segment in groups it keeps what was asked for last, unpacked: walked in order, each group is unpacked once,
/// and memory is what the longest frame and one group take.
struct SegmentBody: ~Copyable {
  /// Where the frames end.
  let end: Int
  private let base: UnsafeRawPointer
  private let groups: SegmentGroups?
  /// Of a segment in groups: its body from `start` on, up to where group `next` begins.
  private var unpacked = RawBuffer(capacity: 0)
  private var start = SegmentHeader.length
  private var next = 0

  /// How much of what was passed is kept, so that not every frame moves what follows it.
  private static let passedMax = FormatLimits.groupLengthTarget

  init(base: UnsafeRawPointer, end: Int, _ groups: SegmentGroups?) {
    self.base = base
    self.end = end
    self.groups = groups
  }

  /// The bytes of a part of the body, good until the next call.
  ///
  /// - Parameter range: From the end of the segment's header on, to `end` at most.
  mutating func bytes(_ range: Range<Int>) throws(StoreError) -> UnsafeRawBufferPointer {
    precondition(range.upperBound <= end, "A part of a segment lies in the segment.")
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

  /// Forgets what is before a place, or begins anew with its group.
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
  /// Its frames, which end at `end` as they were first written.
  func body(upTo end: Int) -> SegmentBody {
    SegmentBody(base: mapping.base, end: footer.map { Int($0.dataEnd) } ?? end, map?.pointee.groups)
  }
}

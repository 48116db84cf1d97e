import PerdureFormat

// Finds the location of an address in one root. This file has the code that `RecordReader` and
// prefetching share.

extension UnsafeMutablePointer<Root> {
  /// The root's data about the file of an address.
  @inline(__always)
  func segment(of address: RecordAddress) -> UnsafeMutablePointer<SegmentTable.Entry> {
    pointee.segments + Int(truncatingIfNeeded: address.segment)
  }

  /// The end of the log in a segment. For the last segment of the root, the end is in the root. For
  /// an earlier segment, it is in the segment's entry, and no longer changes.
  @inline(__always)
  func end(of segment: UInt64, _ entry: UnsafeMutablePointer<SegmentTable.Entry>) -> Int {
    segment == pointee.end.segment ? Int(pointee.end.offset) : entry.pointee.end
  }

  /// The memory of a record for prefetching; nil if the root has no such segment, or if the
  /// segment's map gives no hint. The memory need not contain a record. The segment's number must
  /// be in the table.
  @inline(__always)
  func hint(of address: RecordAddress) -> UnsafeRawPointer? {
    let entry = segment(of: address)
    guard let base = entry.pointee.base else { return nil }
    guard let map = entry.pointee.map else { return base + address.offset }
    return map.pointee.hint(of: address.offset).map { base + $0 }
  }

  /// The frames of the segment to which an address belongs; nil if the root has no such segment.
  func body(around address: RecordAddress) -> SegmentBody? {
    let entry = segment(of: address)
    guard let base = entry.pointee.base else { return nil }
    guard let map = entry.pointee.map else {
      return SegmentBody(base: base, end: end(of: address.segment, entry), nil)
    }
    return SegmentBody(base: base, end: map.pointee.dataEnd, map.pointee.groups)
  }

  /// The offset of a record in the frames of its segment; nil if the root has no such segment, or
  /// if the segment's map is damaged or lacks the record.
  func offset(of address: RecordAddress) -> Int? {
    let entry = segment(of: address)
    guard let base = entry.pointee.base else { return nil }
    guard let map = entry.pointee.map else { return address.offset }
    return try? map.pointee.verified(base).physicalOffset(of: address.offset)
  }

  /// The offset of a record in the file. For a packed group, it is the offset of the group's first
  /// byte. Nil in the same cases as `offset(of:)`.
  func fileOffset(of address: RecordAddress) -> Int? {
    guard let offset = offset(of: address) else { return nil }
    guard let map = segment(of: address).pointee.map else { return offset }
    return map.pointee.fileOffset(of: offset)
  }
}

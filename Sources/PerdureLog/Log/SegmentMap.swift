import PerdureFormat
import Synchronization

/// The map of a rewritten segment. Readers find it beside the segment's mapping.
///
/// The map is verified at its first use. Verification at the opening requires reading the maps of
/// all segments.
struct SegmentMap: ~Copyable {
  let footer: RewrittenFooter
  private let offsets: OffsetMap
  private let isVerified = Atomic<Bool>(false)
  /// The groups that contain the frames; nil if the frames are in the file unpacked. Use them only
  /// after `verified(_:)` has returned.
  let groups: SegmentGroups?

  /// - Parameter base: The first byte of the mapped file, whose length is in the footer.
  init(_ footer: RewrittenFooter, of number: UInt64, base: UnsafeRawPointer, _ cache: GroupCache) {
    self.footer = footer
    let file = UnsafeRawBufferPointer(start: base, count: footer.fileLength)
    groups = footer.groups(in: file).map {
      SegmentGroups($0, at: footer.groupTableOffset, of: number, in: file, cache)
    }
    offsets = OffsetMap(
      lines: UnsafeRawBufferPointer(start: base + footer.mapOffset, count: footer.mapLength))
  }

  /// The end of the frames: an offset in the file, or in the unpacked frames of groups.
  var dataEnd: Int { Int(footer.dataEnd) }

  /// The file offset of a position in the frames. For a position in a packed group, it is the
  /// offset of the group's first byte.
  func fileOffset(of place: Int) -> Int { groups?.fileOffset(of: place) ?? place }

  /// The offset map, verified at its first use.
  @inline(__always)
  func verified(_ base: UnsafeRawPointer) throws(FormatError) -> OffsetMap {
    if !isVerified.load(ordering: .relaxed) { try verify(base) }
    return offsets
  }

  /// The file offset to prefetch for the record at an original offset; nil if there is none. It may
  /// be wrong, because the map need not be verified.
  @inline(__always)
  func hint(of original: Int) -> Int? {
    guard groups == nil, let physical = offsets.physicalOffset(of: original), physical < dataEnd else {
      return nil
    }
    return physical
  }

  @inline(never)
  private func verify(_ base: UnsafeRawPointer) throws(FormatError) {
    _ = try footer.verifiedMap(in: UnsafeRawBufferPointer(start: base, count: footer.fileLength))
    isVerified.store(true, ordering: .relaxed)
  }
}

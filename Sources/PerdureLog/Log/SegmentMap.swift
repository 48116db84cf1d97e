import PerdureFormat
import Synchronization

/// The map of a rewritten segment as readers find it beside the segment's mapping.
///
/// It is verified at the first use and not at opening, which would have to read the maps of all
/// segments.
struct SegmentMap: ~Copyable {
  let footer: RewrittenFooter
  private let offsets: OffsetMap
  private let isVerified = Atomic<Bool>(false)
  /// The groups that contain the frames; nil: the frames are in the file unpacked. Valid for
  /// callers that have verified offsets.
  let groups: SegmentGroups?

  /// - Parameter base: The first byte of the mapped file, which is as long as the footer says.
  init(_ footer: RewrittenFooter, of number: UInt64, base: UnsafeRawPointer, _ cache: GroupCache) {
    self.footer = footer
    let file = UnsafeRawBufferPointer(start: base, count: footer.fileLength)
    groups = footer.groups(in: file).map {
      SegmentGroups($0, at: footer.groupTableOffset, of: number, in: file, cache)
    }
    offsets = OffsetMap(
      lines: UnsafeRawBufferPointer(start: base + footer.mapOffset, count: footer.mapLength))
  }

  /// The end of the frames, in the file or in the unpacked groups.
  var dataEnd: Int { Int(footer.dataEnd) }

  /// The file offset of a position among the frames; for a packed group, that of the group's first
  /// byte.
  func fileOffset(of place: Int) -> Int { groups?.fileOffset(of: place) ?? place }

  /// The offsets, verified.
  @inline(__always)
  func verified(_ base: UnsafeRawPointer) throws(FormatError) -> OffsetMap {
    if !isVerified.load(ordering: .relaxed) { try verify(base) }
    return offsets
  }

  /// Where a processor may look for the record at an original offset; for hints only.
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

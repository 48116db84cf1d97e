/// A position in the log: a byte offset in a segment. Later positions are greater.
@usableFromInline package struct LogPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
  @usableFromInline package var segment: UInt64
  @usableFromInline package var offset: UInt64

  @inlinable package init(segment: UInt64, offset: UInt64) {
    self.segment = segment
    self.offset = offset
  }

  /// The position before the first segment.
  package static let start = LogPosition(segment: 0, offset: 0)

  @inlinable package static func < (a: LogPosition, b: LogPosition) -> Bool {
    (a.segment, a.offset) < (b.segment, b.offset)
  }

  @usableFromInline package var description: String { "segment \(segment), byte \(offset)" }
}

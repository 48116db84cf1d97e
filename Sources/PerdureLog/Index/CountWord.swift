// The word beside a child of an inner node, in memory and in the index file: the number of entries
// below the child, and a part of its checksum if the child is in the index file.
//
//   bits 0..<40   entries below the child
//   bits 40..<64  the tag: the low 24 bits of the child's checksum in the file, 1 if they are 0;
//                 0: not said
//
// A node's checksum says that its bytes belong together and to its slot. It cannot say that they
// are the newest that were written there: a write that the medium lost leaves an older node, whole
// in itself. The tag beside it can, and so each node is bound to its parent, and the root to the
// root block of its checkpoint.
//
// Invariant
//  OT6  A tag beside a child in memory has no meaning and is 0. Beside a child in the file it is
//       the child's tag, or 0 if the child was checked in this opening. In that case the tag is
//       read from the child.

/// The word beside a child.
struct CountWord: Equatable {
  static let countBits: UInt64 = 40
  private static let countMask: UInt64 = (1 << countBits) - 1

  var rawValue: UInt64

  @inline(__always)
  init(rawValue: UInt64) { self.rawValue = rawValue }

  @inline(__always)
  init(count: Int, tag: UInt32 = 0) {
    rawValue = UInt64(truncatingIfNeeded: count) & Self.countMask | UInt64(tag) &<< Self.countBits
  }

  @inline(__always)
  var count: Int { Int(truncatingIfNeeded: rawValue & Self.countMask) }

  @inline(__always)
  var tag: UInt32 { UInt32(truncatingIfNeeded: rawValue &>> Self.countBits) }

  /// The tag of a node with this checksum.
  @inline(__always)
  static func tag(of checksum: UInt32) -> UInt32 { max(checksum & 0xFF_FFFF, 1) }
}

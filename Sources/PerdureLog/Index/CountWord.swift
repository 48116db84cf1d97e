// The word of a child of an inner node, in memory and in the index file. It has the number of
// entries below the child. If the child is in the index file, it also has a part of the child's
// checksum.
//
//   bits 0..<40   entries below the child
//   bits 40..<64  the tag: the low 24 bits of the child's checksum in the file, 1 if they are 0;
//                  0 if the word contains no tag
//
// A node's checksum shows that its bytes are intact and are in the right slot. The checksum cannot
// show that they are the newest bytes of the slot. If the medium lost a write, the slot still
// contains an older, intact node. The tag in the parent detects that. So each node is bound to its
// parent, and the root is bound to the root block of its checkpoint.
//
// Invariant
//  OT6  The tag beside a child in memory has no meaning and is 0. The tag beside a child in the
//       file is the child's tag, or 0 if the child was checked in this opening. If it is 0, the tag
//       is read from the child.

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

// The sixteen bytes at the beginning of every node, in the arena's memory and in the index file.
// The bytes after them belong to the structure that allocated the node.
//
//   offset  bytes  meaning
//   0       8      stamp: the version that created the node. In the index file: bit 63, and a
//                  checksum
//   8       4      in the working version: the node's index in the arena's list of created nodes.
//                  Afterwards: its slot in the index file (0 if it has none yet)
//   12      1      level: 0 for a leaf
//   13      1      node class
//   14      2      free for the owner (the ordered tree keeps its entry count there)

/// The kinds of memory that an arena allocates.
enum NodeClass: UInt8 {
  case orderedNode = 0
  case denseLeaf = 1
  case denseInner = 2
  /// Bytes of any length, allocated one by one, for keys that are too long for a node.
  case block = 3

  /// The number of classes whose nodes are in slabs.
  static let slabCount = 3

  /// The number of bytes of one node; 0 for blocks.
  var byteCount: Int {
    switch self {
    case .orderedNode: OrderedNode.byteCount
    case .denseLeaf: DenseNode.leafByteCount
    case .denseInner: DenseNode.innerByteCount
    case .block: 0
    }
  }
}

/// A view of the header of one node.
struct NodeHeader {
  static let byteCount = 16

  let base: UnsafeMutableRawPointer

  @inline(__always)
  init(_ base: UnsafeMutableRawPointer) { self.base = base }

  var stamp: UInt64 {
    @inline(__always) get { base.load(as: UInt64.self) }
    nonmutating set { base.storeBytes(of: newValue, as: UInt64.self) }
  }

  var createdIndex: Int {
    get { Int(base.load(fromByteOffset: 8, as: UInt32.self)) }
    nonmutating set { base.storeBytes(of: UInt32(newValue), toByteOffset: 8, as: UInt32.self) }
  }

  /// Whether the node is in a mapped index file: it is never written, and the arena does not own
  /// it.
  var isInFile: Bool {
    @inline(__always) get { stamp & NodeSlot.fileStampBit != 0 }
  }

  /// The checksum of a node in the file.
  var fileChecksum: UInt32 { UInt32(truncatingIfNeeded: stamp) }

  /// The slot of a published node in the index file. For a node in memory, it is `.none` until the
  /// checkpoint writer sets it.
  var slot: NodeSlot {
    get { NodeSlot(number: base.load(fromByteOffset: 8, as: UInt32.self)) }
    nonmutating set { base.storeBytes(of: newValue.number, toByteOffset: 8, as: UInt32.self) }
  }

  var level: Int {
    @inline(__always) get { Int(base.load(fromByteOffset: 12, as: UInt8.self)) }
    nonmutating set { base.storeBytes(of: UInt8(newValue), toByteOffset: 12, as: UInt8.self) }
  }

  /// Level and class in one load.
  @inline(__always)
  var levelAndClass: UInt16 { base.load(fromByteOffset: 12, as: UInt16.self) }

  /// The value of `levelAndClass` for a node of this class and level.
  @inline(__always)
  static func levelAndClass(_ nodeClass: NodeClass, level: Int) -> UInt16 {
    UInt16(littleEndian: UInt16(truncatingIfNeeded: level & 0xFF) | UInt16(nodeClass.rawValue) &<< 8)
  }

  var nodeClass: NodeClass {
    @inline(__always) get {
      NodeClass(rawValue: base.load(fromByteOffset: 13, as: UInt8.self)).unsafelyUnwrapped
    }
    nonmutating set { base.storeBytes(of: newValue.rawValue, toByteOffset: 13, as: UInt8.self) }
  }
}

extension NodeHeader {
  /// The number of bytes of the node in a file, without padding.
  var fileByteCount: Int {
    let nodeClass = nodeClass
    return nodeClass == .block ? BlockView.bytesOffset + BlockView(base).length : nodeClass.byteCount
  }
}

/// The position of a node in the index file: its offset in units of 64 bytes.
struct NodeSlot: Equatable, Hashable, Comparable {
  static let unitByteCount = 64
  /// No slot: unit 0 of the file is its header.
  static let none = NodeSlot(number: 0)
  static let fileStampBit: UInt64 = 1 << 63
  /// The maximum length of an index file. The number of its last unit, and the number after that,
  /// fit in 32 bits.
  static let fileLengthMax = UInt64(UInt32.max) * UInt64(unitByteCount)

  var number: UInt32

  var offset: Int { Int(number) * Self.unitByteCount }

  static func unitCount(_ byteCount: Int) -> Int { (byteCount + unitByteCount - 1) / unitByteCount }

  static func < (a: NodeSlot, b: NodeSlot) -> Bool { a.number < b.number }
}

/// A run of units in the index file that no root reaches anymore.
struct FreedSlot: Equatable {
  /// The version that created the node in these units; 0 if the node was already in the mapped
  /// file.
  var stamp: UInt64 = 0
  var slot: NodeSlot
  var unitCount: Int
}

/// A view of a block: a header, the length of its bytes, and the bytes. Two words before the header
/// link all blocks of an arena, so that the arena can free them when it is deallocated.
struct BlockView {
  static let linksByteCount = 16
  static let bytesOffset = NodeHeader.byteCount + 8

  let base: UnsafeMutableRawPointer

  @inline(__always)
  init(_ base: UnsafeMutableRawPointer) { self.base = base }

  var bytes: UnsafeRawBufferPointer {
    @inline(__always) get { UnsafeRawBufferPointer(start: base + Self.bytesOffset, count: length) }
  }

  var length: Int {
    @inline(__always) get { base.load(fromByteOffset: NodeHeader.byteCount, as: Int.self) }
    nonmutating set { base.storeBytes(of: newValue, toByteOffset: NodeHeader.byteCount, as: Int.self) }
  }

  var totalByteCount: Int { Self.linksByteCount + Self.bytesOffset + length }

  var previous: UnsafeMutableRawPointer? {
    get { base.load(fromByteOffset: -16, as: UnsafeMutableRawPointer?.self) }
    nonmutating set {
      base.storeBytes(of: newValue, toByteOffset: -16, as: UnsafeMutableRawPointer?.self)
    }
  }

  var next: UnsafeMutableRawPointer? {
    get { base.load(fromByteOffset: -8, as: UnsafeMutableRawPointer?.self) }
    nonmutating set {
      base.storeBytes(of: newValue, toByteOffset: -8, as: UnsafeMutableRawPointer?.self)
    }
  }
}

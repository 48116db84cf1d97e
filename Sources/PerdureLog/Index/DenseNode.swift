// A node of the dense table: 64 slots after a presence bitmap.
//
//   offset  bytes   leaf          inner node
//   0       16      header        header
//   16      8       presence      presence: bit i is set if slot i is used
//   24      512     64 words      64 children
//   536     512                   64 words beside the children: CountWord.swift
//
// Unused slots and unused counts are 0. A child is stored as its distance from the node. So the
// bytes of a node are valid both in memory and in a mapped index file. Code that copies a node to
// another address rebases the distances.

/// A view of one node of a dense table.
struct DenseNode {
  static let slotCount = 64
  static let bitsPerLevel = 6
  static let leafByteCount = slotsOffset + slotCount * 8
  static let innerByteCount = countsOffset + slotCount * 8

  private static let presenceOffset = NodeHeader.byteCount
  private static let slotsOffset = presenceOffset + 8
  private static let countsOffset = slotsOffset + slotCount * 8

  let base: UnsafeMutableRawPointer

  @inline(__always)
  init(_ base: UnsafeMutableRawPointer) { self.base = base }

  /// A new node without entries.
  static func make(level: Int, in arena: NodeArena) -> DenseNode {
    let nodeClass: NodeClass = level == 0 ? .denseLeaf : .denseInner
    let node = DenseNode(arena.allocate(nodeClass, level: level))
    let start = node.base + presenceOffset
    start.initializeMemory(as: UInt8.self, repeating: 0, count: nodeClass.byteCount - presenceOffset)
    return node
  }

  /// The slot for an id in a node at `level`.
  @inline(__always)
  static func slot(of id: UInt64, level: Int) -> Int {
    Int(truncatingIfNeeded: id &>> UInt64(truncatingIfNeeded: level &* bitsPerLevel)) & (slotCount &- 1)
  }

  var level: Int { NodeHeader(base).level }

  var presence: UInt64 {
    @inline(__always) get { base.load(fromByteOffset: Self.presenceOffset, as: UInt64.self) }
    nonmutating set { base.storeBytes(of: newValue, toByteOffset: Self.presenceOffset, as: UInt64.self) }
  }

  @inline(__always)
  func slotAddress(_ slot: Int) -> UnsafeMutableRawPointer {
    base + (Self.slotsOffset &+ slot &* 8)
  }

  /// The word of a leaf's slot; 0 if the slot is unused.
  @inline(__always)
  func word(_ slot: Int) -> UInt64 { slotAddress(slot).load(as: UInt64.self) }

  /// The address of a slot's child. It may be compared, but the child must not be read (FN1).
  @inline(__always)
  func childAddress(_ slot: Int) -> UnsafeMutableRawPointer? {
    let distance = slotAddress(slot).load(as: Int.self)
    return distance == 0 ? nil : base + distance
  }

  /// The child of a slot, checked if it is in the file.
  @inline(__always)
  func child(_ slot: Int, in file: FileNodes) -> UnsafeMutableRawPointer? {
    guard let child = childAddress(slot) else { return nil }
    return file.checked(child, at: slot, of: self)
  }

  /// The number of entries below a slot of an inner node.
  @inline(__always)
  func count(_ slot: Int) -> Int { countWord(slot).count }

  @inline(__always)
  func countWord(_ slot: Int) -> CountWord {
    CountWord(rawValue: base.load(fromByteOffset: Self.countsOffset &+ slot &* 8, as: UInt64.self))
  }

  func setCountWord(_ slot: Int, _ below: CountWord) {
    base.storeBytes(of: below.rawValue, toByteOffset: Self.countsOffset &+ slot &* 8, as: UInt64.self)
  }

  @inline(__always)
  func setWord(_ slot: Int, _ word: UInt64) {
    slotAddress(slot).storeBytes(of: word, as: UInt64.self)
    let bit: UInt64 = 1 &<< UInt64(slot)
    presence = word == 0 ? presence & ~bit : presence | bit
  }

  /// Sets the child of a slot. The child is in memory or was checked, so its tag is 0. OT6
  @inline(__always)
  func setChild(_ slot: Int, _ child: UnsafeMutableRawPointer?, count: Int) {
    slotAddress(slot).storeBytes(of: child.map { $0 - base } ?? 0, as: Int.self)
    setCountWord(slot, CountWord(count: count))
    let bit: UInt64 = 1 &<< UInt64(slot)
    presence = child == nil ? presence & ~bit : presence | bit
  }

  /// Corrects the distances to the children after an inner node's bytes were copied from `origin`.
  func rebase(from origin: UnsafeMutableRawPointer) {
    let shift = origin - base
    var bits = presence
    while bits != 0 {
      let address = slotAddress(bits.lowestBit)
      bits &= bits &- 1
      address.storeBytes(of: address.load(as: Int.self) &+ shift, as: Int.self)
    }
  }

  /// The number of entries in slots below `slot`.
  func count(below slot: Int) -> Int {
    if level == 0 { return (presence & ((1 &<< UInt64(slot)) &- 1)).nonzeroBitCount }
    var sum = 0
    for index in 0..<slot { sum &+= count(index) }
    return sum
  }
}

extension UInt64 {
  /// The bits above `bit`.
  @inline(__always)
  func bits(above bit: Int) -> UInt64 { bit >= 63 ? 0 : self & (~0 &<< UInt64(bit &+ 1)) }

  /// The bits below `bit`.
  @inline(__always)
  func bits(below bit: Int) -> UInt64 { self & ((1 &<< UInt64(bit)) &- 1) }

  @inline(__always)
  var lowestBit: Int { trailingZeroBitCount }

  @inline(__always)
  var highestBit: Int { 63 &- leadingZeroBitCount }
}

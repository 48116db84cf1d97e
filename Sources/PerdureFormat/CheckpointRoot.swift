/// The content of a checkpoint: a position in the log, and the trees with the store's state at that
/// position. FORMAT.md, "Checkpoints". The superblock contains the checksum of this structure.
package struct CheckpointRoot: Hashable, Sendable {
  /// The root of one tree in the index file.
  package struct Tree: Hashable, Sendable {
    /// The root node's offset in units of 64 bytes; 0 for an empty tree.
    package var slot: UInt32
    /// The number of levels.
    package var height: UInt32
    /// The number of entries; less than 2^40.
    package var count: UInt64
    /// The low 24 bits of the root node's checksum.
    package var tag: UInt32

    package init(slot: UInt32 = 0, height: UInt32 = 0, count: UInt64 = 0, tag: UInt32 = 0) {
      self.slot = slot
      self.height = height
      self.count = count
      self.tag = tag
    }
  }

  /// The two trees of a keyspace. The kind of the keyspace determines which tree is used.
  package struct Keyspace: Hashable, Sendable {
    package var dense: Tree
    package var ordered: Tree

    package init(dense: Tree, ordered: Tree) {
      self.dense = dense
      self.ordered = ordered
    }
  }

  /// A derived index.
  package struct Index: Hashable, Sendable {
    package var tree: Tree
    /// If false, the tree is not valid and the index must be built from the records.
    package var isComplete: Bool
    /// The index is unique, and the last check found a duplicate key.
    package var hasDuplicates: Bool

    package init(tree: Tree, isComplete: Bool, hasDuplicates: Bool) {
      self.tree = tree
      self.isComplete = isComplete
      self.hasDuplicates = hasDuplicates
    }
  }

  package static let magic: UInt32 = 0x3150_4B43
  package static let headLength = 80
  private static let treeLength = 16
  private static let keyspaceLength = 32
  private static let indexLength = 24
  private static let usageEntryLength = 40
  /// The maximum number of keyspaces, and of indexes, that a reader accepts. No writer reaches it.
  private static let listCountMax = 1 << 20
  private static let name = "checkpoint root"

  /// The checkpoint's number, counted from 1 over the life of an index file.
  package var number: UInt64
  /// The end of the log when the checkpoint was made.
  package var end: LogPosition
  /// The sequence number of the last commit before `end`.
  package var sequence: UInt64
  /// One more than the highest allocated blob number.
  package var nextBlob: UInt64
  /// The number of units in the index file that nodes and root blocks used when the checkpoint was
  /// made. It is a hint.
  package var unitsInUse: UInt64
  /// The trees of the keyspaces, by keyspace id.
  package var keyspaces: [Keyspace]
  /// The derived indexes, by index id.
  package var indexes: [Index]
  /// The numbers of the blob files that live records reference, in ascending order.
  package var blobs: [UInt64]
  /// Counters of live and dead bytes of the segments that have records. They are empty only if no
  /// segment has records.
  package var segmentUsage: [UInt8]

  package init(
    number: UInt64, end: LogPosition, sequence: UInt64, nextBlob: UInt64, unitsInUse: UInt64,
    keyspaces: [Keyspace], indexes: [Index], blobs: [UInt64], segmentUsage: [UInt8]
  ) {
    self.number = number
    self.end = end
    self.sequence = sequence
    self.nextBlob = nextBlob
    self.unitsInUse = unitsInUse
    self.keyspaces = keyspaces
    self.indexes = indexes
    self.blobs = blobs
    self.segmentUsage = segmentUsage
  }

  /// The length of the block in bytes.
  package var length: Int {
    Self.headLength + Self.keyspaceLength * keyspaces.count + Self.indexLength * indexes.count
      + 8 * blobs.count + segmentUsage.count
  }
}

extension CheckpointRoot {
  package func write(to bytes: UnsafeMutableRawBufferPointer) {
    precondition(bytes.count >= length, "A checkpoint root does not fit into the buffer.")
    bytes.setInteger(Self.magic, at: 0)
    bytes.setInteger(UInt32(0), at: 4)
    bytes.setInteger(number, at: 8)
    bytes.setInteger(end.segment, at: 16)
    bytes.setInteger(end.offset, at: 24)
    bytes.setInteger(sequence, at: 32)
    bytes.setInteger(nextBlob, at: 40)
    bytes.setInteger(UInt32(keyspaces.count), at: 48)
    bytes.setInteger(UInt32(indexes.count), at: 52)
    bytes.setInteger(UInt64(blobs.count), at: 56)
    bytes.setInteger(UInt64(segmentUsage.count), at: 64)
    bytes.setInteger(unitsInUse, at: 72)
    var offset = Self.headLength
    for keyspace in keyspaces {
      keyspace.dense.write(to: bytes, at: offset)
      keyspace.ordered.write(to: bytes, at: offset + Self.treeLength)
      offset += Self.keyspaceLength
    }
    for index in indexes {
      index.tree.write(to: bytes, at: offset)
      let flags: UInt64 = (index.isComplete ? 1 : 0) | (index.hasDuplicates ? 2 : 0)
      bytes.setInteger(flags, at: offset + Self.treeLength)
      offset += Self.indexLength
    }
    for blob in blobs {
      bytes.setInteger(blob, at: offset)
      offset += 8
    }
    UnsafeMutableRawBufferPointer(rebasing: bytes[offset...]).copyBytes(from: segmentUsage)
  }

  /// - Parameter bytes: Exactly the bytes of the block.
  package init(reading bytes: UnsafeRawBufferPointer) throws(FormatError) {
    func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError {
      FormatError(reason, in: Self.name, at: offset)
    }
    guard bytes.count >= Self.headLength else { throw wrong(.incomplete, bytes.count) }
    guard bytes.integer(at: 0, as: UInt32.self) == Self.magic else { throw wrong(.wrongMagic, 0) }
    if let place = bytes.firstNonZero(in: 4..<8) { throw wrong(.unsupported, place) }
    number = bytes.integer(at: 8)
    end = LogPosition(segment: bytes.integer(at: 16), offset: bytes.integer(at: 24))
    sequence = bytes.integer(at: 32)
    nextBlob = bytes.integer(at: 40)
    unitsInUse = bytes.integer(at: 72)
    guard (1...FormatLimits.counterMax).contains(number) else { throw wrong(.illegalField, 8) }
    guard end.isLegal, end > .start else { throw wrong(.illegalField, 16) }
    guard sequence <= FormatLimits.counterMax else { throw wrong(.illegalField, 32) }
    guard (1...FormatLimits.counterMax).contains(nextBlob) else { throw wrong(.illegalField, 40) }
    let keyspaceCount = Int(bytes.integer(at: 48, as: UInt32.self))
    let indexCount = Int(bytes.integer(at: 52, as: UInt32.self))
    let listsEnd = Self.headLength + Self.keyspaceLength * keyspaceCount + Self.indexLength * indexCount
    guard listsEnd <= bytes.count else { throw wrong(.incomplete, bytes.count) }
    guard keyspaceCount <= Self.listCountMax else { throw wrong(.illegalField, 48) }
    guard indexCount <= Self.listCountMax else { throw wrong(.illegalField, 52) }
    let rest = UInt64(bytes.count - listsEnd)
    let blobCount: UInt64 = bytes.integer(at: 56)
    guard blobCount <= rest / 8 else { throw wrong(.incomplete, bytes.count) }
    let usageLength: UInt64 = bytes.integer(at: 64)
    guard usageLength <= rest - 8 * blobCount else { throw wrong(.incomplete, bytes.count) }
    guard usageLength == rest - 8 * blobCount else {
      throw wrong(.illegalField, listsEnd + Int(8 * blobCount + usageLength))
    }
    // Check the lists before allocating arrays for them. A sparse file can claim long lists of
    // zeros at no cost.
    let blobsEnd = listsEnd + Int(8 * blobCount)
    try Self.checkAscending(bytes, listsEnd..<blobsEnd, stride: 8)
    try Self.checkAscending(bytes, blobsEnd..<bytes.count, stride: Self.usageEntryLength)
    keyspaces = Self.readKeyspaces(bytes, keyspaceCount)
    indexes = try Self.readIndexes(bytes, at: listsEnd - Self.indexLength * indexCount, indexCount)
    blobs = (0..<Int(blobCount)).map { bytes.integer(at: listsEnd + 8 * $0) }
    segmentUsage = Array(bytes[blobsEnd...])
  }

  /// Checks the numbers at the starts of the complete entries: they must ascend, and the first must
  /// be at least 1.
  private static func checkAscending(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, stride: Int
  ) throws(FormatError) {
    var last: UInt64 = 0
    for offset in Swift.stride(from: range.lowerBound, through: range.upperBound - stride, by: stride) {
      let number: UInt64 = bytes.integer(at: offset)
      guard number > last else { throw FormatError(.illegalField, in: name, at: offset) }
      last = number
    }
  }

  private static func readKeyspaces(_ bytes: UnsafeRawBufferPointer, _ count: Int) -> [Keyspace] {
    (0..<count).map { index in
      let offset = headLength + keyspaceLength * index
      return Keyspace(
        dense: Tree(reading: bytes, at: offset), ordered: Tree(reading: bytes, at: offset + treeLength))
    }
  }

  private static func readIndexes(
    _ bytes: UnsafeRawBufferPointer, at start: Int, _ count: Int
  ) throws(FormatError) -> [Index] {
    var indexes: [Index] = []
    for index in 0..<count {
      let offset = start + indexLength * index
      let flags: UInt64 = bytes.integer(at: offset + treeLength)
      guard flags <= 3 else { throw FormatError(.unsupported, in: name, at: offset + treeLength) }
      indexes.append(
        Index(
          tree: Tree(reading: bytes, at: offset), isComplete: flags & 1 != 0, hasDuplicates: flags & 2 != 0))
    }
    return indexes
  }
}

extension CheckpointRoot.Tree {
  fileprivate func write(to bytes: UnsafeMutableRawBufferPointer, at offset: Int) {
    bytes.setInteger(slot, at: offset)
    bytes.setInteger(height, at: offset + 4)
    bytes.setInteger(count | UInt64(tag) << 40, at: offset + 8)
  }

  fileprivate init(reading bytes: UnsafeRawBufferPointer, at offset: Int) {
    let countAndTag: UInt64 = bytes.integer(at: offset + 8)
    self.init(
      slot: bytes.integer(at: offset), height: bytes.integer(at: offset + 4),
      count: countAndTag & (1 << 40 - 1), tag: UInt32(countAndTag >> 40))
  }
}

import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Trees in an index file")
struct NodeFileTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  /// Short keys, keys with common prefixes, and keys too long for a node.
  private static func makeKey(_ random: inout SeededGenerator) -> [UInt8] {
    let length =
      switch Int.random(in: 0..<20, using: &random) {
      case 0: Int.random(in: 190...600, using: &random)
      case 1...5: Int.random(in: 0...6, using: &random)
      default: 16
      }
    return (0..<length).map { _ in UInt8.random(in: 0...3, using: &random) }
  }

  private static func entries(of tree: OrderedTree) -> [OrderedModel.Entry] {
    var entries: [OrderedModel.Entry] = []
    var cursor = OrderedCursor(tree)
    while cursor.next() { entries.append(.init(key: Array(cursor.key), payload: cursor.payload)) }
    return entries
  }

  private static func entries(of table: DenseTable) -> [[UInt64]] {
    var entries: [[UInt64]] = []
    var cursor = DenseCursor(table)
    while cursor.next() { entries.append([cursor.id, cursor.word]) }
    return entries
  }

  private static func change(
    _ tree: inout OrderedTree, times: Int, _ random: inout SeededGenerator, in arena: NodeArena
  ) {
    for _ in 0..<times {
      let key = makeKey(&random)
      _ = key.withUnsafeBytes { key in
        if Int.random(in: 0..<3, using: &random) == 0 {
          tree.remove(key, in: arena)
        } else {
          tree.put(key, .random(in: 0 ... .max, using: &random), in: arena)
        }
      }
    }
    arena.publish()
  }

  /// Puts `count` keys of eight bytes, each with a word.
  private static func fill(
    _ tree: inout OrderedTree, _ count: UInt64 = 5000, in arena: NodeArena,
    _ word: (UInt64) -> UInt64 = { $0 }
  ) {
    for id in 0..<count { withUnsafeBytes(of: id.bigEndian) { _ = tree.put($0, word(id), in: arena) } }
  }

  /// Makes eight rounds of changes, and writes the tree after each. After every third round,
  /// continues with all nodes in the file and no nodes in memory, as after an opening. At the end,
  /// checks that each image still has its written content.
  ///
  /// - Parameter Tree: The type of the tree. The closures return its entries, write it, load it and
  ///   change it.
  private static func checkImages<Tree, Entry: Equatable>(
    of empty: Tree, _ entries: (Tree) -> [Entry], written: (Tree) throws -> TreeImage,
    found: (TreeImage) throws -> Tree, change: (inout Tree, NodeArena) -> Void
  ) throws {
    var arena = NodeArena()
    var tree = empty
    var images: [(image: TreeImage, entries: [Entry])] = []
    for round in 0..<8 {
      change(&tree, arena)
      images.append((try written(tree), entries(tree)))
      guard round % 3 == 2, let last = images.last else { continue }
      arena = NodeArena()
      tree = try found(last.image)
    }
    for image in images { #expect(try entries(found(image.image)) == image.entries) }
  }

  @Test("A tree in a file can be read and changed, and each written image stays unchanged")
  func orderedImages() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let file = MemoryIndexFile()
    try Self.checkImages(
      of: OrderedTree(), Self.entries(of:), written: file.write, found: file.ordered,
      change: { tree, arena in
        Self.change(&tree, times: 400, &random, in: arena)
        tree.checkInvariants(in: arena)
      })
  }

  @Test("A table in a file can be read and changed, and each written image stays unchanged")
  func denseImages() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let file = MemoryIndexFile(unitCount: 1_000_000)
    try Self.checkImages(
      of: DenseTable(), Self.entries(of:), written: file.write, found: file.dense,
      change: { table, arena in
        for _ in 0..<400 {
          let id = IDShape.allCases.randomElement(using: &random)?.makeID(&random) ?? 0
          if Bool.random(using: &random) {
            table.put(id, id | 1, in: arena)
          } else {
            table.remove(id, in: arena)
          }
        }
        arena.publish()
        table.checkInvariants(in: arena)
      })
  }

  @Test("A key that has no bytes in the node's heap stays valid when the heap is freed")
  func emptyRest() throws {
    let file = MemoryIndexFile()
    let arena = NodeArena()
    var tree = OrderedTree()
    let keys: [[UInt8]] = [[2, 2, 2, 2, 2, 2, 2, 2], [1]]
    for key in keys { _ = key.withUnsafeBytes { tree.put($0, 7, in: arena) } }
    _ = keys[0].withUnsafeBytes { tree.remove($0, in: arena) }
    arena.publish()
    #expect(try Self.entries(of: file.ordered(file.write(tree))) == [.init(key: [1], payload: 7)])
  }

  @Test("The error about a truncated file names the missing child, not its parent")
  func lostChildren() throws {
    let file = MemoryIndexFile(growsDown: true)
    let arena = NodeArena()
    var tree = OrderedTree()
    Self.fill(&tree, in: arena)
    var table = DenseTable()
    for id in 1..<UInt64(5000) { table.put(id, id, in: arena) }
    arena.publish()
    let images = [try file.write(tree), try file.write(table)]
    try expectLost(behind: images[0].slot, of: OrderedNode.byteCount, images[0], in: file) {
      try $0.verify(ordered: $1, leadsToRecords: false)
    }
    try expectLost(behind: images[1].slot, of: DenseNode.innerByteCount, images[1], in: file) {
      try $0.verify(dense: $1, leadsToRecords: false)
    }
  }

  @Test("Units beyond the end of a truncated file are reported as missing at the file's end")
  func lostUnits() throws {
    let file = MemoryIndexFile(unitCount: 16)
    let length = 9 * NodeSlot.unitByteCount + 1
    let slot = NodeSlot(number: 8)
    var verification = NodeVerification(
      of: UnsafeRawBufferPointer(rebasing: file.bytes[..<length]), lastSegment: 0)
    try verification.claim(slot, unitCount: 1)
    #expect(throws: FormatError(.illegalField, in: "index file", at: slot.offset)) {
      try verification.claim(slot, unitCount: 1)
    }
    let missed = FormatError(.incomplete, in: "index file", at: length)
    #expect(throws: missed) { try verification.claim(slot, unitCount: 2) }
    #expect(throws: missed) { try verification.claim(NodeSlot(number: .max), unitCount: 1) }
  }

  /// Truncates a file after the root of a tree, and checks the error of a verification.
  private func expectLost(
    behind root: NodeSlot, of byteCount: Int, _ image: TreeImage, in file: MemoryIndexFile,
    _ verify: (inout NodeVerification, TreeImage) throws -> Void
  ) throws {
    let end = root.offset + NodeSlot.unitCount(byteCount) * NodeSlot.unitByteCount
    var verification = NodeVerification(
      of: UnsafeRawBufferPointer(rebasing: file.used[..<end]), lastSegment: 0)
    do {
      try verify(&verification, image)
      Issue.record("The verification did not detect the missing nodes.")
    } catch let error as FormatError {
      #expect(error.offset >= end, "\(error) names byte \(error.offset)")
      #expect(error.reason == .incomplete)
    }
  }

  @Test("Nodes in the file are not written again")
  func incremental() throws {
    let file = MemoryIndexFile()
    let arena = NodeArena()
    var tree = OrderedTree()
    Self.fill(&tree, 20_000, in: arena)
    arena.publish()
    let first = try file.write(tree)
    let writes = file.writeCount
    #expect(try file.write(tree) == first)
    #expect(file.writeCount == writes)
    _ = withUnsafeBytes(of: UInt64(7000).bigEndian) { tree.put($0, 1, in: arena) }
    arena.publish()
    #expect(try file.write(tree) != first)
    #expect(file.writeCount == writes + tree.height)
  }

  @Test("Writing after a failure continues where it stopped")
  func interrupted() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let arena = NodeArena()
    var tree = OrderedTree()
    Self.change(&tree, times: 600, &random, in: arena)
    let whole = MemoryIndexFile()
    let file = MemoryIndexFile()
    for limit in stride(from: 0, through: 400, by: 7) {
      file.failsAtWrite = limit
      if (try? file.write(tree)) != nil { break }
    }
    file.failsAtWrite = .max
    let image = try file.write(tree)
    #expect(try Self.entries(of: file.ordered(image)) == Self.entries(of: tree))
    // The slot of a node that could not be written was freed. All other slots are in the tree.
    let reached = try file.reached(ordered: image)
    let taken = (0..<file.usedUnitCount).count { reached.isTaken($0) }
    #expect(file.freedUnitCount > 0 && taken + file.freedUnitCount == file.usedUnitCount)
    // The nodes have slots in the first file, so nothing is written to the second file.
    _ = try whole.write(tree)
    #expect(whole.writeCount == 0)
  }

  @Test("When nodes are freed, exactly the slots that the newest root no longer reaches become free")
  func freedSlots() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let file = MemoryIndexFile()
    let arena = NodeArena()
    var tree = OrderedTree()
    Self.change(&tree, times: 500, &random, in: arena)
    var before = try file.reached(ordered: try file.write(tree))
    for _ in 0..<6 {
      Self.change(&tree, times: 60, &random, in: arena)
      let after = try file.reached(ordered: try file.write(tree))
      arena.reclaim(oldestPinnedVersion: arena.publishedVersion)
      let freed = arena.takeFreedSlots()
      for run in freed {
        let units = Int(run.slot.number)..<(Int(run.slot.number) + run.unitCount)
        #expect(units.allSatisfy { before.isTaken($0) && !after.isTaken($0) })
      }
      let gone = (0..<before.unitCount).count { before.isTaken($0) && !after.isTaken($0) }
      #expect(freed.reduce(0) { $0 + $1.unitCount } == gone)
      before = after
    }
  }

  @Test("A tree of records with an invalid address or a missing segment is rejected")
  func recordWords() throws {
    let legal = RecordAddress(segment: 3, offset: 4096, recordLength: 40, isBlob: false).rawValue
    let words: [UInt64] = [
      legal, legal | 1 << 57, 0x3FF_FFFF << 25 | legal, legal | 1 << 58, 1, 4 << 25 | 512,
    ]
    for (word, isRecord) in zip(words, [true, true, false, false, false, false]) {
      let file = MemoryIndexFile()
      let arena = NodeArena()
      var (tree, table) = (OrderedTree(), DenseTable())
      for id in UInt64(1)..<200 {
        let word = id == 150 ? word : legal
        withUnsafeBytes(of: id.bigEndian) { _ = tree.put($0, word, in: arena) }
        table.put(id * 7, word, in: arena)
      }
      arena.publish()
      let (ordered, dense) = (try file.write(tree), try file.write(table))
      _ = try file.reached(ordered: ordered)
      _ = try file.reached(dense: dense)
      #expect(((try? file.reached(ordered: ordered, lastSegment: 3)) != nil) == isRecord)
      #expect(((try? file.reached(dense: dense, lastSegment: 3)) != nil) == isRecord)
    }
  }

  @Test("Replaced nodes of the file use no memory, so there is no memory to free later")
  func retiredBytes() throws {
    let file = MemoryIndexFile()
    let first = NodeArena()
    var tree = OrderedTree()
    Self.fill(&tree, in: first)
    first.publish()
    let arena = NodeArena()
    tree = try file.ordered(try file.write(tree))
    Self.fill(&tree, in: arena) { _ in 1 }
    #expect(arena.retiredByteCount == 0)
    arena.publish()
    let bytes = arena.liveByteCount
    Self.fill(&tree, in: arena) { _ in 2 }
    #expect(bytes > 0 && arena.retiredByteCount == bytes && arena.liveByteCount == 2 * bytes)
    arena.publish()
    arena.reclaim(oldestPinnedVersion: arena.publishedVersion)
    #expect(arena.retiredByteCount == 0 && arena.liveByteCount == bytes)
  }

  @Test("Abandoning a version restores the count of retired bytes, even with nodes in the file")
  func abandonedBytes() throws {
    let file = MemoryIndexFile()
    let first = NodeArena()
    var tree = OrderedTree()
    Self.fill(&tree, in: first)
    first.publish()
    let arena = NodeArena()
    var copy = try file.ordered(try file.write(tree))
    Self.fill(&copy, in: arena) { _ in 7 }
    arena.abandon()
    #expect(arena.retiredByteCount == 0 && arena.liveByteCount == 0)
  }

  @Test("Verification detects flipped bits in nodes, and a truncated file")
  func damage() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let file = MemoryIndexFile()
    let arena = NodeArena()
    var tree = OrderedTree()
    Self.change(&tree, times: 150, &random, in: arena)
    var table = DenseTable()
    for id in UInt64(0)..<200 { table.put(id * 7, id + 1, in: arena) }
    arena.publish()
    let ordered = try file.write(tree)
    let dense = try file.write(table)
    func isSound(_ bytes: UnsafeRawBufferPointer) -> Bool {
      var verification = NodeVerification(of: bytes, lastSegment: 0)
      return (try? verification.verify(ordered: ordered, leadsToRecords: false)) != nil
        && (try? verification.verify(dense: dense, leadsToRecords: false)) != nil
    }
    for bit in (NodeSlot.unitByteCount * 8)..<(file.used.count * 8) where bit % 61 < 8 {
      file.bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      let isSoundNow = isSound(file.used)
      file.bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(!isSoundNow, "bit \(bit)")
    }
    for length in stride(from: 0, to: file.used.count, by: 509) {
      #expect(!isSound(UnsafeRawBufferPointer(rebasing: file.used[..<length])), "length \(length)")
    }
  }

  @Test("Nodes with valid checksums and random content are rejected, or their walk stays inside the file")
  func hostileNodes() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let file = MemoryIndexFile(unitCount: 4000)
    let arena = NodeArena()
    var tree = OrderedTree()
    Self.change(&tree, times: 120, &random, in: arena)
    let image = try file.write(tree)
    let units = OrderedNode.byteCount
    for _ in 0..<4000 {
      let offset = Int.random(in: 1..<(file.used.count / 64), using: &random) * 64
      guard offset + units <= file.used.count else { continue }
      let node = UnsafeMutableRawBufferPointer(rebasing: file.bytes[offset..<(offset + units)])
      let kept = Array(node)
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        node[Int.random(in: 12..<units, using: &random)] = .random(in: 0...255, using: &random)
      }
      let sealed = file.sealed(at: offset)
      let checksum = sealed ?? NodeChecksum.of(UnsafeRawBufferPointer(node))
      node.storeBytes(of: NodeSlot.fileStampBit | UInt64(checksum), as: UInt64.self)
      if let tree = try? file.ordered(image) { _ = Self.entries(of: tree) }
      node.copyBytes(from: kept)
    }
  }
}

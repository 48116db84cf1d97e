import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Trees in a file whose bytes are changed after the trees were written.
@Suite("Nodes that are checked at their first use")
struct FileNodesTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  private static func key(_ number: UInt64) -> [UInt8] {
    // Some keys are long, so that all kinds of blocks and separators occur.
    let bytes = withUnsafeBytes(of: (number &* 0x9E37_79B9_7F4A_7C15).bigEndian) { Array($0) }
    let repeated = number % 13 == 0 ? 40 : number % 5 == 0 ? 1 : 2
    return (0..<repeated).flatMap { _ in bytes }
  }

  /// A file with a tree and a table, and the models of both.
  private struct Written {
    let file = MemoryIndexFile()
    let model: OrderedModel
    let words: [UInt64: UInt64]
    let ordered: TreeImage
    let dense: TreeImage

    init(_ count: UInt64) throws {
      let arena = NodeArena()
      var (tree, table, model) = (OrderedTree(), DenseTable(), OrderedModel())
      var words: [UInt64: UInt64] = [:]
      for number in 1...count {
        key(number).withUnsafeBytes { _ = tree.put($0, number, in: arena) }
        _ = model.put(key(number), number)
        table.put(number * 3, number, in: arena)
        words[number * 3] = number
      }
      arena.publish()
      self.model = model
      self.words = words
      ordered = try file.write(tree)
      dense = try file.write(table)
    }
  }

  /// Damages nodes: flips bits, or replaces units with units of other offsets.
  private static func damage(_ file: MemoryIndexFile, _ random: inout SeededGenerator) {
    let units = file.used.count / 64
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      let place = Int.random(in: 64..<file.used.count, using: &random)
      if Bool.random(using: &random) {
        file.bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      } else {
        let (from, to) = (Int.random(in: 1..<units, using: &random), place / 64)
        let length = min(Int.random(in: 1...17, using: &random), units - max(from, to))
        let source = Array(file.bytes[(from * 64)..<((from + length) * 64)])
        file.bytes[(to * 64)...].copyBytes(from: source)
      }
    }
  }

  @Test("In a damaged tree every operation ends, and a wrong result implies reported damage")
  func orderedDamage() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let written = try Written(1500)
    let (file, model) = (written.file, written.model)
    let whole = Array(file.used)
    var (noticed, unnoticed) = (0, 0)
    for _ in 0..<150 {
      file.bytes.copyBytes(from: whole)
      Self.damage(file, &random)
      guard let original = try? OrderedTree(written.ordered, in: file.map().entries) else { continue }
      let arena = NodeArena()
      var tree = original
      for _ in 0..<40 {
        let key = Self.key(.random(in: 1...1600, using: &random))
        let position = Int.random(in: 0..<model.count, using: &random)
        let isRight = key.withUnsafeBytes { key -> Bool in
          switch Int.random(in: 0..<9, using: &random) {
          case 0, 1: return tree.get(key) == model.get(Array(key))
          case 2: return tree.rank(of: key) == model.rank(of: Array(key))
          case 3: return tree.select(position) == model.entries[position].payload
          case 4: return Self.walk(tree, from: position, 30) == Self.walk(model, from: position, 30)
          case 5: return Self.many(tree, model, &random)
          case 6: return OrderedTree.isUnchanged(in: .all, from: original, to: tree)
          case 7:
            var changed = tree
            let old = changed.put(key, 7, in: arena)
            let isRight = old == model.get(Array(key)) && changed.get(key) == 7
            arena.abandon()
            return isRight
          default:
            var changed = tree
            let isRight =
              changed.remove(key, in: arena) == model.get(Array(key)) && changed.get(key) == nil
              && changed.count == model.count - (model.get(Array(key)) == nil ? 0 : 1)
            arena.abandon()
            return isRight
          }
        }
        #expect(isRight || tree.file.isDamaged)
        tree = original
      }
      if original.file.isDamaged { noticed += 1 } else { unnoticed += 1 }
    }
    #expect(noticed > 20 && unnoticed > 0)
  }

  @Test("In a damaged dense table every operation ends, and a wrong result implies reported damage")
  func denseDamage() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let written = try Written(3000)
    let (file, words) = (written.file, written.words)
    let whole = Array(file.used)
    var noticed = 0
    for _ in 0..<150 {
      file.bytes.copyBytes(from: whole)
      Self.damage(file, &random)
      guard let table = try? DenseTable(written.dense, in: file.map().entries) else { continue }
      let arena = NodeArena()
      for _ in 0..<40 {
        let id = UInt64.random(in: 0...9100, using: &random)
        let position = Int.random(in: 0..<3000, using: &random)
        let isRight: Bool
        switch Int.random(in: 0..<7, using: &random) {
        case 0, 1: isRight = table.get(id) == words[id]
        case 2: isRight = table.rank(of: id) == Int(min(3000, id == 0 ? 0 : (id - 1) / 3))
        case 3: isRight = table.select(position)?.id == UInt64(position + 1) * 3
        case 4:
          var cursor = DenseCursor(table)
          let isFound = cursor.seek(lowerBound: id)
          let next = max(1, (id + 2) / 3) * 3
          isRight = isFound == (next <= 9000) && (!isFound || cursor.id == next)
        case 5:
          var changed = table
          isRight = changed.put(id, 7, in: arena) == words[id] && changed.get(id) == 7
          arena.abandon()
        default:
          var changed = table
          isRight = changed.remove(id, in: arena) == words[id] && changed.get(id) == nil
          arena.abandon()
        }
        #expect(isRight || table.file.isDamaged)
      }
      if table.file.isDamaged { noticed += 1 }
    }
    #expect(noticed > 20)
  }

  @Test("Prefetching stops before an unchecked node, and reports no damage of that node")
  func lookingAhead() throws {
    let written = try Written(1500)
    let tree = try OrderedTree(written.ordered, in: written.file.map().entries)
    var parent = OrderedNode(try #require(tree.root))
    while parent.level > 1 { parent = OrderedNode(parent.childAddress(0)) }
    let count = OrderedNode(parent.childAddress(0)).count
    let place = parent.childAddress(1) + 200
    place.storeBytes(of: ~place.load(as: UInt8.self), as: UInt8.self)
    var cursor = OrderedCursor(tree)
    expectTrue(cursor.seekFirst())
    var handedOut = 0
    for position in 1...count {
      cursor.forEachPayloadAhead(8, descending: false) { _ in handedOut += 1 }
      if position < count { expectTrue(cursor.next()) }
    }
    #expect(handedOut == count)
    #expect(!tree.file.isDamaged)
    _ = cursor.next()
    #expect(tree.file.isDamaged)
    withExtendedLifetime(written) {}
  }

  @Test("A reference to an intact node of another version is reported as damage")
  func older() throws {
    let arena = NodeArena()
    let file = MemoryIndexFile()
    var tree = OrderedTree()
    for number in 1...400 as ClosedRange<UInt64> {
      Self.key(number).withUnsafeBytes { _ = tree.put($0, number, in: arena) }
    }
    arena.publish()
    let first = try file.write(tree)
    for number in 1...400 as ClosedRange<UInt64> {
      Self.key(number).withUnsafeBytes { _ = tree.put($0, number + 1, in: arena) }
    }
    arena.publish()
    let second = try file.write(tree)
    // Copies the newer root over the older root, with the older root's slot and a correct checksum.
    let size = OrderedNode.byteCount
    let newer = Array(file.bytes[second.slot.offset..<(second.slot.offset + size)])
    let place = UnsafeMutableRawBufferPointer(
      rebasing: file.bytes[first.slot.offset..<(first.slot.offset + size)])
    place.copyBytes(from: newer)
    NodeHeader(place.baseAddress!).slot = first.slot
    let checksum = NodeChecksum.of(UnsafeRawBufferPointer(place))
    NodeHeader(place.baseAddress!).stamp = NodeSlot.fileStampBit | UInt64(checksum)
    #expect(throws: FormatError.self) { try OrderedTree(first, in: file.map().entries) }
    _ = try OrderedTree(second, in: file.map().entries)
  }

  @Test("Opening a tree reads only its root")
  func untouched() throws {
    let written = try Written(1500)
    let file = written.file
    let (ordered, dense) = (written.ordered.slot.offset, written.dense.slot.offset)
    for place in 64..<file.used.count
    where !(ordered..<(ordered + 1024)).contains(place) && !(dense..<(dense + 1088)).contains(place) {
      file.bytes[place] = 0xEE
    }
    let mapped = try file.map()
    let tree = try OrderedTree(written.ordered, in: mapped.entries)
    let table = try DenseTable(written.dense, in: mapped.entries)
    #expect(tree.count == 1500 && table.count == 1500 && !mapped.isDamaged)
    #expect(table.get(3) == nil && mapped.isDamaged && mapped.damage.error?.reason == .wrongChecksum)
  }

  @Test("Trees that are loaded, changed and written again have all their entries and tags")
  func tagsGoOn() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let written = try Written(1200)
    let file = written.file
    var model = written.model
    var image = written.ordered
    for _ in 0..<6 {
      // Most nodes are not read. New parents copy their counts and tags from the old parents.
      var tree = try OrderedTree(image, in: file.map().entries)
      let arena = NodeArena()
      for _ in 0..<Int.random(in: 1...60, using: &random) {
        let key = Self.key(.random(in: 1...1300, using: &random))
        if Bool.random(using: &random) {
          key.withUnsafeBytes { _ = tree.put($0, 5, in: arena) }
          _ = model.put(key, 5)
        } else {
          key.withUnsafeBytes { _ = tree.remove($0, in: arena) }
          _ = model.remove(key)
        }
      }
      arena.publish()
      image = try file.write(tree)
      #expect(try file.untaggedCount(image) == 0)
    }
    let tree = try file.ordered(image)
    #expect(Self.walk(tree, from: 0, 5000) == Self.walk(model, from: 0, 5000))
  }

  private static func walk(_ tree: OrderedTree, from position: Int, _ count: Int) -> [UInt64] {
    var cursor = OrderedCursor(tree)
    var found: [UInt64] = []
    var isAtEntry = cursor.seek(position: position)
    while isAtEntry, found.count < count {
      found.append(cursor.payload)
      isAtEntry = cursor.next()
    }
    return found
  }

  private static func walk(_ model: OrderedModel, from position: Int, _ count: Int) -> [UInt64] {
    model.entries[position...].prefix(count).map(\.payload)
  }

  private static func many(
    _ tree: OrderedTree, _ model: OrderedModel, _ random: inout SeededGenerator
  ) -> Bool {
    let keys = (0..<20).map { _ in key(.random(in: 1...1600, using: &random)) }
    let bytes = keys.map { key in
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: key.count, alignment: 8)
      copy.copyBytes(from: key)
      return UnsafeRawBufferPointer(copy)
    }
    defer { for buffer in bytes { buffer.deallocate() } }
    return withUnsafeTemporaryAllocation(of: UInt64?.self, capacity: keys.count) { payloads in
      payloads.initialize(repeating: nil)
      bytes.withUnsafeBufferPointer { tree.getMany($0, into: payloads) }
      return Array(payloads) == keys.map { model.get($0) }
    }
  }
}

extension MemoryIndexFile {
  /// The number of nodes in the file whose parents do not have their tag.
  fileprivate func untaggedCount(_ image: TreeImage) throws -> Int {
    let mapped = try map()
    let tree = try OrderedTree(image, in: mapped.entries)
    func count(_ node: OrderedNode) -> Int {
      if node.isLeaf { return 0 }
      return (0..<node.count).reduce(0) {
        $0 + (node.countWord($1).tag == 0 ? 1 : 0) + count(OrderedNode(node.child($1, in: mapped.entries)))
      }
    }
    return (image.tag == 0 ? 1 : 0) + (tree.root.map { count(OrderedNode($0)) } ?? 0)
  }
}

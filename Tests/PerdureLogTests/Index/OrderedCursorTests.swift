import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("A cursor of an ordered tree")
struct OrderedCursorTests {
  @Test(
    "A cursor moves from any position in either direction, like an array index", arguments: KeyShape.allCases)
  func walks(shape: KeyShape) {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed) for \(shape)")
    var random = SeededGenerator(seed: seed)
    let arena = NodeArena()
    var tree = OrderedTree()
    var model = OrderedModel()
    for payload in 0..<UInt64(600) {
      let key = shape.makeKey(&random)
      expectTrue(tree.put(key, payload, in: arena) == model.put(key, payload))
    }
    var cursor = OrderedCursor(tree)
    for _ in 0..<200 {
      let key = shape.makeKey(&random)
      var index = seek(&cursor, model, key, &random)
      for _ in 0..<Int.random(in: 0...40, using: &random) {
        let isForward = Bool.random(using: &random)
        index = isForward ? min(index + 1, model.count) : max(index - 1, -1)
        expectTrue((isForward ? cursor.next() : cursor.previous()) == model.entries.indices.contains(index))
        expect(&cursor, at: index, in: model)
      }
    }
  }

  @Test(
    "A walk announces payloads up to 8 entries in advance, also those of the next leaf, each exactly once",
    arguments: [false, true])
  func payloadsAhead(descending: Bool) {
    let arena = NodeArena()
    var tree = OrderedTree()
    let count = 10000
    for payload in 0..<count {
      withUnsafeBytes(of: UInt64(payload).bigEndian) { key in
        _ = tree.put(key, UInt64(payload), in: arena)
      }
    }
    var cursor = OrderedCursor(tree)
    var handedOut: Set<UInt64> = []
    var unforeseen = 0
    var isAtEntry = descending ? cursor.seekLast() : cursor.seekFirst()
    while isAtEntry {
      if !handedOut.contains(cursor.payload) { unforeseen += 1 }
      let here = Int(cursor.payload)
      cursor.forEachPayloadAhead(8, descending: descending) { payload in
        expectTrue((0...8).contains(descending ? here - Int(payload) : Int(payload) - here))
        expectTrue(handedOut.insert(payload).inserted)
      }
      isAtEntry = descending ? cursor.previous() : cursor.next()
    }
    expectTrue(handedOut.count == count)
    // Only the first entry below each parent of leaves is not announced in advance.
    expectTrue(unforeseen == parentCount(of: tree))
    expectTrue((2..<count / 500).contains(unforeseen))
  }

  @Test("After a change of direction, a walk announces only payloads in the new direction")
  func payloadsAheadAfterTurn() {
    let arena = NodeArena()
    var tree = OrderedTree()
    for payload in 0..<10000 {
      withUnsafeBytes(of: UInt64(payload).bigEndian) { key in
        _ = tree.put(key, UInt64(payload), in: arena)
      }
    }
    for turn in 1...120 {
      for descending in [false, true] {
        var cursor = OrderedCursor(tree)
        expectTrue(descending ? cursor.seekLast() : cursor.seekFirst())
        for _ in 0..<turn {
          cursor.forEachPayloadAhead(8, descending: descending) { expectTrue($0 < 10000) }
          expectTrue(descending ? cursor.previous() : cursor.next())
        }
        for _ in 0..<min(turn, 20) {
          let here = Int(cursor.payload)
          cursor.forEachPayloadAhead(8, descending: !descending) { payload in
            expectTrue((0...8).contains(descending ? Int(payload) - here : here - Int(payload)))
          }
          expectTrue(descending ? cursor.next() : cursor.previous())
        }
      }
    }
  }

  /// The number of nodes whose children are leaves.
  private func parentCount(of tree: OrderedTree) -> Int {
    func count(_ node: OrderedNode) -> Int {
      if node.level == 1 { return 1 }
      return (0..<node.count).reduce(0) { $0 + count(OrderedNode(node.childAddress($1))) }
    }
    return tree.root.map { count(OrderedNode($0)) } ?? 0
  }

  /// Seeks a position, and returns the cursor's index in the model.
  private func seek(
    _ cursor: inout OrderedCursor, _ model: OrderedModel, _ key: [UInt8], _ random: inout SeededGenerator
  ) -> Int {
    let index: Int
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      expectTrue(cursor.seekFirst())
      index = 0
    case 1:
      expectTrue(cursor.seekLast())
      index = model.count - 1
    case 2:
      index = model.rank(of: key)
      let isFound = key.withUnsafeBytes { cursor.seek(lowerBound: $0) }
      expectTrue(isFound == (index < model.count))
    case 3:
      index = model.rank(of: key + [0])
      let isFound = key.withUnsafeBytes { cursor.seek(upperBound: $0) }
      expectTrue(isFound == (index < model.count))
    default:
      index = Int.random(in: -1...model.count, using: &random)
      expectTrue(cursor.seek(position: index) == model.entries.indices.contains(index))
    }
    expect(&cursor, at: index, in: model)
    return index
  }

  private func expect(_ cursor: inout OrderedCursor, at index: Int, in model: OrderedModel) {
    guard model.entries.indices.contains(index) else {
      expectTrue(!cursor.isValid)
      return
    }
    expectTrue([UInt8](cursor.key) == model.entries[index].key)
    expectTrue(cursor.payload == model.entries[index].payload)
    expectTrue(cursor.position == index)
  }

  @Test("A cursor finds nothing in an empty tree")
  func empty() {
    var cursor = OrderedCursor(OrderedTree())
    expectTrue(!cursor.next())
    expectTrue(!cursor.seekFirst())
    expectTrue(!cursor.seekLast())
    expectTrue(!cursor.seek(position: 0))
    expectTrue(!cursor.seek(lowerBound: RawKeyRange.all.lower))
    expectTrue(!cursor.previous())
  }
}

@Suite("A batch of lookups")
struct OrderedBatchTests {
  @Test("A batch of lookups gives the results of single lookups", arguments: [0, 1, 15, 16, 17, 100])
  func getMany(count: Int) {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let arena = NodeArena()
    var tree = OrderedTree()
    for payload in 0..<UInt64(500) { _ = tree.put(KeyShape.short.makeKey(&random), payload, in: arena) }
    let keys = (0..<count).map { _ in KeyShape.short.makeKey(&random) }
    let flat = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: keys.reduce(1) { $0 + $1.count })
    defer { flat.deallocate() }
    var offset = 0
    let views = keys.map { key in
      _ = flat[offset...].update(fromContentsOf: key)
      defer { offset += key.count }
      return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(flat)[offset..<offset + key.count])
    }
    var payloads = [UInt64?](repeating: 77, count: count)
    views.withUnsafeBufferPointer { views in
      payloads.withUnsafeMutableBufferPointer { tree.getMany(views, into: $0) }
    }
    expectTrue(payloads == keys.map { tree.get($0) })
  }
}

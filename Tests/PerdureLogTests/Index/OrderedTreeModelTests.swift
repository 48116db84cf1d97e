import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Ordered trees compared with a sorted array")
struct OrderedTreeModelTests {
  @Test(
    "A tree equals its model after random operations, and snapshots do not change",
    arguments: KeyShape.allCases)
  func randomOperations(shape: KeyShape) {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed) for \(shape)")
    var run = OrderedRun(shape: shape, seed: seed)
    for step in 0..<LongRun.count(500, long: 2000) { run.step(step) }
    run.finish()
  }

  @Test("Keys put in ascending order and removed in random order leave no nodes")
  func ascendingThenRemoved() {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let arena = NodeArena()
    var tree = OrderedTree()
    var keys = (0..<UInt64(4000)).map { id in withUnsafeBytes(of: id.bigEndian) { [UInt8]($0) } }
    for (index, key) in keys.enumerated() {
      expectTrue(tree.put(key, UInt64(index), in: arena) == nil)
    }
    tree.checkInvariants(in: arena)
    let full = tree.measure()
    expectTrue(full.usedByteCount * 10 >= full.nodeCount * OrderedNode.byteCount * 9, "nodes stay full")
    keys.shuffle(using: &random)
    for (index, key) in keys.enumerated() {
      expectTrue(tree.remove(key, in: arena) != nil)
      if index % 500 == 0 { tree.checkInvariants(in: arena) }
      if index == 3600 {
        let sparse = tree.measure()
        expectTrue(sparse.nodeCount * 3 < full.nodeCount, "sparse nodes are merged")
      }
    }
    expectTrue(tree.root == nil && tree.height == 0)
    arena.publish()
    arena.reclaim(oldestPinnedVersion: arena.publishedVersion)
    expectTrue(arena.liveByteCount == 0)
  }

  @Test(
    "A tree of several levels grows and shrinks, even with long separators",
    arguments: [KeyShape.random16, .longPrefix, .aroundLimit])
  func manyLevels(shape: KeyShape) {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed) for \(shape)")
    var random = SeededGenerator(seed: seed)
    let arena = NodeArena()
    var tree = OrderedTree()
    var model: [[UInt8]: UInt64] = [:]
    for payload in 0..<UInt64(12_000) {
      let key = shape.makeKey(&random)
      expectTrue(tree.put(key, payload, in: arena) == model.updateValue(payload, forKey: key))
    }
    expectTrue(tree.height >= 3)
    tree.checkInvariants(in: arena)
    arena.publish()
    let (full, fullCount) = (tree, model.count)
    for (index, key) in model.keys.sorted(by: { $0.lexicographicallyPrecedes($1) })
      .shuffled(using: &random).enumerated()
    {
      expectTrue(tree.remove(key, in: arena) == model[key])
      if index % 2000 == 0 { tree.checkInvariants(in: arena) }
    }
    expectTrue(tree.root == nil)
    full.checkInvariants(in: arena)
    expectTrue(full.entries.count == fullCount)
    expectTrue(full.entries.allSatisfy { model[$0.key] == $0.payload })
    arena.publish()
    arena.reclaim(oldestPinnedVersion: arena.publishedVersion)
    expectTrue(arena.liveByteCount == 0)
  }

  @Test("A full node of long keys is split although its halves have a longer common prefix")
  func longerPrefixAfterSplit() {
    func long(_ number: Int) -> [UInt8] { [UInt8](repeating: 98, count: 300) + [UInt8(number)] }
    for laterCount in 0..<50 {
      let arena = NodeArena()
      var tree = OrderedTree()
      var keys = (0..<60).map { long($0 * 4) }
      for key in keys { _ = tree.put(key, 0, in: arena) }
      // Splits the first leaf in the middle. The left half has the prefix "b" of one byte.
      _ = tree.put([98], 0, in: arena)
      expectTrue(tree.remove([98], in: arena) != nil)
      for number in 0..<laterCount {
        keys.append(long(number * 4 + 1))
        _ = tree.put(long(number * 4 + 1), 0, in: arena)
      }
      _ = tree.put([97], 0, in: arena)
      tree.checkInvariants(in: arena)
      expectTrue(tree.entries.map(\.key) == [[97]] + keys.sorted { $0.lexicographicallyPrecedes($1) })
    }
  }

  @Test(
    "After changes in key order, a tree of several levels equals its model", arguments: KeyShape.allCases)
  func ascendingChanges(shape: KeyShape) {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed) for \(shape)")
    var random = SeededGenerator(seed: seed)
    let arena = NodeArena()
    var tree = OrderedTree()
    var model: [[UInt8]: UInt64] = [:]
    for round in 0..<UInt64(LongRun.count(4)) {
      let keys = (0..<1000).map { _ in shape.makeKey(&random) }
        .sorted { $0.lexicographicallyPrecedes($1) }
      withUnsafeMutablePointer(to: &tree) { tree in
        var ascending = AscendingChanges(tree, in: arena)
        for key in keys {
          key.withUnsafeBytes { ascending.put($0, round) }
          model[key] = round
        }
        ascending.finish()
      }
      tree.checkInvariants(in: arena)
      arena.publish()
      arena.reclaim(oldestPinnedVersion: arena.publishedVersion)
    }
    expectTrue(tree.count == model.count)
    expectTrue(tree.entries.allSatisfy { model[$0.key] == $0.payload })
  }

  @Test(
    "Ordered removal of neighbouring keys leaves a valid tree, and merges sparse nodes",
    arguments: [KeyShape.random16, .sharedPrefix, .longPrefix, .aroundLimit])
  func removedRuns(shape: KeyShape) {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed) for \(shape)")
    var random = SeededGenerator(seed: seed)
    let arena = NodeArena()
    var tree = OrderedTree()
    var keys = Set((0..<LongRun.count(3000, long: 8000)).map { _ in shape.makeKey(&random) }).sorted {
      $0.lexicographicallyPrecedes($1)
    }
    for key in keys { _ = tree.put(key, 1, in: arena) }
    let full = tree.measure()
    let count = keys.count
    var round = 0
    while !keys.isEmpty {
      arena.publish()
      let before = tree
      round += 1
      let length = Int.random(in: 1...max(1, count / 3), using: &random)
      let start = Int.random(in: 0..<keys.count, using: &random)
      let run = start..<min(keys.count, start + length)
      // Some keys of a run stay, or are removed and put again.
      let kept = keys[run].filter { _ in Int.random(in: 0..<50, using: &random) == 0 }
      let keptKeys = Set(kept)
      withUnsafeMutablePointer(to: &tree) { tree in
        var ascending = AscendingChanges(tree, in: arena)
        for key in keys[run] {
          key.withUnsafeBytes {
            if !keptKeys.contains(key) || Bool.random(using: &random) { expectTrue(ascending.remove($0)) }
            if keptKeys.contains(key) { ascending.put($0, 1) }
          }
        }
        ascending.finish()
      }
      if round % 4 == 1 {
        before.checkInvariants(in: arena)
        expectTrue(before.entries.map(\.key) == keys)
      }
      keys.replaceSubrange(run, with: kept)
      tree.checkInvariants(in: arena)
      expectTrue(tree.entries.map(\.key) == keys)
      arena.publish()
      arena.reclaim(oldestPinnedVersion: arena.publishedVersion)
      if keys.count * 10 < count {
        expectTrue(tree.measure().nodeCount * 2 < full.nodeCount, "sparse nodes are merged")
      }
    }
    expectTrue(tree.root == nil && tree.height == 0)
    arena.publish()
    arena.reclaim(oldestPinnedVersion: arena.publishedVersion)
    expectTrue(arena.liveByteCount == 0)
  }

  @Test("A tree stores the empty key and keys of the maximum length")
  func keyLengths() {
    let arena = NodeArena()
    var tree = OrderedTree()
    let longest = [UInt8](repeating: 0xFF, count: OrderedTree.keyByteCountLimit)
    for cut in 0..<20 { expectTrue(tree.put(Array(longest.dropLast(cut)), UInt64(cut), in: arena) == nil) }
    expectTrue(tree.put([], 99, in: arena) == nil)
    tree.checkInvariants(in: arena)
    expectTrue(tree.get(longest) == 0)
    expectTrue(tree.get(Array(longest.dropLast(19))) == 19)
    expectTrue(tree.get([]) == 99)
    expectTrue(tree.rank(of: longest) == 20)
    tree.removeAll(in: arena)
    expectTrue(arena.liveByteCount == 0)
  }
}

/// Random operations on a tree and its model, with snapshots of both.
private struct OrderedRun {
  struct Snapshot {
    var version: UInt64
    var tree: OrderedTree
    var model: OrderedModel
  }

  let shape: KeyShape
  let arena = NodeArena()
  var random: SeededGenerator
  var tree = OrderedTree()
  var model = OrderedModel()
  var published: Snapshot
  var snapshots: [Snapshot] = []

  init(shape: KeyShape, seed: UInt64) {
    self.shape = shape
    random = SeededGenerator(seed: seed)
    published = Snapshot(version: 0, tree: OrderedTree(), model: OrderedModel())
  }

  mutating func step(_ number: Int) {
    // Growth and shrinking alternate.
    let growing = number / 500 % 3 != 2
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<2: abandon()
    case 2..<10: publish()
    case 10..<13: releaseSnapshot()
    case 13..<16: reclaim()
    case 16..<20: check()
    case 20..<22: changeAscending()
    case 22..<(growing ? 75 : 35): put()
    default: remove()
    }
  }

  private mutating func put() {
    let key = shape.makeKey(&random)
    // Payloads have few values, so that equal payloads are put again.
    let payload = UInt64.random(in: 0...3, using: &random)
    expectTrue(tree.put(key, payload, in: arena) == model.put(key, payload))
  }

  private mutating func remove() {
    var key = shape.makeKey(&random)
    if Int.random(in: 0..<8, using: &random) > 0, let known = model.entries.randomElement(using: &random) {
      key = known.key
    }
    expectTrue(tree.remove(key, in: arena) == model.remove(key))
  }

  /// Makes many changes in key order. Some keys change more than once.
  private mutating func changeAscending() {
    var changes: [(key: [UInt8], payload: UInt64?)] = []
    for _ in 0..<Int.random(in: 0...200, using: &random) {
      let known = model.entries.randomElement(using: &random)?.key
      let isKnown = Int.random(in: 0..<4, using: &random) == 0
      let payload = UInt64.random(in: 0...12, using: &random)
      changes.append((isKnown ? known ?? [] : shape.makeKey(&random), payload < 10 ? payload : nil))
    }
    changes.sort { $0.key.lexicographicallyPrecedes($1.key) }
    var removals: [Bool] = []
    withUnsafeMutablePointer(to: &tree) { tree in
      var ascending = AscendingChanges(tree, in: arena)
      for change in changes {
        change.key.withUnsafeBytes {
          if let payload = change.payload {
            ascending.put($0, payload)
          } else {
            removals.append(ascending.remove($0))
          }
        }
      }
      ascending.finish()
    }
    var expected: [Bool] = []
    for change in changes {
      if let payload = change.payload {
        _ = model.put(change.key, payload)
      } else {
        expected.append(model.remove(change.key) != nil)
      }
    }
    expectTrue(removals == expected)
    check()
  }

  private mutating func publish() {
    published = Snapshot(version: arena.publish(), tree: tree, model: model)
    if Bool.random(using: &random) { snapshots.append(published) }
  }

  private mutating func abandon() {
    arena.abandon()
    (tree, model) = (published.tree, published.model)
    check()
  }

  private mutating func releaseSnapshot() {
    guard let index = snapshots.indices.randomElement(using: &random) else { return }
    let snapshot = snapshots.remove(at: index)
    expectTrue(snapshot.tree.entries == snapshot.model.entries)
    let range = (shape.makeKey(&random), Bool.random(using: &random) ? shape.makeKey(&random) : nil)
    let isUnchanged = withKeyRange(range.0, range.1) {
      OrderedTree.isUnchanged(in: $0, from: snapshot.tree, to: tree)
    }
    let before = snapshot.model.entries(from: range.0, to: range.1)
    expectTrue(isUnchanged == (before == model.entries(from: range.0, to: range.1)))
  }

  private mutating func reclaim() {
    let oldest = snapshots.map(\.version).min() ?? arena.publishedVersion
    arena.reclaim(oldestPinnedVersion: min(oldest, arena.publishedVersion))
    for snapshot in snapshots { expectTrue(snapshot.tree.entries == snapshot.model.entries) }
  }

  private mutating func check() {
    tree.checkInvariants(in: arena)
    expectTrue(tree.count == model.count)
    let key = shape.makeKey(&random)
    expectTrue(tree.get(key) == model.get(key))
    expectTrue(tree.rank(of: key) == model.rank(of: key))
    let other = shape.makeKey(&random)
    let counted = withKeyRange(key, other) { tree.count(in: $0) }
    expectTrue(counted == model.entries(from: key, to: other).count)
    let position = Int.random(in: 0...model.count, using: &random)
    let selected = position < model.count ? model.entries[position].payload : nil
    expectTrue(tree.select(position) == selected)
    expectTrue(tree.entries == model.entries)
  }

  mutating func finish() {
    check()
    tree.removeAll(in: arena)
    model.removeAll()
    publish()
    while !snapshots.isEmpty { releaseSnapshot() }
    reclaim()
    expectTrue(arena.liveByteCount == 0)
    expectTrue(arena.retiredByteCount == 0)
    expectTrue(arena.retiredCount == 0)
  }
}

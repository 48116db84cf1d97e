import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Ways to choose ids that give trees of different shape.
enum IDShape: String, CaseIterable, CustomTestStringConvertible {
  case dense, sparse, huge, edges

  var testDescription: String { rawValue }

  func makeID(_ random: inout SeededGenerator) -> UInt64 {
    switch self {
    case .dense: .random(in: 0...700, using: &random)
    case .sparse: .random(in: 0...70, using: &random) * .random(in: 1...5000, using: &random)
    case .huge: .random(in: 0 ... .max, using: &random)
    case .edges:
      (Bool.random(using: &random) ? 0 : 1 << UInt64.random(in: 0...63, using: &random))
        &- .random(in: 0...2, using: &random)
    }
  }
}

@Suite("Dense tables compared with a dictionary")
struct DenseTableTests {
  @Test(
    "A table equals its model after random operations, and snapshots do not change",
    arguments: IDShape.allCases)
  func randomOperations(shape: IDShape) {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed) for \(shape)")
    var run = DenseRun(shape: shape, seed: seed)
    for step in 0..<2000 { run.step(step) }
    run.finish()
  }

  @Test(
    "A walk announces each later word of the leaf in advance, exactly once",
    arguments: [false, true])
  func wordsAhead(descending: Bool) {
    let arena = NodeArena()
    var table = DenseTable()
    let ids = (1...1000 as ClosedRange<UInt64>).filter { $0 % 3 != 0 }
    for id in ids { _ = table.put(id, id, in: arena) }
    var cursor = DenseCursor(table)
    var handedOut: Set<UInt64> = []
    var isAtEntry = descending ? cursor.seekLast() : cursor.seekFirst()
    var last: UInt64?
    while isAtEntry {
      let here = cursor.id
      // Only the first entry of each leaf is not announced in advance.
      expectTrue(handedOut.contains(here) == (last.map { $0 >> 6 } == here >> 6))
      last = here
      cursor.forEachWordAhead(8, descending: descending) { word in
        guard word != 0 else { return }
        expectTrue(word >> 6 == here >> 6 && (1...8).contains(descending ? here - word : word - here))
        expectTrue(handedOut.insert(word).inserted)
      }
      isAtEntry = descending ? cursor.previous() : cursor.next()
    }
    expectTrue(handedOut.count > ids.count * 9 / 10)
  }

  @Test("The cursor moves from any position in either direction", arguments: IDShape.allCases)
  func cursor(shape: IDShape) {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed) for \(shape)")
    var random = SeededGenerator(seed: seed)
    let arena = NodeArena()
    var table = DenseTable()
    var ids = Set<UInt64>()
    for _ in 0..<300 {
      let id = shape.makeID(&random)
      table.put(id, id | 1, in: arena)
      ids.insert(id)
    }
    let sorted = ids.sorted()
    var cursor = DenseCursor(table)
    for _ in 0..<300 {
      let id = shape.makeID(&random)
      var index: Int
      switch Int.random(in: 0..<5, using: &random) {
      case 0: (index, _) = (0, cursor.seekFirst())
      case 1: (index, _) = (sorted.count - 1, cursor.seekLast())
      case 2: (index, _) = (sorted.count { $0 < id }, cursor.seek(lowerBound: id))
      case 3: (index, _) = (sorted.count { $0 <= id }, cursor.seek(upperBound: id))
      default:
        index = .random(in: -1...sorted.count, using: &random)
        expectTrue(cursor.seek(position: index) == sorted.indices.contains(index))
      }
      for _ in 0..<Int.random(in: 0...70, using: &random) {
        expectTrue(cursor.isValid == sorted.indices.contains(index))
        if cursor.isValid {
          expectTrue(cursor.id == sorted[index] && cursor.word == sorted[index] | 1)
        }
        let isForward = Bool.random(using: &random)
        index = isForward ? min(index + 1, sorted.count) : max(index - 1, -1)
        expectTrue((isForward ? cursor.next() : cursor.previous()) == sorted.indices.contains(index))
      }
    }
  }

  @Test("Lookups and cursors find nothing in an empty table")
  func empty() {
    let table = DenseTable()
    expectTrue(table.get(0) == nil && table.rank(of: .max) == 0 && table.select(0) == nil)
    var cursor = DenseCursor(table)
    expectTrue(!cursor.next() && !cursor.previous() && !cursor.seekFirst() && !cursor.seekLast())
  }
}

/// Random operations on a table and its model, with snapshots of both.
private struct DenseRun {
  struct Snapshot {
    var version: UInt64
    var table: DenseTable
    var model: [UInt64: UInt64]
  }

  let shape: IDShape
  let arena = NodeArena()
  var random: SeededGenerator
  var table = DenseTable()
  var model: [UInt64: UInt64] = [:]
  var published = Snapshot(version: 0, table: DenseTable(), model: [:])
  var snapshots: [Snapshot] = []

  init(shape: IDShape, seed: UInt64) {
    self.shape = shape
    random = SeededGenerator(seed: seed)
  }

  mutating func step(_ number: Int) {
    let growing = number / 500 % 3 != 2
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<2: abandon()
    case 2..<10: publish()
    case 10..<13: releaseSnapshot()
    case 13..<16: reclaim()
    case 16..<20: check()
    case 20..<(growing ? 75 : 35):
      let id = shape.makeID(&random)
      let word = UInt64.random(in: 1...3, using: &random)
      let old = model.updateValue(word, forKey: id)
      expectTrue(table.put(id, word, in: arena) == old)
    default:
      let id = model.keys.sorted().randomElement(using: &random) ?? shape.makeID(&random)
      expectTrue(table.remove(id, in: arena) == model.removeValue(forKey: id))
      let other = shape.makeID(&random)
      expectTrue(table.remove(other, in: arena) == model.removeValue(forKey: other))
    }
  }

  private mutating func publish() {
    published = Snapshot(version: arena.publish(), table: table, model: model)
    if Bool.random(using: &random) { snapshots.append(published) }
  }

  private mutating func abandon() {
    arena.abandon()
    (table, model) = (published.table, published.model)
    check()
  }

  private mutating func releaseSnapshot() {
    guard let index = snapshots.indices.randomElement(using: &random) else { return }
    let snapshot = snapshots.remove(at: index)
    expect(snapshot.table, equals: snapshot.model)
    let first = shape.makeID(&random)
    let last = shape.makeID(&random)
    let range = min(first, last)...max(first, last)
    let isUnchanged = DenseTable.isUnchanged(in: range, from: snapshot.table, to: table)
    let before = snapshot.model.filter { range.contains($0.key) }
    expectTrue(isUnchanged == (before == model.filter { range.contains($0.key) }))
  }

  private mutating func reclaim() {
    let oldest = snapshots.map(\.version).min() ?? arena.publishedVersion
    arena.reclaim(oldestPinnedVersion: min(oldest, arena.publishedVersion))
    for snapshot in snapshots { expect(snapshot.table, equals: snapshot.model) }
  }

  private func expect(_ table: DenseTable, equals model: [UInt64: UInt64]) {
    var cursor = DenseCursor(table)
    var entries: [UInt64: UInt64] = [:]
    while cursor.next() { entries[cursor.id] = cursor.word }
    expectTrue(entries == model)
  }

  private mutating func check() {
    table.checkInvariants(in: arena)
    expectTrue(table.count == model.count)
    let sorted = model.keys.sorted()
    let id = shape.makeID(&random)
    expectTrue(table.get(id) == model[id])
    expectTrue(table.rank(of: id) == sorted.count { $0 < id })
    expectTrue(table.count(in: 0...id) == sorted.count { $0 <= id })
    let position = Int.random(in: 0...sorted.count, using: &random)
    expectTrue(table.select(position)?.id == (position < sorted.count ? sorted[position] : nil))
    let ids = (0..<40).map { _ in shape.makeID(&random) } + sorted.prefix(40)
    var words = [UInt64](repeating: 99, count: ids.count)
    ids.withUnsafeBufferPointer { ids in
      words.withUnsafeMutableBufferPointer { table.getMany(ids, into: $0) }
    }
    expectTrue(words == ids.map { model[$0] ?? 0 })
    expect(table, equals: model)
  }

  mutating func finish() {
    check()
    for id in model.keys.sorted().shuffled(using: &random) { expectTrue(table.remove(id, in: arena) != nil) }
    expectTrue(table.root == nil && table.height == 0)
    model = [:]
    publish()
    while !snapshots.isEmpty { releaseSnapshot() }
    reclaim()
    expectTrue(arena.liveByteCount == 0)
    expectTrue(arena.retiredByteCount == 0)
  }
}

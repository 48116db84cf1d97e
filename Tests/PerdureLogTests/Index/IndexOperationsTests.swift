import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Operations on indexes, applied in order of their keys")
struct IndexOperationsTests {
  private static let indexCount = 3

  @Test("Applying operations together gives the same result as applying them one by one")
  func sameAsOneByOne() {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let arena = NodeArena()
    let trees = UnsafeMutablePointer<OrderedTree>.allocate(capacity: Self.indexCount)
    trees.initialize(repeating: OrderedTree(), count: Self.indexCount)
    defer { trees.deallocate() }
    var models = [OrderedModel](repeating: OrderedModel(), count: Self.indexCount)
    var operations = IndexOperations()
    for _ in 0..<40 {
      for _ in 0..<Int.random(in: 0...300, using: &random) {
        let index = Int.random(in: 0..<Self.indexCount, using: &random)
        Self.change(&operations, &models[index], UInt32(index), &random)
      }
      operations.apply(to: trees, in: arena)
      expectTrue(operations.keys.count == 0)
      for index in 0..<Self.indexCount {
        trees[index].checkInvariants(in: arena)
        expectTrue(trees[index].entries == models[index].entries)
      }
      arena.publish()
    }
  }

  /// Adds or removes an entry with a short key. There are few keys, so each is changed several
  /// times.
  private static func change(
    _ operations: inout IndexOperations, _ model: inout OrderedModel, _ index: UInt32,
    _ random: inout SeededGenerator
  ) {
    let key = KeyShape.extremes.makeKey(&random)
    let reference = UInt64.random(in: 0...20, using: &random)
    let treeKey = key + withUnsafeBytes(of: reference.bigEndian) { [UInt8]($0) }
    if Int.random(in: 0..<3, using: &random) == 0 {
      treeKey.withUnsafeBytes { operations.remove($0, from: index) }
      _ = model.remove(treeKey)
    } else {
      let found = operations.add(to: index) { $0.add(key: key, reference: reference) }
      expectTrue(found.count == 1)
      _ = model.put(treeKey, reference)
    }
  }

  @Test("A key from a number equals the key from its big-endian bytes")
  func numbers() {
    let number: UInt64 = 0x0102_0304_0506_0708
    var entries = IndexEntries()
    entries.add(key: number, reference: 9)
    entries.add(key: withUnsafeBytes(of: number.bigEndian) { [UInt8]($0) }, reference: 9)
    let keys = (0..<2).map { entries.withEntry($0) { [UInt8]($0) } }
    #expect(keys[0] == keys[1])
  }
}

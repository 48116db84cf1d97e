import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Members of a group in an ordered tree")
struct OrderedTreeMembersTests {
  @Test("The members of a group are those that were put, in order, for any number of leaves")
  func members() {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let arena = NodeArena()
    var tree = OrderedTree()
    var expected: [UInt64: Set<UInt64>] = [:]
    let base = random.next() & 0xFFFF_0000_0000_0000
    for size in [1, 2, 9, 64, 65, 900, 3, 200] {
      let group = base | UInt64.random(in: 1...40, using: &random)
      for _ in 0..<size {
        let member = Bool.random(using: &random) ? random.next() : base | random.next() >> 52
        expected[group, default: []].insert(member)
      }
    }
    expected[base | 20, default: []].formUnion([0, .max, .max - 1])
    for (group, members) in expected {
      for member in members { _ = tree.put(key(group, member), 0, in: arena) }
    }
    for group in (base...base + 42) {
      var found: [UInt64] = []
      tree.forEachMember(of: group) { found.append($0) }
      expectTrue(found == (expected[group] ?? []).sorted(), "group \(group - base)")
    }
  }

  @Test("Keys of other lengths are not members")
  func otherKeys() {
    let arena = NodeArena()
    var tree = OrderedTree()
    for group in UInt64(1)...5 {
      _ = tree.put(Array(key(group, 0).prefix(8)), 0, in: arena)
      _ = tree.put(key(group * 2, 7), 0, in: arena)
    }
    _ = tree.put(key(3, 7) + [0], 0, in: arena)
    _ = tree.put([UInt8](repeating: 0, count: 400), 0, in: arena)
    for group in UInt64(0)...11 {
      var found: [UInt64] = []
      tree.forEachMember(of: group) { found.append($0) }
      let hasMember = group > 0 && group % 2 == 0 && group <= 10
      expectTrue(found == (hasMember ? [7] : []), "group \(group)")
    }
  }

  @Test("An empty tree has no members")
  func empty() {
    OrderedTree().forEachMember(of: 1) { _ in expectTrue(false) }
  }

  private func key(_ group: UInt64, _ member: UInt64) -> [UInt8] {
    withUnsafeBytes(of: (group.bigEndian, member.bigEndian)) { Array($0) }
  }
}

import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Sorting by key bytes")
struct SortBufferTests {
  @Test("A buffer with any limit returns the first keys in order")
  func firstOfMany() {
    var random = SeededGenerator.forTest("sort buffer")
    for _ in 0..<300 {
      let count = Int.random(in: 0...60, using: &random)
      let keys = Set(
        (0..<count).map { _ in
          // Long common prefixes, so that bytes after the sixteenth also determine the order.
          [UInt8](repeating: 7, count: random.pick([0, 3, 15, 16, 40]))
            + (0..<3).map { _ in UInt8.random(in: 0...3, using: &random) }
        })
      for limit in [nil, 0, 1, 5, count, count + 1] {
        var buffer = SortBuffer(limit: limit, keepsRows: true)
        let order = keys.shuffled(using: &random)
        for (position, key) in order.enumerated() {
          buffer.add(
            key, FoundObject(reference: ObjectReference(rawValue: UInt64(position)), row: nil))
        }
        let found = buffer.sorted().map { order[Int($0.reference.rawValue)] }
        let expected = keys.sorted { $0.lexicographicallyPrecedes($1) }
        #expect(found == Array(expected.prefix(limit ?? count)))
      }
    }
  }

  @Test("A buffer with a limit of 3 returns the 3 smallest of 5,000 keys that are added in descending order")
  func compaction() {
    var buffer = SortBuffer(limit: 3, keepsRows: true)
    for number in (0..<5000).reversed() {
      var key = OrderedKey()
      key.append(.integer(Int64(number)), as: .int64)
      buffer.add(key.bytes, FoundObject(reference: ObjectReference(rawValue: UInt64(number)), row: nil))
    }
    #expect(buffer.sorted().map(\.reference.rawValue) == [0, 1, 2])
  }
}

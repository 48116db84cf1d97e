// Tests of order keys: a key between two keys, and the lengths of keys.

import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Order keys")
struct OrderKeyTests {
  private func key(_ bytes: UInt8...) throws -> OrderKey { try #require(OrderKey(bytes)) }

  @Test("A key has 1 to 24 bytes, does not end with zero, and returns its bytes unchanged")
  func bytes() throws {
    #expect(OrderKey([]) == nil && OrderKey([0]) == nil && OrderKey([1, 0]) == nil)
    #expect(OrderKey([UInt8](repeating: 1, count: 25)) == nil)
    for count in 1...24 {
      for first: UInt8 in [0, 1, 127, 128, 255] {
        let bytes = [first] + [UInt8](repeating: 0, count: count - 1)
        let whole = Array(bytes.dropLast()) + [7]
        let key = try #require(OrderKey(whole))
        #expect(key.bytes == whole && key.count == count)
      }
    }
  }

  @Test("Keys sort by their bytes")
  func order() {
    var random = SeededGenerator.forTest("order of keys")
    for _ in 0..<2000 {
      let (left, right) = (randomKey(&random), randomKey(&random))
      #expect((left < right) == left.bytes.lexicographicallyPrecedes(right.bytes))
      #expect((left == right) == (left.bytes == right.bytes))
    }
  }

  @Test("A key exists between any two ascending short keys, and no key exists between other pairs")
  func everyShortPair() throws {
    let bytes: [UInt8] = [0, 1, 2, 127, 128, 254, 255]
    var keys: [OrderKey] = []
    for first in bytes {
      if let key = OrderKey([first]) { keys.append(key) }
      keys += bytes.compactMap { OrderKey([first, $0]) }
    }
    for left in keys.map(Optional.some) + [nil] {
      for right in keys.map(Optional.some) + [nil] {
        let between = OrderKey.between(left, right)
        if let left, let right, left >= right {
          #expect(between == nil)
        } else {
          let found = try #require(between, "\(left as Any), \(right as Any)")
          #expect(left.map { $0 < found } ?? true && right.map { found < $0 } ?? true)
          #expect(found.bytes.last != 0 && OrderKey(found.bytes) == found)
        }
      }
    }
  }

  @Test(
    "The key between two random keys is deterministic, and is nil only if they are equal or exceed 21 bytes"
  )
  func randomPairs() {
    var random = SeededGenerator.forTest("between keys")
    for _ in 0..<20_000 {
      var (left, right) = (randomKey(&random), randomKey(&random))
      if Int.random(in: 0..<3, using: &random) == 0 { right = neighbour(of: left, &random) }
      if right < left { swap(&left, &right) }
      let found = OrderKey.between(left, right)
      #expect(found == OrderKey.between(left, right))
      if let found {
        #expect(left < found && found < right, "\(left) \(found) \(right)")
      } else {
        #expect(left == right || left.count > 21 || right.count > 21, "\(left) \(right)")
      }
      let (first, last) = (OrderKey.between(nil, left), OrderKey.between(right, nil))
      #expect(first.map { $0 < left } ?? true && last.map { right < $0 } ?? true)
    }
  }

  @Test("Keys that are spread between bounds ascend, with space between neighbours")
  func spread() throws {
    var random = SeededGenerator.forTest("spread keys")
    for _ in 0..<2000 {
      var (left, right) = (randomKey(&random), randomKey(&random))
      if right < left { swap(&left, &right) }
      let bounds: (OrderKey?, OrderKey?) = (
        Int.random(in: 0..<4, using: &random) == 0 ? nil : left,
        Int.random(in: 0..<4, using: &random) == 0 ? nil : right
      )
      let count = Int.random(in: 0..<130, using: &random)
      guard let keys = OrderKey.spread(count, between: bounds.0, bounds.1) else { continue }
      #expect(keys.count == count && keys.allSatisfy { $0.count <= 12 })
      let all = [bounds.0] + keys.map(Optional.some) + [bounds.1]
      for (before, behind) in zip(all, all.dropFirst()) {
        if let before, let behind { #expect(before < behind) }
        #expect(OrderKey.between(before, behind) != nil)
      }
    }
    #expect(OrderKey.spread(3, between: nil, nil)?.map(\.count) == [3, 3, 3])
    #expect(try OrderKey.spread(1, between: key(5), key(5)) == nil)
  }

  @Test("After 100,000 insertions at one position, the new keys have at most 15 bytes")
  func runs() throws {
    var (first, last) = (try key(128), try key(128))
    let (left, right) = (try key(7, 1), try key(7, 2))
    var (ascending, descending) = (left, right)
    for _ in 0..<100_000 {
      first = try #require(OrderKey.between(nil, first))
      last = try #require(OrderKey.between(last, nil))
      ascending = try #require(OrderKey.between(ascending, right))
      descending = try #require(OrderKey.between(left, descending))
    }
    #expect(first.count <= 6 && last.count <= 6, "\(first) \(last)")
    #expect(ascending.count <= 15 && descending.count <= 15, "\(ascending) \(descending)")
  }

  private func randomKey(_ random: inout SeededGenerator) -> OrderKey {
    while true {
      let bytes = (0..<1 + Int.random(in: 0..<24, using: &random)).map { _ in
        [0, 1, 128, 255, UInt8(Int.random(in: 0..<256, using: &random))][
          Int.random(in: 0..<5, using: &random)]
      }
      if let key = OrderKey(bytes) { return key }
    }
  }

  /// A key that differs from `key` only at its end, or not at all.
  private func neighbour(of key: OrderKey, _ random: inout SeededGenerator) -> OrderKey {
    while true {
      var bytes = key.bytes
      if Int.random(in: 0..<2, using: &random) == 0, bytes.count < 24 {
        bytes.append(UInt8(Int.random(in: 0..<3, using: &random)))
      }
      bytes[bytes.count - 1] = UInt8(Int.random(in: 0..<256, using: &random))
      if let other = OrderKey(bytes) { return other }
    }
  }
}

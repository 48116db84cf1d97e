// Compares the ordered set in chunks with a plain sorted array.

import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Ordered sets in chunks")
struct SortedChunksTests {
  @Test("Random changes and lookups agree with a sorted array, and copies do not change")
  func random() {
    var random = SeededGenerator.forTest("sorted chunks")
    for round in 0..<12 {
      let size = round < 6 ? 600 : 5_000
      var run = ChunksRun(size: size, SeededGenerator(seed: random.next()))
      for _ in 0..<size { run.step() }
      run.checkAll()
    }
  }

  @Test("Elements that are inserted in order fill their chunks, and removals merge short chunks")
  func lengths() {
    var set = SortedChunks<Int>()
    for number in 0..<10_000 { set.update(number) }
    #expect(set.isConsistent && set.count == 10_000)
    for number in 0..<10_000 where number % 100 != 0 { set.remove(number) }
    #expect(set.isConsistent && set.elements == Array(stride(from: 0, to: 10_000, by: 100)))
    for number in set.elements { set.remove(number) }
    #expect(set.isEmpty && set.isConsistent)
  }
}

/// A set, the array with the expected elements, and a copy of both.
private struct ChunksRun {
  let size: Int
  var random: SeededGenerator
  var set = SortedChunks<Int>()
  var array: [Int] = []
  var copy = SortedChunks<Int>()
  var copied: [Int] = []

  init(size: Int, _ random: SeededGenerator) {
    (self.size, self.random) = (size, random)
  }

  mutating func step() {
    let number = Int.random(in: 0..<size, using: &random)
    let rank = array.firstIndex { $0 >= number } ?? array.count
    let isThere = rank < array.count && array[rank] == number
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<5:
      #expect((set.update(number) != nil) == isThere)
      if !isThere { array.insert(number, at: rank) }
    case 5..<8:
      #expect(set.remove(number) == (isThere ? number : nil))
      if isThere { array.remove(at: rank) }
    case 8:
      #expect(copy.elements == copied)
      (copy, copied) = (set, array)
    default: look(number, rank, isThere)
    }
  }

  private mutating func look(_ number: Int, _ rank: Int, _ isThere: Bool) {
    #expect(set.contains(number) == isThere)
    #expect(set.rank { $0 < number } == rank)
    #expect(set.first { $0 < number } == (rank < array.count ? array[rank] : nil))
    if rank < array.count { #expect(set[rank] == array[rank]) }
    let end = Int.random(in: rank...array.count, using: &random)
    for descending in [false, true] {
      var cursor = set.cursor(rank..<end, descending: descending)
      var found: [Int] = []
      while let next = cursor.next, found.count < 300 {
        found.append(next)
        cursor.advance()
      }
      let expected = descending ? Array(array[rank..<end].reversed()) : Array(array[rank..<end])
      #expect(found == Array(expected.prefix(300)))
    }
  }

  func checkAll() {
    #expect(set.isConsistent && copy.isConsistent)
    #expect(set.elements == array && set.count == array.count)
    #expect(copy.elements == copied)
  }
}

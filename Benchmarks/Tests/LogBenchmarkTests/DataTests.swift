import CLogFloor
import Testing

@testable import LogBenchmark

@Suite("Data of the engine's benchmark")
struct DataTests {
  @Test("A permutation has every number once and is the same for the same seed")
  func permutation() {
    let numbers = Scramble.permutation(of: 1000, seed: 7)
    #expect(numbers.sorted() == Array(0..<1000))
    #expect(numbers == Scramble.permutation(of: 1000, seed: 7))
    #expect(numbers != Scramble.permutation(of: 1000, seed: 8))
  }

  @Test("No two ordinals share a key, and missing keys are unused")
  func keys() {
    for shape in [Shape.hashed100, .dense100] {
      let keys = (0..<5000).map { shape.key($0) } + (0..<5000).map { shape.missingKey($0) }
      #expect(Set(keys.map { [$0.first, $0.second] }).count == 10_000, "\(shape)")
    }
  }

  @Test("About half of the bytes in a value's second half repeat its first half")
  func compressible() {
    let pool = ValuePool(valueLength: 100)
    var repeated = 0
    for number in 0..<200 {
      let value = pool.value(UInt64(number))
      for place in 50..<100 {
        let pair = (
          value.load(fromByteOffset: place, as: UInt8.self),
          value.load(fromByteOffset: place - 50, as: UInt8.self)
        )
        if pair.0 == pair.1 { repeated += 1 }
      }
    }
    #expect((3000...7500).contains(repeated), "of 10,000 bytes in second halves")
  }

  @Test("The most frequent of 100 Zipfian ranks is about a fifth of all draws")
  func zipfian() {
    let zipfian = Zipfian(count: 100)
    var generator = Scramble(seed: 3)
    var counts = [Int](repeating: 0, count: 100)
    for _ in 0..<10_000 { counts[zipfian.rank(&generator)] += 1 }
    #expect((1700...2200).contains(counts[0]))
    #expect(counts[0] > counts[1] && counts[1] > counts[10])
  }

  @Test("Changing, swapping or dropping bytes changes the fold")
  func fold() {
    let bytes = (0..<100).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 1) }
    let whole = log_fold(bytes, 100)
    for place in 0..<100 {
      var other = bytes
      other[place] ^= 1
      #expect(log_fold(other, 100) != whole)
      other[place] ^= 1
      other.swapAt(place, (place + 9) % 100)
      #expect(log_fold(other, 100) != whole)
    }
    #expect(log_fold(bytes, 99) != whole)
  }
}

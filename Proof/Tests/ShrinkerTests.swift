import PerdureTestSupport
import Testing

@Suite("The shrinker")
struct ShrinkerTests {
  @Test("The result contains only the elements that the failure needs, in their order")
  func needed() {
    let result = Shrinker<Int>().shrink(Array(0..<1_000)) {
      $0.contains(3) && $0.contains(701) && $0.contains(998)
    }
    #expect(result.elements == [3, 701, 998])
    #expect(result.isMinimal)
    #expect(result.trials < 200)
  }

  @Test("Remaining elements are replaced by simpler ones")
  func simpler() {
    let result = Shrinker<Int>().shrink([50, 7, 90, 4], simplifying: { $0 > 0 ? [0, $0 / 2, $0 - 1] : [] }) {
      $0.reduce(0, +) >= 60
    }
    #expect(result.isMinimal)
    #expect(result.elements == [60])
  }

  @Test("A failure that needs no element shrinks to an empty list")
  func nothing() {
    #expect(Shrinker<Int>().shrink([1, 2, 3]) { _ in true }.elements.isEmpty)
  }

  @Test("A failure that needs every element stays unchanged")
  func everything() {
    let result = Shrinker<Int>().shrink([1, 2, 3]) { $0 == [1, 2, 3] }
    #expect(result.elements == [1, 2, 3])
    #expect(result.isMinimal)
  }

  @Test(
    "The number of trials is limited; the result fails, and is not reported as minimal")
  func bounded() {
    var shrinker = Shrinker<Int>()
    shrinker.trialsMax = 12
    var trials = 0
    let result = shrinker.shrink(Array(0..<500)) {
      trials += 1
      return $0.contains(77) && $0.contains(300)
    }
    #expect(trials == 12 && result.trials == 12)
    #expect(!result.isMinimal)
    #expect(result.elements.contains(77) && result.elements.contains(300) && result.elements.count < 500)
  }

  @Test("A list that does not fail is returned unchanged, and is not reported as minimal")
  func passing() {
    let result = Shrinker<Int>().shrink([1, 2, 3]) { _ in false }
    #expect(result.elements == [1, 2, 3] && result.trials == 1)
    #expect(!result.isMinimal && !result.isConfirmed)
  }

  @Test("A failure that every run repeats is confirmed, and one that later runs do not repeat is not")
  func flaky() {
    var trials = 0
    let gone = Shrinker<Int>().shrink([1, 2, 3, 4]) { _ in
      trials += 1
      return trials < 3
    }
    #expect(!gone.isConfirmed)
    #expect(Shrinker<Int>().shrink([1, 2, 3, 4]) { $0.contains(2) }.isConfirmed)
  }

  @Test("Any failure that a few elements cause shrinks to these elements")
  func random() {
    var random = SeededGenerator.forTest("shrinking")
    for _ in 0..<40 {
      let count = random.pick(1...400)
      let needed = Set((0..<random.pick(1...4)).map { _ in random.pick(0..<count) })
      let result = Shrinker<Int>().shrink(Array(0..<count)) { needed.isSubset(of: $0) }
      #expect(result.elements == needed.sorted())
    }
  }
}

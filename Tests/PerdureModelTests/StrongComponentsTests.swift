import PerdureTestSupport
import Testing

@testable import PerdureModel

@Suite("Strongly connected components")
struct StrongComponentsTests {
  /// The nodes that can be reached from `start`. Searches separately for each node, without
  /// `StrongComponents`.
  private func reached(from start: Int, _ edges: [[Int]]) -> Set<Int> {
    var seen: Set<Int> = [start]
    var open = [start]
    while let node = open.popLast() {
      for target in edges[node] where seen.insert(target).inserted { open.append(target) }
    }
    return seen
  }

  @Test(
    "Two nodes are in one component exactly if each reaches the other, and each edge is followed once")
  func random() {
    var random = SeededGenerator.forTest("strongly connected components")
    for _ in 0..<200 {
      let count = Int.random(in: 1...12, using: &random)
      let edges = (0..<count).map { _ in
        (0..<Int.random(in: 0...2, using: &random)).map { _ in Int.random(in: 0..<count, using: &random) }
      }
      let found = StrongComponents(of: edges)
      let reached = (0..<count).map { self.reached(from: $0, edges) }
      for (one, other) in (0..<count).flatMap({ one in (0..<count).map { (one, $0) } }) {
        let isMutual = reached[one].contains(other) && reached[other].contains(one)
        #expect((found.numbers[one] == found.numbers[other]) == isMutual, "PERDURE_SEED=\(random.seed)")
      }
      #expect(found.steps == edges.joined().count, "PERDURE_SEED=\(random.seed)")
    }
  }

  @Test("A chain of 100,000 nodes is followed without recursion")
  func chain() {
    let count = 100_000
    let found = StrongComponents(of: (0..<count).map { [($0 + 1) % count] })
    #expect(Set(found.numbers).count == 1 && found.steps == count)
  }
}

import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Sets of references")
struct ReferenceSetTests {
  /// Inserts ascending, descending and random references. Sizes are below and above the threshold
  /// at which the set may begin to use hashing.
  @Test("After random insertions and removals the set equals a standard Set", arguments: 0..<24)
  func random(run: Int) {
    var random = SeededGenerator.forTest("reference set \(run)")
    var set = ReferenceSet()
    var model: Set<ObjectReference> = []
    let range = run % 2 == 0 ? 60 : 3_000
    for step in 1...2_000 {
      let number =
        run % 3 == 0 ? step : run % 3 == 1 ? 2_001 - step : Int.random(in: 1...range, using: &random)
      let reference = ObjectReference(rawValue: UInt64(number))
      if random.chance(70) {
        #expect(set.insert(reference) == model.insert(reference).inserted)
      } else {
        let other = ObjectReference(rawValue: UInt64(Int.random(in: 1...2_000, using: &random)))
        #expect(set.remove(other) == (model.remove(other) != nil))
      }
      #expect(set.contains(reference) == model.contains(reference))
    }
    #expect(set.count == model.count && set.isEmpty == model.isEmpty)
    #expect(set.ordered == model.sorted { $0.rawValue < $1.rawValue })
    set.removeAll { $0.rawValue % 3 == 0 }
    #expect(set.ordered == model.filter { $0.rawValue % 3 != 0 }.sorted { $0.rawValue < $1.rawValue })
    for reference in model { set.remove(reference) }
    #expect(set.isEmpty && set.ordered.isEmpty)
  }
}

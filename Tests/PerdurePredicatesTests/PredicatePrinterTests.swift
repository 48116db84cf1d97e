import Foundation
import PerdurePredicates
import PerdureTestSupport
import Testing

@Suite("Printing of predicates") struct PredicatePrinterTests {
  @Test("Printed predicates are parsed to the same tree")
  func roundTrip() throws {
    var trees = RandomTrees(SeededGenerator.forTest("printing"), isWild: true)
    for _ in 0..<5_000 {
      let tree = trees.predicate()
      let text = tree.predicateFormat
      do {
        let back = try FetchPredicate(format: text)
        if back != tree { Issue.record("\(text)\n\(back)") }
      } catch {
        Issue.record("\(text)\n\(error)")
      }
    }
  }

  @Test("Trees that are not in normal form are printed with the same meaning")
  func otherTrees() throws {
    let one = FetchPredicate.comparison(
      FetchComparison(.keyPath(PropertyPath("a")), .equal, .constant(.integer(1))))
    #expect(FetchPredicate.and([]).predicateFormat == "TRUEPREDICATE")
    #expect(FetchPredicate.or([]).predicateFormat == "FALSEPREDICATE")
    #expect(FetchPredicate.and([one]).predicateFormat == "a == 1")
    #expect(FetchExpression.aggregate([.constant(.integer(1))]).description == "{1}")
  }
}

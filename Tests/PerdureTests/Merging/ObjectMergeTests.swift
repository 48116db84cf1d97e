import FoundationEssentials
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

/// Tests the comparison of columns without a store.
@Suite("Merging: three-way comparison")
struct ObjectMergeTests {
  private func outcome(
    _ general: MergePolicy.General, local: [Int: Value], store: [Int: Value]?, deleted: Bool = false
  ) -> ObjectOutcome {
    EntityMergeRules(general: general).outcome(
      ObjectVersions(
        local: local, base: [0: .integer(0), 1: .string("b"), 2: .null], store: store, isDeletedHere: deleted)
    )
  }

  @Test("Changes on one side do not conflict, and equal changes conflict only for numbers")
  func comparison() {
    let (a, b): (Value, Value) = (.string("a"), .string("b"))
    #expect(ColumnComparison(base: a, local: b, store: a) == .local)
    #expect(ColumnComparison(base: a, local: a, store: b) == .store)
    #expect(ColumnComparison(base: a, local: b, store: b) == .store)
    #expect(ColumnComparison(base: a, local: b, store: .null) == .both)
    #expect(ColumnComparison(base: .integer(0), local: .integer(1), store: .integer(1)) == .both)
    #expect(ColumnComparison(base: a, local: a, store: a) == .store)
    #expect(ColumnComparison(base: .integer(0), local: .null, store: .null) == .store)
  }

  @Test("All policies that merge by property merge changes of different properties")
  func differentProperties() {
    let store: [Int: Value] = [0: .integer(0), 1: .string("theirs"), 2: .null]
    for general in [MergePolicy.General.error, .storeTrump, .objectTrump] {
      #expect(outcome(general, local: [0: .integer(1)], store: store) == .merged([:]))
    }
    #expect(outcome(.overwrite, local: [0: .integer(1)], store: store) == .merged([1: .string("b")]))
    #expect(outcome(.rollback, local: [0: .integer(1)], store: store) == .asStored)
  }

  @Test("The policy decides properties that both sides changed; other properties keep their one change")
  func sameProperty() {
    let store: [Int: Value] = [0: .integer(2), 1: .string("theirs"), 2: .null]
    let local: [Int: Value] = [0: .integer(1), 2: .bool(true)]
    #expect(outcome(.error, local: local, store: store) == .conflict([0]))
    #expect(outcome(.storeTrump, local: local, store: store) == .merged([0: nil]))
    #expect(outcome(.objectTrump, local: local, store: store) == .merged([:]))
    #expect(outcome(.overwrite, local: local, store: store) == .merged([1: .string("b")]))
  }

  @Test("A property set to its earlier value is unchanged, so other contexts' changes win")
  func unchanged() {
    let store: [Int: Value] = [0: .integer(2), 1: .string("b"), 2: .null]
    for general in MergePolicy.General.allCases {
      #expect(outcome(general, local: [0: .integer(0)], store: store) == .merged([0: nil]))
      #expect(outcome(general, local: [0: .integer(0)], store: nil) == .gone)
    }
  }

  @Test("Each policy has the expected result for deletions on one side and on both sides")
  func deletions() {
    for general in MergePolicy.General.allCases {
      #expect(outcome(general, local: [:], store: nil, deleted: true) == .gone)
    }
    let local: [Int: Value] = [0: .integer(1)]
    #expect(outcome(.error, local: local, store: nil) == .conflict([0]))
    #expect(outcome(.storeTrump, local: local, store: nil) == .gone)
    #expect(outcome(.objectTrump, local: local, store: nil) == .insertedAgain)
    #expect(outcome(.error, local: [:], store: [0: .null], deleted: true) == .conflict([]))
    #expect(outcome(.rollback, local: [:], store: [0: .null], deleted: true) == .asStored)
    #expect(outcome(.overwrite, local: [:], store: [0: .null], deleted: true) == .deleted)
  }

  @Test("Rules can be sums, minima and maxima, and if a rule has no result, the conflict remains")
  func rules() throws {
    let container = try Staff.container()
    let id = container.newContext().worker("W").objectID
    func merged(_ rule: PropertyMergeRule, _ base: Value, _ local: Value, _ store: Value) -> Value? {
      rule.merged(PropertyVersions(id, "p", base: base, local: local, store: store))
    }
    #expect(merged(.sum, .integer(10), .integer(12), .integer(7)) == .integer(9))
    #expect(merged(.sum, .null, .integer(2), .integer(3)) == .integer(5))
    #expect(merged(.sum, .double(1), .double(1.5), .double(2)) == .double(2.5))
    #expect(merged(.sum, .decimal(1), .decimal(3), .decimal(5)) == .decimal(7))
    #expect(merged(.sum, .integer(1), .null, .integer(2)) == nil)
    #expect(merged(.sum, .integer(1), .integer(2), .null) == nil)
    #expect(merged(.sum, .string("a"), .string("b"), .string("c")) == nil)
    #expect(merged(.sum, .integer(.min), .integer(1), .integer(1)) == nil)
    #expect(merged(.maximum, .null, .integer(2), .integer(3)) == .integer(3))
    #expect(merged(.maximum, .null, .integer(2), .null) == .integer(2))
    #expect(merged(.minimum, .null, .string("a"), .string("b")) == .string("a"))
    #expect(merged(.store, .null, .integer(1), .integer(2)) == .integer(2))
    #expect(merged(.object, .null, .integer(1), .integer(2)) == .integer(1))
    #expect(merged(.error, .null, .integer(1), .integer(2)) == nil)
    #expect(merged(.custom { $0.base }, .bool(true), .integer(1), .integer(2)) == .bool(true))
  }

  @Test("The sum of both changes does not depend on their order")
  func sumsCommute() throws {
    var random = SeededGenerator.forTest("merged sums")
    let id = try Staff.container().newContext().worker("W").objectID
    for _ in 0..<1000 {
      let numbers = (0..<3).map { _ in Value.integer(Int64.random(in: -1000...1000, using: &random)) }
      let one = PropertyMergeRule.sum.merged(
        PropertyVersions(id, "p", base: numbers[0], local: numbers[1], store: numbers[2]))
      let other = PropertyMergeRule.sum.merged(
        PropertyVersions(id, "p", base: numbers[0], local: numbers[2], store: numbers[1]))
      #expect(one != nil && one == other)
    }
  }

  @Test("If only one side changed a set, this set is used; a rule decides between two changed sets")
  func sets() {
    func merged(_ rule: PropertyMergeRule, _ base: Set<Int>, _ local: Set<Int>, _ store: Set<Int>) -> Set<
      Int
    >? {
      rule.merged(base: base, local: local, store: store)
    }
    #expect(merged(.error, [1], [1, 2], [1]) == [1, 2])
    #expect(merged(.error, [1], [1], [3]) == [3])
    #expect(merged(.error, [1], [1, 2], [1, 3]) == nil)
    #expect(merged(.union, [1, 2], [1, 4], [2, 5]) == [1, 2, 4, 5])
    #expect(merged(.store, [1], [2], [3]) == [3])
    #expect(merged(.object, [1], [2], [3]) == [2])
  }
}

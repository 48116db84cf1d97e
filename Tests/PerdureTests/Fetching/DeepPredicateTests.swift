import Perdure
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Deep and long predicates")
struct DeepPredicateTests {
  @Test("Deeply nested predicates can be compared and printed, and requests refuse them")
  func deepByCases() async throws {
    let container = try Staff.container(.engine)
    let context = container.newContext()
    context.worker("W").salary = 1
    let one = Employee.fetchRequest { $0.salary == 1 }.predicate ?? .false
    let size = 100_000
    func folded(_ join: (FetchPredicate, Int) -> FetchPredicate) -> FetchPredicate {
      (1..<size).reduce(one, join)
    }
    let friends = EntityRef<Employee>().friends
    func subquery(_ predicate: FetchPredicate) -> FetchExpression {
      .member(
        of: .subquery(collection: .keyPath(PropertyPath("friends")), variable: "x", predicate: predicate),
        PropertyPath([], aggregate: .count))
    }
    let zero = FetchExpression.constant(.integer(0))
    let deep: [(String, FetchPredicate)] = [
      ("or in and", folded { inner, _ in .and([.or([inner, one]), one]) }),
      ("in the middle", folded { inner, _ in .and([one, .or([one, inner, one]), one]) }),
      ("not", folded { inner, _ in .not(.and([inner, one])) }),
      ("operators in the middle", folded { inner, _ in one && !(one || inner && one) && one }),
      ("any", folded { inner, _ in friends.any { _ in inner && one } }),
      ("count", folded { inner, _ in friends.count { _ in inner } > 0 }),
      ("all", folded { inner, _ in friends.all { _ in inner } }),
      (
        "subquery",
        folded { inner, _ in .comparison(FetchComparison(subquery(inner), .greaterThan, zero)) }
      ),
      (
        "condition",
        folded { inner, _ in
          .comparison(FetchComparison(zero, .equal, .conditional(inner, zero, zero)))
        }
      ),
    ]
    for (name, predicate) in deep {
      #expect(predicate.depth <= PredicateParts.levelMax, "\(name)")
      #expect("\(predicate)".count < 100, "\(name)")
      #expect(predicate == predicate && Set([predicate, one]).count == 2, "\(name)")
      #expect("\(predicate && one || !predicate)".count < 100, "\(name)")
      let error = #expect(throws: FetchError.self, "\(name)") {
        try context.count(for: FetchRequest<Employee>(predicate: predicate))
      }
      #expect(error?.code == .tooDeep, "\(name)")
      let evaluation = #expect(throws: PredicateEvaluationError.self, "\(name)") {
        try predicate.evaluate(with: .null)
      }
      #expect(evaluation?.code == .tooDeep, "\(name)")
      // The thread of a background context has the smallest stack.
      let elsewhere = await #expect(throws: FetchError.self, "\(name)") {
        try await container.performBackgroundTask { context in
          try context.count(for: FetchRequest<Employee>(predicate: .and([predicate, one])))
        }
      }
      #expect(elsewhere?.code == .tooDeep, "\(name)")
    }
  }

  @Test("Thousands of predicates joined in a loop form a shallow tree with the right result")
  func longLoops() throws {
    let context = try Staff.container(.engine).newContext()
    for salary in 0..<3 { context.worker("W").salary = Int64(salary) }
    try context.save()
    func salary(_ op: FetchComparison.Operator, _ value: Int) -> FetchPredicate {
      .comparison(FetchComparison(.keyPath(PropertyPath("salary")), op, .constant(.integer(Int64(value)))))
    }
    func folded(_ op: FetchComparison.Operator, _ join: (FetchPredicate, FetchPredicate) -> FetchPredicate)
      -> FetchPredicate
    {
      (1..<LongRun.count(20_000)).reduce(salary(op, 0)) { join($0, salary(op, $1)) }
    }
    for (predicate, expected) in [
      (folded(.equal) { $0 || $1 }, 3), (folded(.equal) { $1 || $0 }, 3),
      (folded(.greaterThanOrEqual) { $1 && $0 }, 0), (folded(.notEqual) { $0 && $1 }, 0),
      (folded(.equal) { .or([$0, $1]) }, 3), (folded(.notEqual) { .and([$1, $0]) }, 0),
    ] {
      #expect(predicate.depth <= 60)
      #expect(try context.count(for: FetchRequest<Employee>(predicate: predicate)) == expected)
    }
  }

  @Test("Randomly joined predicates keep their truth value, or their evaluation is refused as too deep")
  func randomJoins() throws {
    var random = SeededGenerator.forTest("joined predicates")
    for _ in 0..<200 {
      var (predicate, truth) = (FetchPredicate.true, true)
      for _ in 0..<Int.random(in: 1...400, using: &random) {
        let next = random.chance(50)
        let leaf = FetchPredicate.comparison(
          FetchComparison(.constant(.bool(next)), .equal, .constant(.bool(true))))
        // Mostly one operator, so that long joins occur.
        switch Int.random(in: 0..<40, using: &random) {
        case 0: (predicate, truth) = (predicate || leaf, truth || next)
        case 1: (predicate, truth) = (.or([leaf, predicate]), truth || next)
        case 2: (predicate, truth) = (!predicate, !truth)
        case 3: (predicate, truth) = (.not(predicate), !truth)
        case 4..<15: (predicate, truth) = (.and([predicate, leaf, .true]), truth && next)
        case 15..<25: (predicate, truth) = (leaf && predicate, truth && next)
        default: (predicate, truth) = (predicate && leaf, truth && next)
        }
        #expect(predicate.depth <= 400)
      }
      do {
        #expect(try predicate.evaluate(with: .null) == truth)
      } catch {
        #expect(error.code == .tooDeep && predicate.depth > 200)
      }
    }
  }
}

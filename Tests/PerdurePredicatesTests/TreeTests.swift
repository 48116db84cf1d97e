import PerdurePredicates
import PerdureTestSupport
import Testing

@Suite("Trees of predicates") struct TreeTests {
  @Test("A simplified predicate has the same result")
  func simplification() throws {
    var trees = RandomTrees(SeededGenerator.forTest("trees"), isWild: false)
    let data = TestCompany()
    var answers = [0, 0]
    for _ in 0..<10_000 {
      let predicate = trees.predicate()
      let simplified = predicate.simplified()
      #expect(simplified.simplified() == simplified)
      for object in [data.ada, data.cy, data.company] {
        guard let truth = try? predicate.evaluate(with: object) else { continue }
        answers[truth ? 1 : 0] += 1
        if (try? simplified.evaluate(with: object)) != truth {
          Issue.record("\(predicate)\nbecame \(simplified), should be \(truth)")
        }
      }
    }
    #expect(answers.allSatisfy { $0 > 1_000 }, "\(answers)")
  }

  @Test(
    "Simplification computes constants and flattens nested operators",
    arguments: [
      ("a == 1 AND TRUEPREDICATE", "a == 1"), ("a == 1 AND 1 == 2", "FALSEPREDICATE"),
      ("a == 1 OR FALSEPREDICATE", "a == 1"),
      ("(a == 1 AND b == 2) AND (c == 3 AND a == 1)", "a == 1 AND b == 2 AND c == 3"),
      ("NOT NOT a == 1", "a == 1"),
      ("NOT a == 1", "a != 1"), ("NOT a < 1", "NOT (a < 1)"), ("NOT ANY a == 1", "NOT (ANY a == 1)"),
      ("a == 1 + 2 * 3", "a == 7"),
      ("a IN {}", "FALSEPREDICATE"),
      ("TERNARY(1 == 1, a, b).c == 1 + 1", "TERNARY(TRUEPREDICATE, a, b).c == 2"),
      ("ALL a IN {}", "ALL a IN {}"), ("a == TERNARY(1 == 1, b, c)", "a == b"),
      ("a < now()", "a < now()"),
      ("a == uppercase:('x')", "a == \"X\""), ("a == 1 + 'x'", "a == 1 + \"x\""),
      ("SUBQUERY(r, $x, 1 == 1).@count > 0", "SUBQUERY(r, $x, TRUEPREDICATE).@count > 0"),
      ("a == 1 OR a == 1", "a == 1"), ("a == -(-(3))", "a == 3"),
      ("a IN ({1, 2} UNION {3})", "a IN {1, 2, 3}"),
    ])
  func simplified(_ text: String, _ expected: String) throws {
    #expect(try FetchPredicate(format: text).simplified().predicateFormat == expected)
  }

  @Test("The list of variables excludes variables that a subquery binds")
  func variables() throws {
    let predicate = try FetchPredicate(
      format:
        "a == $p AND SUBQUERY($q, $x, $x.b == $r AND SUBQUERY(c, $p, $p == $x).@count > 0).@count > 0 "
        + "AND $x == 1"
    )
    #expect(predicate.variables == ["p", "q", "r", "x"])
    #expect(try FetchPredicate(format: "SUBQUERY(r, $x, $x.a == 1).@count > 0").variables.isEmpty)
    #expect(try FetchPredicate(format: "SUBQUERY($x, $x, $x.a == 1).@count > 0").variables == ["x"])
  }

  @Test("Substitution keeps variables that a subquery binds or that have no value")
  func substitution() throws {
    let predicate = try FetchPredicate(
      format: "a == $x AND SUBQUERY($x, $x, $x.b == $y).@count > 0 AND $z == 1 AND b IN {$x, 2}")
    let expected = try FetchPredicate(
      format: "a == 'v' AND SUBQUERY('v', $x, $x.b == 5).@count > 0 AND $z == 1 AND b IN {'v', 2}")
    #expect(predicate.withSubstitutionVariables(["x": "v", "y": 5]) == expected)
    #expect(predicate.withSubstitutionVariables([:]) == predicate)
  }

  @Test("Whether a TERNARY has many values depends only on the chosen operand")
  func chosenBranch() throws {
    let data = TestCompany()
    let list = try FetchPredicate(format: "'a' LIKE TERNARY(FALSEPREDICATE, SELF.name, {'a', $x})")
    #expect(try !list.evaluate(with: data.ada, variables: ["x": "b"]))
    #expect(try !list.withSubstitutionVariables(["x": "b"]).evaluate(with: data.ada))
    let path = try FetchPredicate(
      format: "'a' LIKE TERNARY($x == 'b', SUBQUERY({'a', 'b'}, $e, $e == 'a'), 'a')")
    #expect(throws: PredicateEvaluationError.self) {
      try path.evaluate(with: data.ada, variables: ["x": "b"])
    }
    #expect(try path.evaluate(with: data.ada, variables: ["x": "c"]))
  }

  @Test("Substituting variables before the evaluation gives the same result as passing their values to it")
  func substitutionAndEvaluation() throws {
    var trees = RandomTrees(SeededGenerator.forTest("trees"), isWild: true)
    let data = TestCompany()
    for _ in 0..<2_000 {
      let predicate = trees.predicate(3)
      var values: [String: any PredicateArgument] = [:]
      for name in predicate.variables { values[name] = trees.value(1) }
      let late = try? predicate.evaluate(with: data.ada, variables: values)
      let early = try? predicate.withSubstitutionVariables(values).evaluate(with: data.ada)
      #expect(late == early, "\(predicate)")
    }
  }

  @Test("A predicate lists the properties of the evaluated object that the predicate uses")
  func properties() throws {
    let predicate = try FetchPredicate(
      format:
        "a.b == 1 AND ANY c.@sum.d > SELF.e AND "
        + "SUBQUERY(f, $x, $x.g == h AND SELF.i == TERNARY(j == 1, $x.k, l[m])).@count > 0"
    )
    #expect(predicate.properties == ["a", "c", "e", "f", "h", "i", "j", "l", "m"])
    #expect(predicate.paths.contains(PropertyPath("c", "d", aggregate: .sum)))
    var comparisons = 0
    predicate.forEachComparison { _ in comparisons += 1 }
    #expect(comparisons == 6)
  }
}

import FoundationEssentials
import Perdure
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Predicates that fail for a row")
struct RowFailureTests {
  @Test("A predicate with a wrong type is refused when the request is prepared, not when a row is evaluated")
  func randomExpressions() throws {
    var random = SeededGenerator.forTest("types of expressions")
    var acceptedCount = 0
    for _ in 0..<LongRun.count(3, of: 3_000) {
      let graph = try Self.extremeGraph(&random)
      let rows = RowGraph(schema: graph.schema, view: graph.store.view())
      for _ in 0..<3_000 {
        let entity = graph.schema.entity(named: random.pick(["Employee", "Company", "Tag"]))!
        var generator = RandomPredicate(graph.schema, SeededGenerator(seed: random.next()))
        let predicate = generator.expressionComparison(entity)
        var query = FetchQuery(entity: entity.number)
        query.predicate = predicate
        guard let prepared = try? PreparedFetch(query, graph.schema) else { continue }
        acceptedCount += 1
        try check(predicate, prepared, rows)
      }
    }
    #expect(acceptedCount > 300)
  }

  private func check(
    _ predicate: FetchPredicate, _ prepared: PreparedFetch, _ rows: RowGraph
  ) throws {
    let program = PredicateCompiler.program(
      prepared.predicate, schema: rows.schema, entity: prepared.entity, now: prepared.now)
    let evaluator = PredicateEvaluator(prepared.predicate, now: prepared.now)
    for number in prepared.concrete {
      try rows.view.visitRows(entity: number, descending: false) { reference, stored in
        let row = try rows.check(stored, reference)
        do {
          let expected = try evaluator.evaluate(with: RowSource(reference, rows))
          let actual = try program.matches(row, reference, rows.view)
          #expect(actual == expected, "\(predicate) for \(reference)")
          return actual == expected
        } catch let error as PredicateEvaluationError {
          // A row's value can be the pattern. Only such a predicate may fail for a row.
          let isOfPattern = error.code == .invalidPattern || error.code == .matchTooLong
          #expect(isOfPattern, "\(predicate) for \(reference): \(error)")
          return isOfPattern
        }
      }
    }
  }

  /// A graph in which some texts are numbers or malformed patterns, and some numbers are at the
  /// bounds of their type.
  private static func extremeGraph(_ random: inout SeededGenerator) throws -> TestGraph {
    var objects = try TestGraph.objects(&random, employees: 12)
    let texts = ["12", "1.5", "[", "9223372036854775808", "-5", "label", "1e400"]
    for position in objects.indices {
      for name in ["name", "note", "label"]
      where objects[position].values[name] != nil && random.chance(50) {
        objects[position].values[name] = .string(random.pick(texts))
      }
      if objects[position].values["big"] != nil, random.chance(50) {
        objects[position].values["big"] = .integer(random.pick([.min, .max, .max / 2, -1, 0, 1 << 62]))
      }
    }
    return try TestGraph(objects, indexed: false)
  }
}

@Suite("Types of expressions in predicates")
struct ExpressionTypeTests {
  private func error(_ predicate: FetchPredicate) throws -> FetchError? {
    let schema = try TestModel.schema(indexed: false)
    var query = FetchQuery(entity: try #require(schema.entity(named: "Employee")).number)
    query.predicate = predicate
    do {
      _ = try PreparedFetch(query, schema)
      return nil
    } catch let error as FetchError {
      return error
    }
  }

  private func error(_ format: String) throws -> FetchError? {
    try error(try FetchPredicate(format: format))
  }

  @Test("A request rejects an operand that can have a value which the operator does not accept")
  func failures() throws {
    for format in [
      "abs(TERNARY(age > 1, name, note)) > 3", "abs(TERNARY(age > 1, name, age)) > 3",
      "max(name, note) + 1 > 2",
      "mode(tags.label) + 1 > 2", "lowercase(tags.@sum.weight) == 'x'", "lowercase({NULL}.@sum) == 'x'",
      "lowercase(sum({NULL})) == 'x'",
      "lowercase(tags.@avg.weight) == 'x'",
      "errands[salary].label == 'x'", "name[age] == 'x'", "errands[active].label == 'x'", "SELF[name] == 'x'",
      "company[TERNARY(age > 1, 'name', 'name')] == 'x'",
      "objectFrom:withIndex:(age, 0) == 1", "sum(tags.weight, 3) > 1", "sum({tags.weight, 3}) > 1",
      "{tags.weight, 3}.@sum > 1", "{1, name}[age] + 1 > 2", "(tags.label UNION tags.weight).@sum > 1",
      "SUBQUERY(tags, $t, TRUEPREDICATE)[0] + 1 > 2", "CAST(name, 'NSDate') > CAST(0, 'NSDate')",
      "CAST(company, 'NSString') == 'x'", "CAST(hired, 'NSUUID') == NULL", "CAST(tags, 'NSNumber') == 1",
      "abs(CAST(age, 'NSString')) > 1", "noindex(name) + 1 > 2", "errands[FIRST].label + 1 > 2",
      "tags.weight CONTAINS tags.weight", "TERNARY(age > 1, tags.weight, age) == 3",
      "age == TERNARY(age > 1, tags.weight, 3)", "tags.weight == TERNARY(age > 1, {1, 2}, NULL)",
      "age BETWEEN mode(tags.weight)", "age BETWEEN TERNARY(age > 1, {1, 2}, {1, 2, 3})", "1 BETWEEN 3",
      "mode(tags.label) == 'a'", "tags.@avg.weight & 1 == 1", "salary & age == 1",
    ] {
      let code = try error(format)?.code
      #expect(code == .typeMismatch || code == .manyValues || code == .noOrder, "\(format)")
    }
    #expect(try error("objectFrom:withIndex:(SELF, 'nmae') == 'x'")?.code == .unknownProperty)
    #expect(try error("SELF[lowercase('NMAE')] == 'x'")?.code == .unknownProperty)
    #expect(try error("TERNARY(age > 1, company, boss).salary == 1")?.code == .unknownProperty)
  }

  @Test("A request computes a constant pattern and rejects it if it is malformed")
  func patterns() throws {
    for format in [
      "name MATCHES lowercase('[')", "name MATCHES TERNARY(age > 1, 'a', '[')",
      "TRUEPREDICATE OR name MATCHES CAST('(', 'NSString')",
    ] {
      #expect(try error(format)?.code == .invalidPattern, "\(format)")
    }
    #expect(try error("name MATCHES lowercase('A+')") == nil)
    #expect(try error("name MATCHES note") == nil)
  }

  @Test("A request rejects a comparison of two types whose values are never equal")
  func neverEqual() throws {
    for format in [
      "TERNARY(age > 1, name, note) == 3", "tags.@sum.weight == 'x'", "'x' == tags.@avg.weight",
      "max(name, note) > 3", "name == TERNARY(age > 1, 3, 4)", "mode(tags.label)[0] == 3",
      "CAST(age, 'NSString') == 3", "CAST(name, 'NSNumber') == 'x'", "age == lowercase('X')",
      "(1 + 1) == 'x'", "errands[0].label == 3", "{age, 1} == 3", "sum(tags.weight) != 'x'",
      "TERNARY(age > 1, company, boss) == 3", "name == abs(age)", "lowercase(name) IN tags.weight",
      "tags.label CONTAINS abs(age)", "name BETWEEN {age, 3}",
      "name == tags.@sum.weight", "SUBQUERY(tags, $t, $t.label == abs(age)).@count > 0",
      "lowercase(name) LIKE age", "1 IN 3",
    ] {
      let error = try error(format)
      #expect(error?.code == .typeMismatch, "\(format): \(String(describing: error))")
    }
    let message = try error("tags.@sum.weight == 'x'")?.message
    #expect(
      message == "tags.@sum.weight of Employee is a number and is compared with text, which it never equals.")
  }

  @Test("A request accepts expressions that have a value for only some rows")
  func accepted() throws {
    for format in [
      "TERNARY(age > 1, name, note) == 'x'", "TERNARY(age > 1, name, age) == 3",
      "TERNARY(age > 1, name, NULL) == 'x'",
      "TERNARY(age > 1, NULL, 3) + 1 > 2", "TERNARY(age > 1, company, boss).name == 'x'",
      "max(age, 3) + 1 > 2",
      "max(age, salary) & 1 == 1", "(CAST(name, 'NSNumber') + 1) & 1 == 1", "tags.@sum.weight & 1 == 1",
      "tags.@sum.weight == errands.@sum.weight", "median(tags.weight) + 1 > 2", "mode(tags.label) == {'a'}",
      "mode(tags.label)[0] == 'a'", "mode(tags.label).length == {1}", "errands[age].label == 'x'",
      "errands[CAST(name, 'NSNumber')].label == 'x'", "errands[NULL].label == NULL", "sum({age, 3}) > 1",
      "sum(age, salary, NULL) > 1", "age BETWEEN TERNARY(age > 1, {1, 2}, {3, 4})",
      "age BETWEEN {age - 1, age + 1}",
      "name IN TERNARY(age > 1, tags.label, {'a', 'b'})", "age == TERNARY(name == 'x', 3, salary)",
      "company == boss.company", "boss != company", "SELF IN company.employees",
      "tags.weight == errands.weight",
      "CAST(CAST(name, 'NSNumber'), 'NSDate') < hired", "(tags UNION errands).@count > 1",
      "(tags UNION errands).label == {'a'}", "ANY (tags UNION errands).label == 'a'", "SELF['name'] == 'x'",
      "name == age", "name IN tags.weight", "SUBQUERY(tags, $t, $t.label == age).@count > 0",
      "lowercase(TERNARY(name == NULL, note, name)) == 'x'", "hired > TERNARY(age > 1, hired, now())",
    ] {
      #expect(try error(format) == nil, "\(format)")
    }
  }

  @Test("A request rejects a path of a variable whose object has no such property")
  func variables() throws {
    let schema = try TestModel.schema(indexed: false)
    let tag = ObjectReference(entity: try #require(schema.entity(named: "Tag")).number, id: 1)
    let predicate = try FetchPredicate(format: "name == $FETCH_SOURCE.lable")
    #expect(try error(predicate)?.code == .unboundVariable)
    let substituted = try error(predicate.withSubstitutionVariables(["FETCH_SOURCE": tag]))
    #expect(substituted?.code == .unknownProperty)
    #expect(substituted?.suggestions == ["label"])
    let other = try FetchPredicate(format: "name == $FETCH_SOURCE.label")
    #expect(
      try error(other.withSubstitutionVariables(["FETCH_SOURCE": tag]))?.code == .notARelationship)
    #expect(
      try error(other.withSubstitutionVariables(["FETCH_SOURCE": "x"]))?.code == .notARelationship)
  }

  @Test("A bit operation, cast or position without a result in a row is null, and the fetch continues")
  func missingValues() throws {
    let context = try Staff.context()
    let numbers: [(String, Int64)] = [("1.5", .max), ("7", 1), ("x", .min), ("1e400", 3), ("-2.0", 1 << 61)]
    for (name, salary) in numbers { context.worker(name).salary = salary }
    func found(_ format: String) throws -> [String] {
      let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: format))
      return try context.fetch(request).map(\.name).sorted()
    }
    for _ in 0..<2 {
      #expect(try found("(CAST(name, 'NSNumber') & 1) == 1") == ["7"])
      #expect(try found("(CAST(name, 'NSNumber') & 1) == 0") == ["-2.0"])
      #expect(try found("(CAST(name, 'NSNumber') & 1) == NULL") == ["1.5", "1e400", "x"])
      #expect(try found("((salary * 4) & 1) == NULL") == ["1.5", "x"])
      #expect(try found("((salary * 4) & 1) == 0") == ["-2.0", "1e400", "7"])
      #expect(try found("~(salary * 4) == NULL") == ["1.5", "x"])
      #expect(try found("{'a', 'b'}[salary] == NULL") == ["-2.0", "1.5", "1e400", "x"])
      #expect(try found("{'a', 'b'}[salary * 4] == NULL") == ["-2.0", "1.5", "1e400", "7", "x"])
      try context.save()
    }
  }
}

import FoundationEssentials
import Perdure
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Predicates that need no rewriting")
struct PlainPredicateTests {
  @Test("No pass of a fetch changes a plain predicate, except by simplifying it or fitting its constants")
  func passes() throws {
    let schema = try TestModel.schema(indexed: true)
    let now = Date(timeIntervalSinceReferenceDate: 1)
    var random = SeededGenerator.forTest("plain predicates")
    var plainCount = 0
    for _ in 0..<3_000 {
      let entity = try #require(schema.entity(named: random.pick(["Employee", "Company", "Tag", "Party"])))
      var generator = RandomPredicate(schema, SeededGenerator(seed: random.next()))
      let predicate = generator.predicate(entity)
      if predicate.traits.contains(.isUnusual) { continue }
      plainCount += 1
      #expect(predicate.flattened() == predicate)
      #expect(predicate.replacingNamedElements() == predicate)
      #expect(predicate.replacingEntityNames() == predicate)
      #expect(predicate.replacingObjectIDs() == predicate)
      #expect(predicate.folded(now: now) == predicate.simplified())
      let fitted = ConstantFitting(schema: schema, entity: entity).fit(predicate)
      if predicate.traits.isEmpty { #expect(fitted == predicate) }
      #expect(fitted.folded(now: now) == fitted.simplified())
    }
    #expect(plainCount > 300)
  }

  @Test("Predicates with anything to rewrite are not plain")
  func unusual() throws {
    for format in [
      "SELF['company'].name == 'x'", "company.objectID == NULL", "entity.name == 'Employee'",
      "company.entity.name == 'Company'", "hired < now()", "3 < age", "age + 1 == 2", "age == level",
      "SUBQUERY(tags, $t, $t.weight > 1).@count > 0", "age == $limit", "uppercase(name) == 'X'",
      "name == 'x' AND (age == 1 OR NOT 3 < age)", "company.employees[0] == NULL",
    ] {
      #expect(try FetchPredicate(format: format).traits.contains(.isUnusual), "\(format)")
    }
    let path = FetchExpression.keyPath(PropertyPath("company"))
    for value in [Value.objectID("x"), .list([.null, .objectID("x")])] {
      let comparison = FetchPredicate.comparison(FetchComparison(path, .in, .constant(value)))
      #expect(comparison.traits.contains(.isUnusual))
    }
  }

  @Test("Comparisons of paths with constants are plain")
  func plain() throws {
    for format in [
      "name == 'x'", "name BEGINSWITH[c] 'x' OR age IN {1, 2}", "NOT company.name == NULL",
      "ANY tags.weight > 1 AND tags.@count == 2", "SELF == NULL", "TRUEPREDICATE",
    ] {
      #expect(try FetchPredicate(format: format).traits.isEmpty, "\(format)")
    }
    #expect(try FetchPredicate(format: "salary > 1.5 AND name == 'x'").traits == .hasFractions)
    #expect(try FetchPredicate(format: "salary IN {1, 1.5}").traits == .hasFractions)
  }

  @Test("A predicate with 40 nested parts is plain, and one with 60 nested parts is not")
  func depth() throws {
    let part = try FetchPredicate(format: "age == 1")
    let flat = (0..<40).reduce(part) { inner, level in level % 2 == 0 ? .not(inner) : .or([inner, part]) }
    #expect(flat.traits.isEmpty)
    let deep = (0..<60).reduce(part) { inner, level in level % 2 == 0 ? .not(inner) : .or([inner, part]) }
    #expect(deep.traits.contains(.isUnusual))
  }
}

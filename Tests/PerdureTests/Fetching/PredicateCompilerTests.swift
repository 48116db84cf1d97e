import FoundationEssentials
import Perdure
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Compiled predicates")
struct PredicateCompilerTests {
  @Test("A compiled predicate gives the result of the reference evaluator for every row")
  func differential() throws {
    var random = SeededGenerator.forTest("compiled predicates")
    for round in 0..<6 {
      let graph = try TestGraph(try TestGraph.objects(&random), indexed: round % 2 == 0)
      let rows = RowGraph(schema: graph.schema, view: graph.store.view())
      for _ in 0..<250 {
        let entity = graph.schema.entity(
          named: random.pick(["Employee", "Company", "Tag", "Badge", "Party"]))!
        var generator = RandomPredicate(graph.schema, SeededGenerator(seed: random.next()))
        let predicate = ConstantFitting(schema: graph.schema, entity: entity).fit(generator.predicate(entity))
        try compare(predicate, entity, rows)
      }
    }
  }

  private func compare(_ predicate: FetchPredicate, _ entity: EntityStorage, _ rows: RowGraph) throws {
    let now = Date()
    var check = PredicateCheck(schema: rows.schema, entity: entity)
    try check.check(predicate)
    let folded = predicate.folded(now: now)
    let program = PredicateCompiler.program(folded, schema: rows.schema, entity: entity, now: now)
    let evaluator = PredicateEvaluator(predicate, now: now)
    for number in entity.concrete {
      try rows.view.visitRows(entity: number, descending: false) { reference, stored in
        let row = try rows.check(stored, reference)
        let expected = try evaluator.evaluate(with: RowSource(reference, rows))
        let actual = try program.matches(row, reference, rows.view)
        #expect(actual == expected, "\(predicate) for \(reference) of \(entity.name)")
        return actual == expected
      }
    }
  }
}

// A fetch by its definition: evaluates every object, sorts, and applies the window.

import PerdurePredicates
import PerdureTestSupport

@testable import Perdure

enum NaiveFetch {
  static func references(_ query: FetchQuery, _ graph: TestGraph) throws -> [ObjectReference] {
    let rows = RowGraph(schema: graph.schema, view: graph.store.view())
    return try references(query, graph.schema, among: Array(graph.objects.keys)) {
      RowSource($0, rows)
    }
  }

  /// Evaluates every object as a context shows it, including unsaved changes.
  static func references(_ query: FetchQuery, shownBy core: ContextCore) throws -> [ObjectReference] {
    var all = core.pending.all.filter { $0.isNew && !$0.isDeleted }.map(\.reference)
    for case let entity? in core.graph.store.entities where entity.layouts != nil {
      try core.viewState.view.visitReferences(entity: entity.number, from: 0) { reference in
        if !core.pending.isDeleted(reference) { all.append(reference) }
        return true
      }
    }
    return try references(query, core.graph.store, among: all) { PendingSource(core.reading.derived, $0) }
  }

  private static func references(
    _ query: FetchQuery, _ schema: StoreSchema, among all: [ObjectReference],
    _ source: (ObjectReference) -> any PropertySource
  ) throws -> [ObjectReference] {
    let entity = schema.entity(query.entity)
    let fitting = ConstantFitting(schema: schema, entity: entity)
    let evaluator = PredicateEvaluator(fitting.fit(query.predicate ?? .true))
    let wanted = query.includesSubentities ? entity.concrete : entity.concrete.filter { $0 == entity.number }
    var found: [(reference: ObjectReference, keys: [Value])] = []
    for reference in all where wanted.contains(reference.entityNumber) {
      let source = source(reference)
      guard try evaluator.evaluate(with: source) else { continue }
      found.append(
        (reference, try query.order.map { try FetchExpression.keyPath($0.path).value(with: source) }))
    }
    found.sort { precedes($0, $1, query.order) }
    let rest = found.map(\.reference).dropFirst(query.offset)
    return Array(query.limit.map { rest.prefix($0) } ?? rest)
  }

  private static func precedes(
    _ left: (reference: ObjectReference, keys: [Value]), _ right: (reference: ObjectReference, keys: [Value]),
    _ order: [FetchOrder]
  ) -> Bool {
    for (position, criterion) in order.enumerated() {
      switch Value.sortOrder(left.keys[position], right.keys[position]) {
      case .ascending: return criterion.isAscending
      case .descending: return !criterion.isAscending
      case .same: continue
      }
    }
    let isAscending = order.first?.isAscending ?? true
    return isAscending == (left.reference.rawValue < right.reference.rawValue)
  }
}

extension RandomPredicate {
  /// A query that sometimes has a predicate, an order and a window.
  mutating func query(_ entity: EntityStorage) -> FetchQuery {
    var query = FetchQuery(entity: entity.number)
    query.includesSubentities = random.chance(85)
    if random.chance(85) { query.predicate = random.chance(40) ? searchable(entity) : predicate(entity) }
    if random.chance(70) {
      query.order = (0..<Int.random(in: 1...2, using: &random)).map { _ in order(entity) }
    }
    if random.chance(40) { query.limit = Int.random(in: 0...12, using: &random) }
    if random.chance(30) { query.offset = Int.random(in: 0...8, using: &random) }
    return query
  }

  /// One or several conditions that an index can serve.
  private mutating func searchable(_ entity: EntityStorage) -> FetchPredicate {
    .and((0..<Int.random(in: 1...3, using: &random)).map { _ in simple(entity) })
  }

  private mutating func order(_ entity: EntityStorage) -> FetchOrder {
    let paths: [String] =
      switch entity.name {
      case "Company":
        [
          "name", "note", "founded", "site", "employeeCount", "employees.@count", "payroll", "bigs", "levels",
        ]
      case "Employee":
        [
          "name", "note", "age", "salary", "score", "level", "big", "hired", "code", "photo", "active",
          "company.name", "boss.company.employeeCount", "company", "boss.reports.@count", "tags.@count",
          "badge.number", "companyName", "bossLevel", "bossCompany", "plain", "rank", "boss.bossPlain",
          "company.payroll",
        ]
      case "Tag": ["label", "weight", "holders.@count"]
      case "Badge": ["number", "owner.age", "owner"]
      default: ["name", "note"]
      }
    return FetchOrder(random.pick(paths), ascending: random.chance(50))
  }
}

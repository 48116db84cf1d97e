import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Running fetches")
struct FetchExecutorTests {
  private static let entities = ["Employee", "Employee", "Employee", "Company", "Tag", "Badge", "Party"]

  @Test("Every plan gives the same result as evaluating each object, with and without indexes")
  func differential() throws {
    var random = SeededGenerator.forTest("every plan")
    var used: [String: Int] = [:]
    let kinds = ["scan", "references", "index", "join", "pathOrder", "countOrder"]
    // The test proves nothing about an access path that no query used. It continues until queries
    // have used all of them.
    for round in 0..<20 where round < 3 || kinds.contains(where: { used[$0] == nil }) {
      let objects = try TestGraph.objects(&random)
      for indexed in [true, false] {
        let graph = try TestGraph(objects, indexed: indexed)
        for _ in 0..<250 {
          var generator = RandomPredicate(graph.schema, SeededGenerator(seed: random.next()))
          let query = generator.query(graph.schema.entity(named: random.pick(Self.entities))!)
          for plan in try AllPlans(graph: graph, query: query).compared() {
            used[Self.kind(plan.access), default: 0] += 1
          }
        }
      }
    }
    for kind in kinds { #expect(used[kind, default: 0] > 0) }
  }

  private static func kind(_ access: FetchPlan.Access) -> String {
    switch access {
    case .scan: "scan"
    case .references: "references"
    case .index: "index"
    case .join: "join"
    case .pathOrder: "pathOrder"
    case .countOrder: "countOrder"
    }
  }

  @Test("A fetch with unsaved changes has the same result as after a save")
  func overlay() throws {
    var random = SeededGenerator.forTest("overlay")
    for _ in 0..<6 {
      let objects = try TestGraph.objects(&random, employees: 20)
      let before = try TestGraph(objects, indexed: true)
      let after = try TestGraph(try Self.changed(objects, &random), indexed: true)
      let pending = TestPendingChanges(from: before, to: after)
      for _ in 0..<150 {
        var generator = RandomPredicate(before.schema, SeededGenerator(seed: random.next()))
        let query = generator.query(before.schema.entity(named: random.pick(Self.entities))!)
        let expected = try NaiveFetch.references(query, after)
        let view = before.store.view()
        let fetch = try PreparedFetch(query, before.schema)
        let plan = FetchPlanner.plan(fetch, FetchStatistics(view))
        let executor = FetchExecutor(fetch, plan, view: view, pending: pending)
        let found = try executor.references()
        #expect(try executor.count() == expected.count, "\(plan) for \(query)")
        if query.order.isEmpty {
          #expect(found.count == expected.count && Set(found).count == found.count, "\(plan) for \(query)")
        } else {
          #expect(found == expected, "\(plan) for \(query)")
        }
      }
    }
  }

  /// Counts the calls of `source(of:)`, which returns the object as the context shows it.
  private final class CountedChanges: PendingChanges {
    let changes: TestPendingChanges
    private(set) var asked = 0

    init(_ changes: TestPendingChanges) { self.changes = changes }

    func isTouched(_ reference: ObjectReference) -> Bool { changes.isTouched(reference) }
    func touches(entity: UInt16) -> Bool { changes.touches(entity: entity) }
    func changedObjects(of entity: UInt16) -> [ObjectReference] { changes.changedObjects(of: entity) }
    func touchedObjects(of entity: UInt16) -> [ObjectReference] { changes.touchedObjects(of: entity) }
    func source(of reference: ObjectReference) -> any PropertySource {
      asked += 1
      return changes.source(of: reference)
    }
  }

  @Test("After an unsaved change, a fetch checks only the objects that lead to the changed object")
  func affectedOnly() throws {
    var random = SeededGenerator.forTest("affected objects")
    let objects = try TestGraph.objects(&random, employees: 200)
    let before = try TestGraph(objects, indexed: true)
    let company = try #require(before.schema.entity(named: "Company"))
    let changed = ObjectReference(entity: company.number, id: 1)
    let after = try TestGraph(
      objects.map { object in
        var object = object
        if object.reference == changed { object.values["name"] = .string("changed") }
        return object
      }, indexed: true)
    let pending = CountedChanges(TestPendingChanges(from: before, to: after))
    var query = FetchQuery(entity: try #require(before.schema.entity(named: "Employee")).number)
    query.predicate = try FetchPredicate(format: "company.name == 'changed'")
    let fetch = try PreparedFetch(query, before.schema)
    let view = before.store.view()
    let plan = FetchPlanner.plan(fetch, FetchStatistics(view))
    let found = try FetchExecutor(fetch, plan, view: view, pending: pending).references()
    #expect(Set(found) == Set(try NaiveFetch.references(query, after)))
    #expect(!found.isEmpty && pending.asked == found.count)
  }

  /// Returns the objects with some changed, some deleted and some inserted. Links to deleted
  /// objects are removed.
  private static func changed(
    _ objects: [TestObject], _ random: inout SeededGenerator
  ) throws -> [TestObject] {
    let other = try TestGraph.objects(&random, employees: 24)
    let known = Set(objects.map(\.reference))
    let inserted = other.filter { !known.contains($0.reference) }
    let gone = Set(objects.map(\.reference).filter { _ in random.chance(10) })
    let present = known.subtracting(gone).union(inserted.map(\.reference))
    let replacements = Dictionary(uniqueKeysWithValues: other.map { ($0.reference, $0) })
    let kept = objects.filter { !gone.contains($0.reference) }.map { object in
      var object = object
      // Links are not changed, because both ends of friendships and badges must agree.
      if random.chance(20), let new = replacements[object.reference] {
        for (name, value) in new.values where name != "big" && name != "badge" && name != "owner" {
          object.values[name] = value
        }
      }
      if random.chance(20) { object.links["errands"]?.shuffle(using: &random) }
      return object
    }
    return (kept + inserted).map { without($0, absent: present) }
  }

  private static func without(_ object: TestObject, absent present: Set<ObjectReference>) -> TestObject {
    var object = object
    for (name, value) in object.values {
      if case .reference(let target) = value, !present.contains(target) { object.values[name] = .null }
    }
    object.links = object.links.mapValues { $0.filter(present.contains) }
    return object
  }
}

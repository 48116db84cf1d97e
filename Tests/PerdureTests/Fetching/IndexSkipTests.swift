import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Entity final class SkippedParent: ManagedObject {
  @Attribute(.indexed) var name: String = ""
  @Relationship(inverse: "parent", deleteRule: .noAction) var children: ToMany<SkippedChild>
  @Attribute(.indexed, derived: "children.@count") private(set) var childCount: Int
}

@Entity final class SkippedChild: ManagedObject {
  @Relationship(inverse: "children") var parent: SkippedParent?
}

@Suite("Offsets in the order of an index")
struct IndexSkipTests {
  private func container(_ kind: StoreKind) throws -> PersistentContainer {
    let container = try Staff.container(kind)
    let context = container.newContext()
    for number in 0..<500 {
      let worker = context.worker("w\(number)", email: "e\(number * 7919 % 500)")
      worker.salary = Int64(number % 40)
    }
    try context.save()
    return container
  }

  @Test(
    "A fetch with an offset and a limit returns that part of the whole result, in both directions",
    arguments: StoreKind.allCases)
  func windows(_ kind: StoreKind) throws {
    let context = try container(kind).newContext()
    var random = SeededGenerator.forTest("offsets in an index, \(kind)")
    for key in ["salary", "email"] {
      for ascending in [true, false] {
        for predicate in ["TRUEPREDICATE", "salary IN {3, 7, 20, 21}", "salary > 10 AND salary < 30"] {
          var request = FetchRequest<Employee>(predicate: try FetchPredicate(format: predicate))
          request.sortDescriptors = [FetchOrder(key, ascending: ascending)]
          let all = try context.fetch(request)
          for offset in [1, 12, 13, all.count - 1, all.count, 1000, Int.random(in: 1..<400, using: &random)] {
            (request.fetchOffset, request.fetchLimit) = (offset, Int.random(in: 0..<30, using: &random))
            let limit = request.fetchLimit == 0 ? .max : request.fetchLimit
            #expect(try context.fetch(request) == Array(all.dropFirst(offset).prefix(limit)))
          }
        }
      }
    }
    for worker in try context.fetch(FetchRequest<Employee>()).prefix(60) { worker.salary = 20 }
    var request = FetchRequest<Employee>()
    request.sortDescriptors = [FetchOrder("salary")]
    let all = try context.fetch(request)
    for offset in [10, 100, 300] {
      (request.fetchOffset, request.fetchLimit) = (offset, 20)
      #expect(try context.fetch(request) == Array(all.dropFirst(offset).prefix(20)))
    }
  }

  @Test("A fetch with the offset 400 reads fewer than 50 rows and 50 index entries")
  func visits() throws {
    let context = try container(.engine).newContext()
    var request = FetchRequest<Employee>()
    request.sortDescriptors = [FetchOrder("salary")]
    (request.fetchOffset, request.fetchLimit) = (400, 5)
    let view = CountingView(context.core.viewState.view)
    let query = try request.query(context.core.graph.store, entityOfClass: "Employee")
    let fetch = try PreparedFetch(query, context.core.graph.store)
    let executor = FetchExecutor(planning: fetch, on: view, FetchCancellation(flag: nil))
    #expect(try executor.references().count == 5)
    #expect(view.rowsRead < 50 && view.entriesRead < 50, "\(view.rowsRead), \(view.entriesRead)")
  }

  @Test("Fetches neither count nor skip the index entries that remain for deleted objects under .noAction")
  func withoutRows() throws {
    let container = try PersistentContainer(
      name: "Skip", classes: [SkippedParent.self, SkippedChild.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    for number in 0..<100 {
      let parent = SkippedParent(context: context)
      parent.name = "p\(number)"
      for _ in 0..<(number == 50 ? 1 : 2 + number % 3) { SkippedChild(context: context).parent = parent }
    }
    try context.save()
    let only = try #require(try context.fetch(SkippedParent.fetchRequest { $0.childCount == 1 }).first)
    context.delete(only)
    try context.save()
    var request = SkippedParent.fetchRequest { $0.childCount > 0 }
    request.sortDescriptors = [FetchOrder("childCount")]
    let all = try context.fetch(request)
    #expect(all.count == 99)
    let condition = SkippedParent.fetchRequest { $0.childCount > 0 }
    #expect(try context.count(for: condition) == 99 && context.fetchIDs(condition).count == 99)
    // In the next fetches, the count index is a part of a union, or gives the order.
    let union = SkippedParent.fetchRequest { $0.childCount == 1 || $0.name == "p7" }
    #expect(try context.explain(union).contains("the union of"))
    #expect(try context.count(for: union) == 1 && context.fetchIDs(union).count == 1)
    var ordered = SkippedParent.fetchRequest()
    ordered.sortDescriptors = [FetchOrder("childCount")]
    #expect(try context.count(for: ordered) == 99 && context.fetchIDs(ordered).count == 99)
    for offset in [1, 2, 30] {
      (request.fetchOffset, request.fetchLimit) = (offset, 5)
      #expect(try context.fetch(request) == Array(all.dropFirst(offset).prefix(5)))
    }
  }
}

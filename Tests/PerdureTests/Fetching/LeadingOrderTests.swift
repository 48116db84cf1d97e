import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Orders whose first criterion has an index")
struct LeadingOrderTests {
  /// Saves workers with `salaries` different salaries. The order of their names differs from the
  /// order of their salaries.
  private func context(workers: Int, salaries: Int) throws -> ManagedObjectContext {
    let container = try Staff.container(.engine)
    let context = container.newContext()
    for number in 0..<workers {
      let worker = context.worker("w\(number * 7919 % workers)")
      worker.salary = Int64(number % salaries)
    }
    try context.save()
    return container.newContext()
  }

  private func request(limit: Int, offset: Int = 0, ascending: Bool = true) -> FetchRequest<Employee> {
    var request = FetchRequest<Employee>()
    request.sortDescriptors = [FetchOrder("salary", ascending: ascending), FetchOrder("name")]
    (request.fetchLimit, request.fetchOffset) = (limit, offset)
    return request
  }

  private func expected(
    _ context: ManagedObjectContext, _ request: FetchRequest<Employee>, ascending: Bool = true
  ) throws -> [Employee] {
    let all = try context.fetch(FetchRequest<Employee>()).sorted {
      $0.salary != $1.salary ? ($0.salary < $1.salary) == ascending : $0.name < $1.name
    }
    return Array(all.dropFirst(request.fetchOffset).prefix(request.fetchLimit))
  }

  @Test(
    "The first objects are right, however many are equal in the first criterion",
    arguments: [1, 2, 10, 300], [true, false])
  func windows(salaries: Int, ascending: Bool) throws {
    let context = try context(workers: 400, salaries: salaries)
    for (limit, offset) in [(1, 0), (5, 0), (5, 3), (40, 0), (40, 100), (1000, 0)] {
      let request = request(limit: limit, offset: offset, ascending: ascending)
      #expect(try context.fetch(request) == expected(context, request, ascending: ascending))
    }
    // The results include unsaved changes.
    for worker in try context.fetch(request(limit: 20)) { worker.salary += 1 }
    context.worker("a").salary = 1
    for limit in [1, 7, 50] {
      let request = request(limit: limit, ascending: ascending)
      #expect(try context.fetch(request) == expected(context, request, ascending: ascending))
    }
  }

  @Test(
    "If only pairs of 4,000 objects are equal in the first criterion, a limit of 5 needs fewer than 200 rows")
  func rows() throws {
    let context = try context(workers: 4000, salaries: 2000)
    let request = request(limit: 5)
    let view = CountingView(context.core.viewState.view)
    let query = try request.query(context.core.graph.store, entityOfClass: "Employee")
    let fetch = try PreparedFetch(query, context.core.graph.store)
    let executor = FetchExecutor(planning: fetch, on: view, FetchCancellation(flag: nil))
    #expect(try executor.references().count == 5)
    #expect(view.rowsRead < 200, "\(view.rowsRead) rows were read")
  }
}

import Measuring
import Perdure

extension Scenario {
  /// The access paths of fetches. Each finds workers that no unsaved change affects: at least those
  /// of the first half of the companies.
  static var paths: [Scenario] { indexed + scans + through }

  private static var indexed: [Scenario] {
    let name = BaseGraph.lastName(3)
    let emails = (0..<10).map { BaseGraph.email($0 * 100) }
    return [
      // Other scenarios may have changed the last names of the second half of the workers.
      fetch("equal by index", 10, atLeast: BaseGraph.namesakes / 2) {
        Worker.fetchRequest { $0.lastName == name }
      },
      fetch("range by index", 10, atLeast: 1) { Worker.fetchRequest { $0.salary.in(1_500..<1_510) } },
      fetch("unique key", 20, atLeast: 1) {
        let email = BaseGraph.email(7)
        return Worker.fetchRequest { $0.email == email }
      },
      fetch("IN of 10 keys", 10, atLeast: 10) { Worker.fetchRequest { $0.email.in(emails) } },
      fetch("first by index", 20, atLeast: 1) { sorted(FetchOrder(\Worker.email), limit: 1) },
      fetch("sorted by index, limit 20", 10, atLeast: 20) {
        sorted(FetchOrder(\Worker.email), limit: 20)
      },
    ]
  }

  private static var scans: [Scenario] {
    [
      fetch("full scan with a predicate", 1, atLeast: 1) {
        Worker.fetchRequest { $0.rating > 4_990 && $0.rating < 5_000 && $0.isActive == true }
      },
      fetch("sorted without an index, limit 20", 1, atLeast: 20) {
        sorted(FetchOrder(\Worker.rating, ascending: false), limit: 20)
      },
      count("count by index", 20) {
        let name = BaseGraph.lastName(3)
        return Worker.fetchRequest { $0.lastName == name }
      },
      count("count of all", 20) { Worker.fetchRequest() },
      count("count by a scan", 1) { Worker.fetchRequest { $0.rating >= 5_000 } },
    ]
  }

  private static var through: [Scenario] {
    let company = BaseGraph.companyName(1)
    let project = BaseGraph.projectTitle(7)
    return [
      fetch("through a relationship", 1, atLeast: BaseGraph.companySize) {
        Worker.fetchRequest { $0.company.name == company }
      },
      fetch("ANY over a to-many relationship", 4, atLeast: 30) {
        Worker.fetchRequest { $0.projects.any { $0.title == project } }
      },
    ]
  }

  private static func sorted(_ order: FetchOrder, limit: Int) -> FetchRequest<Worker> {
    var request = Worker.fetchRequest()
    request.sortDescriptors = [order]
    request.fetchLimit = limit
    return request
  }

  /// Counts the creation and the fetch of a request. The objects are released after each fetch.
  private static func fetch(
    _ name: String, _ repetitions: Int, atLeast resultCount: Int,
    _ request: @escaping @Sendable () -> FetchRequest<Worker>
  ) -> Scenario {
    Scenario(name, repetitions: repetitions) { bench in
      each { _ in
        let found = try bench.context.fetch(request()).count
        if found < resultCount { try expect(found, resultCount) }
      }
    }
  }

  private static func count(
    _ name: String, _ repetitions: Int, _ request: @escaping @Sendable () -> FetchRequest<Worker>
  ) -> Scenario {
    Scenario(name, repetitions: repetitions) { bench in
      each { _ in
        if try bench.context.count(for: request()) == 0 { throw CountingError("\(name) found nothing.") }
      }
    }
  }
}

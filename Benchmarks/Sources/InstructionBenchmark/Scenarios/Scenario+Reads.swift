import Measuring
import Perdure

extension Scenario {
  /// Walks over relationships and many objects, without unsaved changes.
  static var reads: [Scenario] {
    [
      Scenario("fetch all 10,000", repetitions: 1) { bench in
        { count in
          for _ in 0..<count {
            let context = bench.container.newContext()
            try counted { try expect(context.fetch(Worker.self).count, BaseGraph.workerCount) }
          }
        }
      },
      Scenario("walk a company, its workers and their projects: first", repetitions: 1) { bench in
        { count in
          let context = bench.container.newContext()
          let companies = try (0..<count).map { try bench.company($0, in: context) }
          try counted { for company in companies { try walk(company) } }
        }
      },
      Scenario("walk a company, its workers and their projects: again", repetitions: 1) { bench in
        let companies = try (0..<2).map { try bench.company($0) }
        // These objects stay in memory during the walk.
        let kept: [[ManagedObject]] = companies.map { company in
          company.workers.flatMap { worker in [worker] + worker.projects.map { $0 as ManagedObject } }
        }
        return { count in
          try counted { for company in companies[..<count] { try walk(company) } }
          withExtendedLifetime(kept) {}
        }
      },
    ]
  }

  private static func walk(_ company: Company) throws {
    var (length, memberships) = (0, 0)
    for worker in company.workers {
      length += worker.lastName.utf8.count
      for project in worker.projects {
        length += project.title.utf8.count
        memberships += 1
      }
    }
    keep(length)
    try expect(memberships, 3 * BaseGraph.companySize)
  }
}

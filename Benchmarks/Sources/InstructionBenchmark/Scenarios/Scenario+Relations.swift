import Measuring
import Perdure

extension Scenario {
  /// Reads of single objects and their relationships.
  static var relations: [Scenario] {
    [
      Scenario("object with an id, and one value", repetitions: 20) { bench in
        let id = try bench.worker(7).objectID
        return each { _ in
          guard let worker = bench.context.object(with: id) as? Worker else {
            throw CountingError("The object of worker 7 has another class.")
          }
          try expect(Int(worker.number), 7)
        }
      },
      Scenario("to-one object, not in memory", repetitions: 20) { bench in
        let worker = try bench.worker(100)
        return each { _ in keep(worker.manager?.number) }
      },
      Scenario("8 objects of a relationship", repetitions: 10) { bench in
        let manager = try bench.worker(5)
        return each { _ in
          var sum = 0
          for report in manager.reports { sum += Int(report.number) }
          try expect(sum, (41...48).reduce(0, +))
        }
      },
      Scenario("count of a relationship", repetitions: 20) { bench in
        let company = try bench.company(0)
        return each { _ in try expect(company.workers.count, BaseGraph.companySize) }
      },
      Scenario("derived sum", repetitions: 20) { bench in
        let company = try bench.company(0)
        return each { _ in keep(company.salarySum) }
      },
    ]
  }
}

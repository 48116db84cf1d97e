import Measuring
import Perdure

extension Scenario {
  /// Scenarios that save one change or many, and that open a store.
  static var saves: [Scenario] {
    [
      Scenario("insert and save an object", repetitions: 50) { bench in
        let company = try bench.company(0)
        var next = BaseGraph.workerCount
        return each { _ in
          try insert(next, company, bench.context)
          next += 1
          try bench.context.save()
        }
      },
      Scenario("update and save an object", repetitions: 50) { bench in
        let worker = try bench.worker(7)
        return each { _ in
          worker.salary += 1
          try bench.context.save()
        }
      },
      Scenario("delete and save an object", repetitions: 50) { bench in
        var next = BaseGraph.companySize - 1
        return { count in
          // Workers without reports.
          let workers = try (0..<count).map { try bench.worker(next - $0) }
          next -= count
          try counted {
            for worker in workers {
              bench.context.delete(worker)
              try bench.context.save()
            }
          }
        }
      },
      bulkInsert, updateAll, open,
    ]
  }

  /// Counts one save of 5,000 objects and one of 10,000.
  private static var bulkInsert: Scenario {
    Scenario("bulk insert of 10,000 objects, per object", repetitions: 5_000) { bench in
      var next = BaseGraph.workerCount
      return { count in
        let context = bench.container.newContext()
        let company = try bench.company(0, in: context)
        try counted {
          for number in next..<next + count { try insert(number, company, context) }
          try context.save()
        }
        next += count
      }
    }
  }

  /// Counts one save of 1,000 changed objects and one of 2,000.
  private static var updateAll: Scenario {
    Scenario("update of 2,000 objects in one save, per object", repetitions: 1_000) { bench in
      { count in
        let context = bench.container.newContext()
        let workers = try context.fetch(Worker.self, limit: count)
        try counted {
          for worker in workers { worker.salary += 1 }
          try context.save()
        }
      }
    }
  }

  private static var open: Scenario {
    Scenario("open, and fetch one object", repetitions: 5) { bench in
      try bench.container.close()
      return { count in
        for _ in 0..<count {
          var opened: PersistentContainer?
          try counted {
            let container = try BaseGraph.container(at: bench.path)
            try container.loadPersistentStores()
            let email = BaseGraph.email(7)
            try expect(container.newContext().fetch(Worker.fetchRequest { $0.email == email }).count, 1)
            opened = container
          }
          try opened?.close()
        }
      }
    }
  }

  private static func insert(_ number: Int, _ company: Company, _ context: ManagedObjectContext) throws {
    let worker = Worker(context: context)
    worker.set(number)
    worker.company = company
  }
}

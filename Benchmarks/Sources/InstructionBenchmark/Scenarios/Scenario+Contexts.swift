import Measuring
import Perdure

extension Scenario {
  /// Contexts that are created for one request.
  static var newContexts: [Scenario] {
    [
      Scenario("create and free a context", repetitions: 50) { bench in
        each { _ in keep(bench.container.newContext()) }
      },
      Scenario("create a context, and find an object by unique key", repetitions: 50) { bench in
        let email = BaseGraph.email(7)
        return each { _ in
          let found = try bench.container.newContext().first(Worker.self, where: \.email, equals: email)
          try expect(found == nil ? 0 : 1, 1)
        }
      },
    ]
  }

  /// Work of a context on its unsaved changes, and with other contexts.
  static var contexts: [Scenario] {
    [
      Scenario("processPendingChanges after one set", repetitions: 10) { bench in
        let worker = try bench.worker(7)
        return { count in
          for _ in 0..<count {
            worker.salary += 1
            try counted { bench.context.processPendingChanges() }
          }
        }
      },
      Scenario("plan of a deletion", repetitions: 10) { bench in
        let worker = try bench.worker(5)
        return each { _ in
          let plan = try bench.context.plan(delete: worker)
          // The deletion removes the worker from its reports, company, manager and projects.
          try expect(plan.requested.count + plan.cascaded.count, 1)
        }
      },
      merge, childSave, childFetch,
    ]
  }

  /// Another context's save of one object; only the merge is counted.
  private static var merge: Scenario {
    Scenario("merge of one save", repetitions: 10) { bench in
      bench.context.automaticallyMergesChangesFromParent = true
      let (mine, other) = (try bench.worker(7), bench.container.newContext())
      let worker = try bench.worker(7, in: other)
      return { count in
        for _ in 0..<count {
          worker.salary += 1
          try other.save()
          try counted { bench.context.processPendingChanges() }
          try expect(Int(mine.salary), Int(worker.salary))
        }
      }
    }
  }

  private static var childSave: Scenario {
    Scenario("child context: create, set and save", repetitions: 20) { bench in
      let id = try bench.worker(7).objectID
      return each { _ in
        let child = bench.context.newChildContext()
        guard let worker = child.object(with: id) as? Worker else {
          throw CountingError("The object of worker 7 has another class.")
        }
        worker.salary += 1
        try child.save()
      }
    }
  }

  private static var childFetch: Scenario {
    Scenario("child context: equal by index", repetitions: 10) { bench in
      let child = bench.context.newChildContext()
      let name = BaseGraph.lastName(3)
      return each { _ in
        let found = try child.fetch(Worker.fetchRequest { $0.lastName == name }).count
        if found < BaseGraph.namesakes / 2 { try expect(found, BaseGraph.namesakes / 2) }
      }
    }
  }
}

import Measuring
import Perdure

extension Scenario {
  /// Gets and sets of properties. A loop over objects is counted, so a count includes the loop.
  static var objects: [Scenario] {
    gets + [
      set("set Int64", { $0.number = Int64($1) }), set("set Double", { $0.rating = Double($1) }),
      set("set String of 7", { worker, _ in worker.firstName = "Barbara" }),
      Scenario("set Int64, the first change of an object", repetitions: 200) { bench in
        { count in
          // Each count needs a new context: an old one retains its objects, which have changes
          // already.
          let context = bench.container.newContext()
          let workers = try loaded(count, context)
          try counted { for worker in workers { worker.number = 1 } }
        }
      },
    ] + undo
  }

  /// Sets of properties of objects with changes, in a context with an undo manager.
  private static var undo: [Scenario] {
    [
      Scenario("set Int64 with undo, first change in a group", repetitions: 200) { bench in
        { count in
          let (context, workers) = try changed(count, bench)
          try context.undoGroup("") { try counted { for worker in workers { worker.number = 2 } } }
        }
      },
      Scenario("set Int64 with undo, second change in a group", repetitions: 200) { bench in
        { count in
          let (context, workers) = try changed(count, bench)
          try context.undoGroup("") {
            for worker in workers { worker.number = 2 }
            try counted { for worker in workers { worker.number = 3 } }
          }
        }
      },
      Scenario("undo of a set Int64, in a group of many", repetitions: 200) { bench in
        { count in
          let (context, workers) = try changed(count, bench)
          context.undoGroup("") { for worker in workers { worker.number = 2 } }
          try counted { try context.undo() }
          try expect(Int(workers[0].number), 1)
        }
      },
    ]
  }

  /// Workers with changes, in a context with an undo manager.
  private static func changed(
    _ count: Int, _ bench: Bench
  ) throws -> (context: ManagedObjectContext, workers: [Worker]) {
    let context = bench.container.newContext()
    let workers = try loaded(count, context)
    for worker in workers { worker.number = 1 }
    context.undoManager = ContextUndoManager()
    return (context, workers)
  }

  private static var gets: [Scenario] {
    [
      get("get Int64", { $0.number }), get("get Double", { Int64($0.rating) }),
      get("get Bool", { $0.isActive ? 1 : 0 }), get("get String of 3", { Int64($0.firstName.utf8.count) }),
      get("get String of about 21", { Int64($0.email.utf8.count) }),
      get("get to-one object in memory", { $0.manager == nil ? 0 : 1 }),
    ]
  }

  private static func get(_ name: String, _ value: @escaping @Sendable (Worker) -> Int64) -> Scenario {
    Scenario(name, repetitions: 1_000) { bench in
      // All workers of a company, so that their managers are in memory too.
      let workers = try loaded(BaseGraph.companySize, bench.context)
      return { count in
        var sum: Int64 = 0
        try counted { for number in 0..<count { sum &+= value(workers[number % workers.count]) } }
        keep(sum)
      }
    }
  }

  private static func set(_ name: String, _ change: @escaping @Sendable (Worker, Int) -> Void) -> Scenario {
    Scenario(name, repetitions: 1_000) { bench in
      let workers = try loaded(BaseGraph.companySize, bench.context)
      return { count in
        try counted { for number in 0..<count { change(workers[number % workers.count], number) } }
      }
    }
  }

  /// The first workers, with their rows and those of their managers in memory.
  private static func loaded(_ count: Int, _ context: ManagedObjectContext) throws -> [Worker] {
    let bound = Int64(count)
    var request = Worker.fetchRequest { $0.number < bound }
    request.returnsObjectsAsFaults = false
    let workers = try context.fetch(request)
    try expect(workers.count, count)
    for worker in workers { keep(worker.manager?.number) }
    return workers
  }
}

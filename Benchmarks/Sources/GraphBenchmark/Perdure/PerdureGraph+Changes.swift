import Perdure

extension PerdureGraph {
  func change(_ workload: Workload, _ script: Script, _ context: ManagedObjectContext) throws -> Answer {
    var answer = Answer()
    func each<Wish>(_ wishes: [Wish], _ body: (Wish) -> Void) throws {
      for wish in wishes {
        body(wish)
        try context.save()
      }
      answer.addChanges(wishes.count)
    }
    func worker(_ number: Int) -> Worker? { context.object(with: workers[number]) as? Worker }
    switch workload {
    case .updateAll:
      let all = try context.fetch(Worker.fetchRequest())
      for worker in all { worker.salary += 1 }
      try context.save()
      answer.addChanges(all.count)
    case .updateEach: try each(script.updates) { worker($0)?.salary += 1 }
    case .updateEachDurable: try each(script.durableUpdates) { worker($0)?.salary += 1 }
    case .moveWorker:
      try each(script.moves) {
        worker($0.worker)?.company = context.object(with: companies[$0.company]) as? Company
      }
    case .deleteWorker:
      try each(script.dismissals) { number in
        if let worker = worker(number) { context.delete(worker) }
      }
    default:
      try each(script.closures) { context.delete(context.object(with: companies[$0])) }
      answer.addChanges(script.closures.count * (GraphData.companySize - 1))
    }
    return answer
  }

  /// Saves the rows of an import: changes workers that exist, and creates the others.
  func findOrCreate(_ imports: [WorkerValues], _ context: ManagedObjectContext) throws -> Answer {
    let company = context.object(with: companies[0]) as? Company
    for values in imports {
      let worker = try context.findOrInsert(Worker.self, where: \.email, equals: values.email) { new in
        new.set(values)
        new.company = company
      }
      worker.rating += 1
    }
    try context.save()
    var answer = Answer()
    answer.addChanges(imports.count)
    return answer
  }
}

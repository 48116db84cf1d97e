import Perdure

extension PerdureGraph {
  func get(_ numbers: [Int], _ context: ManagedObjectContext) -> Answer {
    var answer = Answer()
    for number in numbers {
      if let worker = context.object(with: workers[number]) as? Worker { answer.add(worker.values) }
    }
    return answer
  }

  func get(_ emails: [String], _ context: ManagedObjectContext) throws -> Answer {
    var answer = Answer()
    for email in emails {
      if let worker = try context.first(Worker.self, where: \.email, equals: email) {
        answer.add(worker.values)
      }
    }
    return answer
  }

  /// Finds each worker in a separate context.
  func units(_ emails: [String]) throws -> Answer {
    var answer = Answer()
    for email in emails {
      if let worker = try newContext().first(Worker.self, where: \.email, equals: email) {
        answer.add(worker.values)
      }
    }
    return answer
  }

  func fetch<Wish>(
    _ wishes: [Wish], _ context: ManagedObjectContext, _ request: (Wish) -> FetchRequest<Worker>
  ) throws -> Answer {
    var answer = Answer()
    for wish in wishes {
      for worker in try context.fetch(request(wish)) { answer.add(worker.values) }
    }
    return answer
  }

  func count(_ context: ManagedObjectContext) throws -> Answer {
    var answer = Answer()
    let half = Double(data.workerCount) / 2
    let found = try context.count(for: Worker.fetchRequest { $0.rating > half && $0.isActive == true })
    answer.add(counted: found, among: data.workerCount)
    return answer
  }

  func traverse(_ numbers: [Int], _ context: ManagedObjectContext) -> Answer {
    var answer = Answer()
    for number in numbers {
      guard let company = context.object(with: companies[number]) as? Company else { continue }
      for worker in company.workers {
        answer.add(worker.values)
        for project in worker.projects { answer.add(project.title) }
      }
    }
    return answer
  }

  /// The objects of a traversal. While they are retained, a later traversal finds them in memory.
  func objectsAlong(_ numbers: [Int], _ context: ManagedObjectContext) -> [ManagedObject] {
    var objects: [ManagedObject] = []
    for number in numbers {
      guard let company = context.object(with: companies[number]) as? Company else { continue }
      objects.append(company)
      for worker in company.workers {
        objects.append(worker)
        for project in worker.projects { objects.append(project) }
      }
    }
    return objects
  }

  func managers(_ numbers: [Int], _ context: ManagedObjectContext) -> Answer {
    var answer = Answer()
    for number in numbers {
      var worker = context.object(with: workers[number]) as? Worker
      while let current = worker {
        answer.add(current.values)
        worker = current.manager
      }
    }
    return answer
  }

  /// Computes the sums of every company.
  func sums(_ context: ManagedObjectContext, _ sum: (Company) -> (Int, Double)) -> Answer {
    var answer = Answer()
    for id in companies {
      guard let company = context.object(with: id) as? Company else { continue }
      let (count, total) = sum(company)
      answer.add(count: count, sum: total, among: GraphData.companySize)
    }
    return answer
  }

  func first(_ order: FetchOrder, _ context: ManagedObjectContext) throws -> Answer {
    var request = Worker.fetchRequest()
    request.sortDescriptors = [order]
    request.fetchLimit = 100
    var answer = Answer()
    for worker in try context.fetch(request) { answer.add(worker.values) }
    return answer
  }
}

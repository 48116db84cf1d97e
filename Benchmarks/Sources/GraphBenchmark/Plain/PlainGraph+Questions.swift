extension PlainGraph {
  func read<Wish>(_ wishes: [Wish], _ find: (Wish) -> some Sequence<PlainWorker>) -> Answer {
    var answer = Answer()
    for wish in wishes {
      for worker in find(wish) { answer.add(worker.values) }
    }
    return answer
  }

  func count() -> Answer {
    var answer = Answer()
    let half = Double(data.workerCount) / 2
    let found = workers.values.count { $0.rating > half && $0.isActive }
    answer.add(counted: found, among: data.workerCount)
    return answer
  }

  func traverse(_ numbers: [Int]) -> Answer {
    var answer = Answer()
    for number in numbers {
      for worker in companies[number]?.workers ?? [] {
        answer.add(worker.values)
        for project in worker.projects { answer.add(project.title) }
      }
    }
    return answer
  }

  func managers(_ numbers: [Int]) -> Answer {
    var answer = Answer()
    for number in numbers {
      var worker = workers[number]
      while let current = worker {
        answer.add(current.values)
        worker = current.manager
      }
    }
    return answer
  }

  func sums() -> Answer {
    var answer = Answer()
    for number in 0..<data.companyCount {
      guard let company = companies[number] else { continue }
      let sum = company.workers.reduce(0) { $0 + $1.rating }
      answer.add(count: company.workers.count, sum: sum, among: GraphData.companySize)
    }
    return answer
  }
}

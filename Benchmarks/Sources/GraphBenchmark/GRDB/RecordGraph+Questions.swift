import GRDB

extension RecordGraph {
  func fetch<Wish>(
    _ wishes: [Wish], _ database: Database, _ request: (Wish) -> QueryInterfaceRequest<WorkerRecord>
  ) throws -> Answer {
    var answer = Answer()
    for wish in wishes {
      for worker in try request(wish).fetchAll(database) { answer.add(worker.values) }
    }
    return answer
  }

  /// Finds each worker in a separate access to the database.
  func units(_ emails: [String]) throws -> Answer {
    var answer = Answer()
    for email in emails {
      let worker = try opened().read { try WorkerRecord.filter(Key.email == email).fetchOne($0) }
      if let worker { answer.add(worker.values) }
    }
    return answer
  }

  func count(_ database: Database) throws -> Answer {
    var answer = Answer()
    let half = Double(data.workerCount) / 2
    let found = try WorkerRecord.filter(Key.rating > half && Key.isActive == true).fetchCount(database)
    answer.add(counted: found, among: data.workerCount)
    return answer
  }

  /// Reads a company's workers with their projects in one request. GRDB runs two statements for
  /// this request, as its documentation recommends for associations.
  func traverse(_ companies: [Int], _ database: Database) throws -> Answer {
    var answer = Answer()
    for company in companies {
      let workers = WorkerRecord.filter(Key.company == SQLGraphSettings.rowID(company))
        .including(all: WorkerRecord.projects)
      for found in try WorkerWithProjects.fetchAll(database, workers) {
        answer.add(found.worker.values)
        for project in found.projects { answer.add(project.title) }
      }
    }
    return answer
  }

  func managers(_ numbers: [Int], _ database: Database) throws -> Answer {
    var answer = Answer()
    for number in numbers {
      var worker = try WorkerRecord.fetchOne(database, key: SQLGraphSettings.rowID(number))
      while let current = worker {
        answer.add(current.values)
        worker = try current.manager.flatMap { try WorkerRecord.fetchOne(database, key: $0) }
      }
    }
    return answer
  }

  func sumsOfRatings(_ database: Database) throws -> Answer {
    var answer = Answer()
    for company in 0..<data.companyCount {
      let request = WorkerRecord.filter(Key.company == SQLGraphSettings.rowID(company))
        .select(GRDB.count(Key.id), sum(Key.rating))
      guard let row = try Row.fetchOne(database, request) else { continue }
      answer.add(count: row[0], sum: row[1] ?? 0, among: GraphData.companySize)
    }
    return answer
  }

  func keptSums(_ database: Database) throws -> Answer {
    var answer = Answer()
    for company in 0..<data.companyCount {
      guard let found = try CompanyRecord.fetchOne(database, key: SQLGraphSettings.rowID(company)) else {
        continue
      }
      answer.add(count: found.workerCount, sum: Double(found.salarySum), among: GraphData.companySize)
    }
    return answer
  }

  func content() throws -> Answer {
    try opened().read { database in
      var answer = Answer()
      let companies = Dictionary(
        uniqueKeysWithValues: try CompanyRecord.fetchAll(database).map { ($0.id, $0) })
      let emails = Dictionary(
        uniqueKeysWithValues: try WorkerRecord.fetchAll(database).map { ($0.id, $0.email) })
      try forEachWorker(database) { found in
        answer.add(
          found.worker.values, company: found.worker.company.flatMap { companies[$0]?.name },
          manager: found.worker.manager.flatMap { emails[$0] }, projects: found.projects.map(\.title))
      }
      for company in companies.values {
        answer.add(company.name)
        answer.add(count: company.workerCount, sum: Double(company.salarySum), among: 1)
      }
      let teams = Dictionary(grouping: try LinkRecord.fetchAll(database), by: \.project)
      for project in try ProjectRecord.fetchAll(database) {
        answer.add("\(project.title): \(teams[project.id]?.count ?? 0)")
      }
      return answer
    }
  }

  /// Visits the workers in groups. An association is fetched by the ids of all owners, and a
  /// statement can have at most 32,766 ids.
  private func forEachWorker(_ database: Database, _ body: (WorkerWithProjects) -> Void) throws {
    var last: Int64?
    while true {
      let rest = last.map { id in WorkerRecord.filter(Key.id > id) } ?? WorkerRecord.all()
      let found = try WorkerWithProjects.fetchAll(
        database, rest.order(Key.id).limit(10_000).including(all: WorkerRecord.projects))
      found.forEach(body)
      guard let next = found.last?.worker.id else { return }
      last = next
    }
  }
}

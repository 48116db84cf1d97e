import GRDB

extension RecordGraph {
  /// Inserts the graph with ten thousand workers per transaction.
  func insert() throws -> Answer {
    var answer = Answer()
    for companies in data.companyBatches {
      try opened().write { database in
        for company in companies { try insert(company: company, database) }
      }
      answer.addChanges(companies.count * GraphData.companySize)
    }
    return answer
  }

  private func insert(company number: Int, _ database: Database) throws {
    let company = SQLGraphSettings.rowID(number)
    for place in 0..<GraphData.projectsPerCompany {
      let project = number * GraphData.projectsPerCompany + place
      try ProjectRecord(
        id: SQLGraphSettings.rowID(project), title: data.projectTitle(project), company: company
      )
      .insert(database)
    }
    var sum: Int64 = 0
    for place in 0..<GraphData.companySize {
      let number = number * GraphData.companySize + place
      let worker = WorkerRecord(
        id: SQLGraphSettings.rowID(number), data.workers[number], company: company,
        manager: data.manager(number).map(SQLGraphSettings.rowID))
      try worker.insert(database)
      for project in data.projects(number) {
        try LinkRecord(worker: worker.id, project: SQLGraphSettings.rowID(project)).insert(database)
      }
      sum += worker.salary
    }
    try CompanyRecord(
      id: company, name: data.companyName(number), workerCount: GraphData.companySize, salarySum: sum
    ).insert(database)
  }

  func change(_ workload: Workload, _ script: Script) throws -> Answer {
    var answer = Answer()
    func each<Wish>(_ wishes: [Wish], _ body: (Wish, Database) throws -> Void) throws {
      for wish in wishes { try opened().write { try body(wish, $0) } }
      answer.addChanges(wishes.count)
    }
    switch workload {
    case .updateAll: answer.addChanges(try opened().write(raiseAll))
    case .findOrCreate:
      try opened().write { try findOrCreate(script.imports, $0) }
      answer.addChanges(script.imports.count)
    case .updateEach: try each(script.updates, raise)
    case .updateEachDurable: try each(script.durableUpdates, raise)
    case .moveWorker: try each(script.moves) { try move($0.worker, to: $0.company, $1) }
    case .deleteWorker: try each(script.dismissals, delete)
    default:
      try each(script.closures, dissolve)
      answer.addChanges(script.closures.count * (GraphData.companySize - 1))
    }
    return answer
  }

  private func findOrCreate(_ imports: [WorkerValues], _ database: Database) throws {
    var (createdCount, salarySum) = (0, 0 as Int64)
    for values in imports {
      var worker = try WorkerRecord.filter(Key.email == values.email).fetchOne(database)
      if worker == nil {
        let new = WorkerRecord(
          id: SQLGraphSettings.rowID(data.workerCount + createdCount), values,
          company: SQLGraphSettings.rowID(0), manager: nil)
        try new.insert(database)
        (worker, createdCount, salarySum) = (new, createdCount + 1, salarySum + values.salary)
      }
      try worker?.updateChanges(database) { $0.rating += 1 }
    }
    try change(SQLGraphSettings.rowID(0), by: createdCount, salarySum, database)
  }

  private func raiseAll(_ database: Database) throws -> Int {
    let workers = try WorkerRecord.fetchAll(database)
    for var worker in workers { try worker.updateChanges(database) { $0.salary += 1 } }
    for var company in try CompanyRecord.fetchAll(database) {
      try company.updateChanges(database) { $0.salarySum += Int64($0.workerCount) }
    }
    return workers.count
  }

  private func raise(_ number: Int, _ database: Database) throws {
    guard var worker = try WorkerRecord.fetchOne(database, key: SQLGraphSettings.rowID(number)) else {
      return
    }
    try worker.updateChanges(database) { $0.salary += 1 }
    try change(worker.company, by: 0, 1, database)
  }

  /// Adds `count` workers and `sum` of salaries to the totals of a company.
  private func change(_ company: Int64?, by count: Int, _ sum: Int64, _ database: Database) throws {
    guard let company else { return }
    typealias Key = CompanyRecord.CodingKeys
    _ = try CompanyRecord.filter(key: company)
      .updateAll(database, Key.workerCount += count, Key.salarySum += sum)
  }

  private func move(_ number: Int, to company: Int, _ database: Database) throws {
    guard var worker = try WorkerRecord.fetchOne(database, key: SQLGraphSettings.rowID(number)) else {
      return
    }
    try change(worker.company, by: -1, -worker.salary, database)
    try worker.updateChanges(database) { $0.company = SQLGraphSettings.rowID(company) }
    try change(worker.company, by: 1, worker.salary, database)
  }

  private func delete(_ number: Int, _ database: Database) throws {
    guard let worker = try WorkerRecord.fetchOne(database, key: SQLGraphSettings.rowID(number)) else {
      return
    }
    try change(worker.company, by: -1, -worker.salary, database)
    try LinkRecord.filter(LinkRecord.CodingKeys.worker == worker.id).deleteAll(database)
    try WorkerRecord.filter(Key.manager == worker.id).updateAll(database, Key.manager.set(to: nil))
    try worker.delete(database)
  }

  private func dissolve(_ number: Int, _ database: Database) throws {
    let id = SQLGraphSettings.rowID(number)
    let own = WorkerRecord.filter(Key.company == id)
    let workers = own.select(Key.id)
    let projects = ProjectRecord.filter(ProjectRecord.CodingKeys.company == id)
    try LinkRecord.filter(workers.contains(LinkRecord.CodingKeys.worker)).deleteAll(database)
    try LinkRecord.filter(
      projects.select(ProjectRecord.CodingKeys.id).contains(LinkRecord.CodingKeys.project)
    )
    .deleteAll(database)
    try WorkerRecord.filter(workers.contains(Key.manager) && Key.company != id)
      .updateAll(database, Key.manager.set(to: nil))
    try projects.deleteAll(database)
    try own.deleteAll(database)
    _ = try CompanyRecord.deleteOne(database, key: id)
  }
}

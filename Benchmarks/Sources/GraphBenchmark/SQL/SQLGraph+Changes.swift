extension SQLGraph {
  /// Inserts the graph. Each transaction inserts ten thousand workers.
  func insert() throws -> Answer {
    var answer = Answer()
    for companies in data.companyBatches {
      try opened().inTransaction { for company in companies { try insert(company: company) } }
      answer.addChanges(companies.count * GraphData.companySize)
    }
    return answer
  }

  private func insert(company number: Int) throws {
    let company = try often("INSERT INTO company VALUES (?, ?, ?, ?)")
    let project = try often("INSERT INTO project VALUES (?, ?, ?)")
    for place in 0..<GraphData.projectsPerCompany {
      let number = number * GraphData.projectsPerCompany + place
      try project.bind(1, SQLGraphSettings.rowID(number))
      try project.bind(2, data.projectTitle(number))
      try project.bind(3, SQLGraphSettings.rowID(number / GraphData.projectsPerCompany))
      try project.run()
    }
    var sum: Int64 = 0
    for place in 0..<GraphData.companySize {
      sum += try insert(worker: number * GraphData.companySize + place, company: number)
    }
    try company.bind(1, SQLGraphSettings.rowID(number))
    try company.bind(2, data.companyName(number))
    try company.bind(3, Int64(GraphData.companySize))
    try company.bind(4, sum)
    try company.run()
  }

  /// Inserts a worker, and returns the salary.
  private func insert(worker number: Int, company: Int) throws -> Int64 {
    let link = try often("INSERT INTO worker_project VALUES (?, ?)")
    let values = data.workers[number]
    try insert(values, number, company: company, manager: data.manager(number))
    for project in data.projects(number) {
      try link.bind(1, SQLGraphSettings.rowID(number))
      try link.bind(2, SQLGraphSettings.rowID(project))
      try link.run()
    }
    return values.salary
  }

  private func insert(_ values: WorkerValues, _ number: Int, company: Int, manager: Int?) throws {
    let worker = try often("INSERT INTO worker VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    try worker.bind(1, SQLGraphSettings.rowID(number))
    try worker.bind(2, values.firstName)
    try worker.bind(3, values.lastName)
    try worker.bind(4, values.email)
    try worker.bind(5, values.salary)
    try worker.bind(6, values.rating)
    try worker.bind(7, values.hired)
    try worker.bind(8, values.isActive ? 1 : 0 as Int64)
    try worker.bind(9, SQLGraphSettings.rowID(company))
    try worker.bind(10, manager.map(SQLGraphSettings.rowID))
    try worker.run()
  }

  /// Finds each worker by email, or inserts it. Updates the totals of the company once at the end,
  /// because the function counts its own insertions.
  private func findOrCreate(_ imports: [WorkerValues]) throws {
    let find = try often("SELECT id FROM worker WHERE email = ?")
    var (createdCount, salarySum) = (0, 0 as Int64)
    for values in imports {
      try find.bind(1, values.email)
      var id: Int64?
      while try find.step() { id = find.int(0) }
      if id == nil {
        let number = data.workerCount + createdCount
        try insert(values, number, company: 0, manager: nil)
        (id, createdCount, salarySum) = (
          SQLGraphSettings.rowID(number), createdCount + 1, salarySum + values.salary
        )
      }
      if let id { try run("UPDATE worker SET rating = rating + 1 WHERE id = ?", id) }
    }
    try run(
      "UPDATE company SET worker_count = worker_count + ?1, salary_sum = salary_sum + ?2 WHERE id = 1",
      Int64(createdCount), salarySum)
  }

  func change(_ workload: Workload, _ script: Script) throws -> Answer {
    var answer = Answer()
    func each<Wish>(_ wishes: [Wish], _ body: (Wish) throws -> Void) throws {
      for wish in wishes { try opened().inTransaction { try body(wish) } }
      answer.addChanges(wishes.count)
    }
    switch workload {
    case .updateAll:
      try opened().inTransaction { answer.addChanges(try raiseAll()) }
    case .findOrCreate:
      try opened().inTransaction { try findOrCreate(script.imports) }
      answer.addChanges(script.imports.count)
    case .updateEach: try each(script.updates, raise)
    case .updateEachDurable: try each(script.durableUpdates, raise)
    case .moveWorker: try each(script.moves) { try move($0.worker, to: $0.company) }
    case .deleteWorker: try each(script.dismissals, delete)
    default:
      try each(script.closures, dissolve)
      answer.addChanges(script.closures.count * (GraphData.companySize - 1))
    }
    return answer
  }

  private func run(_ sql: StaticString, _ first: Int64, _ second: Int64? = nil) throws {
    let statement = try often(sql)
    try statement.bind(1, first)
    if let second { try statement.bind(2, second) }
    try statement.run()
  }

  /// Reads and updates each worker separately, like a program with objects. Updates the sums of
  /// companies once. One statement for all rows is faster, but does not correspond to a save of
  /// objects.
  private func raiseAll() throws -> Int {
    let rows = try statement("SELECT \(columns), id FROM worker")
    var workers: [(values: WorkerValues, id: Int64)] = []
    while try rows.step() { workers.append((worker(rows), rows.int(7))) }
    for (values, id) in workers {
      try run("UPDATE worker SET salary = ?2 WHERE id = ?1", id, values.salary + 1)
    }
    try statement("UPDATE company SET salary_sum = salary_sum + worker_count").run()
    return workers.count
  }

  private func raise(_ number: Int) throws {
    let id = SQLGraphSettings.rowID(number)
    try run("UPDATE worker SET salary = salary + 1 WHERE id = ?", id)
    try run(
      "UPDATE company SET salary_sum = salary_sum + 1 WHERE id = (SELECT company FROM worker WHERE id = ?)",
      id)
  }

  /// Removes the worker from the totals of its company.
  private func leave(_ id: Int64) throws {
    try run(
      """
      UPDATE company SET worker_count = worker_count - 1, salary_sum = salary_sum - worker.salary
      FROM worker WHERE worker.id = ? AND company.id = worker.company
      """, id)
  }

  private func move(_ number: Int, to company: Int) throws {
    let (id, company) = (SQLGraphSettings.rowID(number), SQLGraphSettings.rowID(company))
    try leave(id)
    try run("UPDATE worker SET company = ?2 WHERE id = ?1", id, company)
    try run(
      """
      UPDATE company SET worker_count = worker_count + 1,
        salary_sum = salary_sum + (SELECT salary FROM worker WHERE id = ?1) WHERE id = ?2
      """, id, company)
  }

  private func delete(_ number: Int) throws {
    let id = SQLGraphSettings.rowID(number)
    try leave(id)
    try run("DELETE FROM worker_project WHERE worker = ?", id)
    try run("UPDATE worker SET manager = NULL WHERE manager = ?", id)
    try run("DELETE FROM worker WHERE id = ?", id)
  }

  private func dissolve(_ number: Int) throws {
    let id = SQLGraphSettings.rowID(number)
    try run("DELETE FROM worker_project WHERE worker IN (SELECT id FROM worker WHERE company = ?)", id)
    try run("DELETE FROM worker_project WHERE project IN (SELECT id FROM project WHERE company = ?)", id)
    try run(
      """
      UPDATE worker SET manager = NULL
      WHERE manager IN (SELECT id FROM worker WHERE company = ?1) AND company <> ?1
      """, id)
    try run("DELETE FROM project WHERE company = ?", id)
    try run("DELETE FROM worker WHERE company = ?", id)
    try run("DELETE FROM company WHERE id = ?", id)
  }
}

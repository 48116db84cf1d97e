extension SQLGraph {
  var columns: String { "first_name, last_name, email, salary, rating, hired, active" }

  /// The worker in the first columns of a row.
  func worker(_ row: Access.Statement) -> WorkerValues {
    WorkerValues(
      firstName: row.text(0) ?? "", lastName: row.text(1) ?? "", email: row.text(2) ?? "", salary: row.int(3),
      rating: row.double(4), hired: row.double(5), isActive: row.int(6) != 0)
  }

  func fetch<Wish>(
    _ condition: String, _ wishes: [Wish], _ bind: (Access.Statement, Wish) throws -> Void
  ) throws -> Answer {
    let statement = try statement("SELECT \(columns) FROM worker WHERE \(condition)")
    var answer = Answer()
    for wish in wishes {
      try bind(statement, wish)
      var found: [WorkerValues] = []
      while try statement.step() { found.append(worker(statement)) }
      for worker in found { answer.add(worker) }
    }
    return answer
  }

  /// Finds each worker in a separate transaction.
  func units(_ emails: [String]) throws -> Answer {
    let statement = try statement("SELECT \(columns) FROM worker WHERE email = ?")
    var answer = Answer()
    for email in emails {
      try opened().reading {
        try statement.bind(1, email)
        while try statement.step() { answer.add(worker(statement)) }
      }
    }
    return answer
  }

  func count() throws -> Answer {
    let statement = try statement("SELECT count(*) FROM worker WHERE rating > ? AND active = 1")
    try statement.bind(1, Double(data.workerCount) / 2)
    var answer = Answer()
    while try statement.step() { answer.add(counted: Int(statement.int(0)), among: data.workerCount) }
    return answer
  }

  /// Reads each company with two statements, instead of one statement for each worker.
  func traverse(_ companies: [Int]) throws -> Answer {
    let workers = try statement("SELECT \(columns) FROM worker WHERE company = ?")
    let projects = try statement(
      """
      SELECT title FROM worker JOIN worker_project ON worker_project.worker = worker.id
        JOIN project ON project.id = worker_project.project WHERE worker.company = ?
      """)
    var answer = Answer()
    for company in companies {
      try workers.bind(1, SQLGraphSettings.rowID(company))
      var found: [WorkerValues] = []
      while try workers.step() { found.append(worker(workers)) }
      for worker in found { answer.add(worker) }
      try projects.bind(1, SQLGraphSettings.rowID(company))
      while try projects.step() { answer.add(projects.text(0) ?? "") }
    }
    return answer
  }

  func managers(_ numbers: [Int]) throws -> Answer {
    let statement = try statement("SELECT \(columns), manager FROM worker WHERE id = ?")
    var answer = Answer()
    for number in numbers {
      // No row has the id 0. For a worker without a manager, the column reads as 0.
      var id = SQLGraphSettings.rowID(number)
      while id != 0 {
        try statement.bind(1, id)
        id = 0
        while try statement.step() {
          answer.add(worker(statement))
          id = statement.int(7)
        }
      }
    }
    return answer
  }

  func sums(_ sql: String) throws -> Answer {
    let statement = try statement(sql)
    var answer = Answer()
    for company in 0..<data.companyCount {
      try statement.bind(1, SQLGraphSettings.rowID(company))
      while try statement.step() {
        answer.add(count: Int(statement.int(0)), sum: statement.double(1), among: GraphData.companySize)
      }
    }
    return answer
  }

  func readContent() throws -> Answer {
    let workers = try statement(
      """
      SELECT w.first_name, w.last_name, w.email, w.salary, w.rating, w.hired, w.active, w.id, c.name, m.email
      FROM worker w LEFT JOIN company c ON c.id = w.company LEFT JOIN worker m ON m.id = w.manager
      """)
    let projects = try statement(
      "SELECT title FROM worker_project JOIN project ON project.id = project WHERE worker = ?")
    let companies = try statement("SELECT name, worker_count, salary_sum FROM company")
    let teams = try statement(
      "SELECT title, (SELECT count(*) FROM worker_project WHERE project = project.id) FROM project")
    var answer = Answer()
    while try workers.step() {
      var titles: [String] = []
      try projects.bind(1, workers.int(7))
      while try projects.step() { titles.append(projects.text(0) ?? "") }
      answer.add(worker(workers), company: workers.text(8), manager: workers.text(9), projects: titles)
    }
    while try companies.step() {
      answer.add(companies.text(0) ?? "")
      answer.add(count: Int(companies.int(1)), sum: companies.double(2), among: 1)
    }
    while try teams.step() { answer.add("\(teams.text(0) ?? ""): \(teams.int(1))") }
    return answer
  }
}

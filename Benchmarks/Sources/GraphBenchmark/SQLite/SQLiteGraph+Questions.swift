import SQLiteAccess

extension SQLiteGraph {
  private static let columns = "first_name, last_name, email, salary, rating, hired, active"

  /// The worker whose columns stand first in a row.
  private static func worker(_ row: SQLiteStatement) -> WorkerValues {
    WorkerValues(
      firstName: row.text(0) ?? "", lastName: row.text(1) ?? "", email: row.text(2) ?? "", salary: row.int(3),
      rating: row.double(4), hired: row.double(5), isActive: row.int(6) != 0)
  }

  func fetch<Wish>(
    _ condition: String, _ wishes: [Wish], _ bind: (SQLiteStatement, Wish) throws -> Void
  ) throws -> Answer {
    let statement = try statement("SELECT \(Self.columns) FROM worker WHERE \(condition)")
    var answer = Answer()
    for wish in wishes {
      try bind(statement, wish)
      while try statement.step() { answer.add(Self.worker(statement)) }
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

  func traverse(_ companies: [Int]) throws -> Answer {
    let workers = try statement("SELECT \(Self.columns), id FROM worker WHERE company = ?")
    let projects = try statement(
      "SELECT title FROM worker_project JOIN project ON project.id = project WHERE worker = ?")
    var answer = Answer()
    for company in companies {
      try workers.bind(1, Self.rowID(company))
      while try workers.step() {
        answer.add(Self.worker(workers))
        try projects.bind(1, workers.int(7))
        while try projects.step() { answer.add(projects.text(0) ?? "") }
      }
    }
    return answer
  }

  func managers(_ numbers: [Int]) throws -> Answer {
    let statement = try statement("SELECT salary, manager FROM worker WHERE id = ?")
    var answer = Answer()
    for number in numbers {
      var id: Int64? = Self.rowID(number)
      while let current = id {
        try statement.bind(1, current)
        id = nil
        while try statement.step() {
          answer.add(statement.int(0))
          id = statement.int(1) == 0 ? nil : statement.int(1)
        }
      }
    }
    return answer
  }

  func sums(_ sql: String) throws -> Answer {
    let statement = try statement(sql)
    var answer = Answer()
    for company in 0..<data.companyCount {
      try statement.bind(1, Self.rowID(company))
      while try statement.step() {
        let (count, salaries) = (Int(statement.int(0)), Int(statement.int(1)))
        answer.add(counted: count &* 1_000_003 &+ salaries, among: GraphData.companySize)
      }
    }
    return answer
  }

  func content() throws -> Answer {
    let workers = try statement(
      """
      SELECT w.first_name, w.last_name, w.email, w.salary, w.rating, w.hired, w.active, w.id, c.name, m.email
      FROM worker w LEFT JOIN company c ON c.id = w.company LEFT JOIN worker m ON m.id = w.manager
      """)
    let projects = try statement(
      "SELECT title FROM worker_project JOIN project ON project.id = project WHERE worker = ?")
    var answer = Answer()
    while try workers.step() {
      var titles: [String] = []
      try projects.bind(1, workers.int(7))
      while try projects.step() { titles.append(projects.text(0) ?? "") }
      answer.add(Self.worker(workers), company: workers.text(8), manager: workers.text(9), projects: titles)
    }
    return answer
  }
}

import Foundation

/// The graph in SQLite, with statements that are prepared once.
final class SQLGraph<Access: SQLAccess>: GraphEngine {
  static var name: String { Access.engineName }
  static var settings: String { Access.settings }
  static var workloads: [Workload] { Workload.allCases }

  let data: GraphData
  private let path: String
  private var connection: Access?
  private var statements: [String: Access.Statement] = [:]
  /// The statements that run for each row, by the address of their text. Hashing the text takes
  /// measurable time.
  private var oftenRun: [UnsafePointer<UInt8>: Access.Statement] = [:]

  init(folder: URL, data: GraphData) throws {
    self.data = data
    path = folder.appendingPathComponent("graph.sqlite").path
  }

  func open(_ durability: SaveDurability) throws {
    let connection = try Access(path: path)
    try connection.access {
      for pragma in SQLGraphSettings.pragmas(durability) { try connection.execute(pragma) }
      try connection.execute(SQLGraphSettings.schema)
    }
    self.connection = connection
  }

  func close() throws {
    (statements, oftenRun) = ([:], [:])
    guard let connection else { return }
    try connection.access { try connection.execute("PRAGMA optimize") }
    try connection.close()
    self.connection = nil
  }

  func opened() throws -> Access {
    guard let connection else { throw GraphClosed() }
    return connection
  }

  /// The statement for a text, which is prepared once.
  func statement(_ sql: String) throws -> Access.Statement {
    if let found = statements[sql] { return found }
    let made = try opened().prepare(sql)
    statements[sql] = made
    return made
  }

  func often(_ sql: StaticString) throws -> Access.Statement {
    if let found = oftenRun[sql.utf8Start] { return found }
    let made = try opened().prepare("\(sql)")
    oftenRun[sql.utf8Start] = made
    return made
  }

  func prepare(_ workload: Workload, _ script: Script) {}

  func perform(_ workload: Workload, _ script: Script) throws -> Answer {
    if workload == .open { try open(.process) }
    if workload == .close {
      try close()
      return .ofOneChange
    }
    let access = try opened()
    return try access.access {
      if workload == .units { return try units(script.units) }
      if workload.isChange { return try answer(workload, script) }
      return try access.reading { try answer(workload, script) }
    }
  }

  func content() throws -> Answer { try opened().access { try readContent() } }

  private func answer(_ workload: Workload, _ script: Script) throws -> Answer {
    switch workload {
    case .insert: try insert()
    case .getByID: try fetch("id = ?", script.gets) { try $0.bind(1, SQLGraphSettings.rowID($1)) }
    case .getByEmail: try fetch("email = ?", script.emails) { try $0.bind(1, $1) }
    case .fetchEqual: try fetch("last_name = ?", script.names) { try $0.bind(1, $1) }
    case .fetchRange:
      try fetch("salary >= ? AND salary < ?", script.salaries) { statement, low in
        try statement.bind(1, low)
        try statement.bind(2, low + 10)
      }
    case .fetchPrefix:
      try fetch("last_name >= ? AND last_name < ?", script.prefixes) { statement, prefix in
        try statement.bind(1, prefix)
        try statement.bind(2, prefix + "\u{10FFFF}")
      }
    case .fetchEither:
      try fetch("last_name = ? OR salary >= ? AND salary < ?", script.pairs) { statement, pair in
        try statement.bind(1, pair.name)
        try statement.bind(2, pair.salary)
        try statement.bind(3, pair.salary + 10)
      }
    case .countByPredicate: try count()
    case .materialise: try fetch("1", [()]) { _, _ in }
    case .traverse, .traverseAgain: try traverse(script.companies)
    case .managers: try managers(script.chains)
    case .sumComputed: try sums("SELECT count(*), sum(rating) FROM worker WHERE company = ?")
    case .sumKept: try sums("SELECT worker_count, salary_sum FROM company WHERE id = ?")
    case .sortIndexed: try fetch("1 ORDER BY email LIMIT 100", [()]) { _, _ in }
    case .sortUnindexed: try fetch("1 ORDER BY rating LIMIT 100", [()]) { _, _ in }
    case .firstFiltered: try fetch("active = 1 ORDER BY salary, rating LIMIT 20", [()]) { _, _ in }
    case .deepOffset:
      try fetch("1 ORDER BY email LIMIT 100 OFFSET ?", [data.workerCount / 2]) { try $0.bind(1, Int64($1)) }
    case .updateAll, .findOrCreate, .updateEach, .updateEachDurable, .moveWorker, .deleteWorker,
      .deleteCompany:
      try change(workload, script)
    case .units, .close: Answer()
    case .open: try fetch("email = ?", [data.workers[0].email]) { try $0.bind(1, $1) }
    }
  }
}

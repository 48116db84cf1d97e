import CSQLite
import Foundation
import SQLiteAccess

/// The graph in SQLite through its C API: prepared statements, WAL, covering indexes for the links, and the number and the sum of a
/// company's workers kept by whoever writes, once a save, as no trigger could do faster.
final class SQLiteGraph: GraphEngine {
  static let name = "SQLite"
  static let settings =
    "\(String(cString: sqlite3_libversion())), C API, prepared statements, WAL, 64 MiB of pages, memory mapping"
  static let workloads = Workload.allCases

  let data: GraphData
  private let path: String
  private var connection: SQLiteConnection?
  private var statements: [String: SQLiteStatement] = [:]

  init(folder: URL, data: GraphData) throws {
    self.data = data
    path = folder.appendingPathComponent("graph.sqlite").path
  }

  func open(_ durability: SaveDurability) throws {
    let connection = try SQLiteConnection(path: path)
    let pragmas = [
      "journal_mode = WAL", "synchronous = \(durability == .power ? "FULL" : "NORMAL")",
      "cache_size = -65536", "mmap_size = 4294967296", "temp_store = MEMORY",
    ]
    for pragma in pragmas { try connection.execute("PRAGMA " + pragma) }
    try connection.execute(Self.schema)
    self.connection = connection
  }

  func close() throws {
    statements = [:]
    try connection?.execute("PRAGMA optimize")
    try connection?.close()
    connection = nil
  }

  /// Made once for each text.
  func statement(_ sql: String) throws -> SQLiteStatement {
    if let found = statements[sql] { return found }
    guard let connection else { throw GraphClosed() }
    let made = try connection.prepare(sql)
    statements[sql] = made
    return made
  }

  func inTransaction<Value>(_ body: () throws -> Value) throws -> Value {
    try statement("BEGIN IMMEDIATE").run()
    do {
      let value = try body()
      try statement("COMMIT").run()
      return value
    } catch {
      try statement("ROLLBACK").run()
      throw error
    }
  }

  func perform(_ workload: Workload, _ script: Script) throws -> Answer {
    switch workload {
    case .insert: return try insert()
    case .getByID: return try fetch("id = ?", script.gets.map(Self.rowID)) { try $0.bind(1, $1) }
    case .getByEmail: return try fetch("email = ?", script.emails.map { data.email($0) }) { try $0.bind(1, $1) }
    case .fetchEqual: return try fetch("last_name = ?", script.names) { try $0.bind(1, $1) }
    case .fetchRange:
      return try fetch("salary >= ? AND salary < ?", script.salaries) { statement, low in
        try statement.bind(1, low)
        try statement.bind(2, low + 10)
      }
    case .fetchPrefix:
      return try fetch("last_name >= ? AND last_name < ?", script.prefixes) { statement, prefix in
        try statement.bind(1, prefix)
        try statement.bind(2, prefix + "\u{10FFFF}")
      }
    case .countByPredicate: return try count()
    case .materialise: return try fetch("1", [()]) { _, _ in }
    case .traverse, .traverseAgain: return try traverse(script.companies)
    case .managers: return try managers(script.chains)
    case .sumComputed:
      return try sums("SELECT count(*), sum(salary) FROM worker WHERE company = ?")
    case .sumDerived: return try sums("SELECT worker_count, salary_sum FROM company WHERE id = ?")
    case .sortIndexed: return try fetch("1 ORDER BY email LIMIT 100", [()]) { _, _ in }
    case .sortUnindexed: return try fetch("1 ORDER BY rating LIMIT 100", [()]) { _, _ in }
    case .updateAll, .updateEach, .updateEachDurable, .moveWorker, .deleteWorker, .deleteCompany:
      return try change(workload, script)
    case .open:
      try open(.process)
      return try fetch("email = ?", [data.email(0)]) { try $0.bind(1, $1) }
    }
  }

  /// Rows are numbered as workers, companies and projects are, from 1.
  static func rowID(_ number: Int) -> Int64 { Int64(number + 1) }

  private static let schema = """
    CREATE TABLE IF NOT EXISTS company(
      id INTEGER PRIMARY KEY, name TEXT NOT NULL, worker_count INTEGER NOT NULL, salary_sum INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS worker(
      id INTEGER PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT NOT NULL, email TEXT NOT NULL,
      salary INTEGER NOT NULL, rating REAL NOT NULL, hired REAL NOT NULL, active INTEGER NOT NULL,
      company INTEGER, manager INTEGER);
    CREATE TABLE IF NOT EXISTS project(id INTEGER PRIMARY KEY, title TEXT NOT NULL, company INTEGER);
    CREATE TABLE IF NOT EXISTS worker_project(
      worker INTEGER, project INTEGER, PRIMARY KEY (worker, project)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS project_worker ON worker_project(project, worker);
    CREATE UNIQUE INDEX IF NOT EXISTS worker_email ON worker(email);
    CREATE INDEX IF NOT EXISTS worker_last_name ON worker(last_name);
    CREATE INDEX IF NOT EXISTS worker_salary ON worker(salary);
    CREATE INDEX IF NOT EXISTS worker_company ON worker(company);
    CREATE INDEX IF NOT EXISTS worker_manager ON worker(manager);
    CREATE INDEX IF NOT EXISTS project_company ON project(company);
    """
}

/// The settings that all engines on SQLite share, so that only their queries differ.
enum SQLGraphSettings {
  static let text =
    "foreign keys, WAL, synchronous NORMAL (FULL where durable), 64 MiB of pages, 4 GiB mapped"

  static func pragmas(_ durability: SaveDurability) -> [String] {
    [
      // In both cases, commits survive the end of the process. With FULL, they also survive a power
      // cut.
      "PRAGMA journal_mode = WAL", "PRAGMA synchronous = \(durability == .power ? "FULL" : "NORMAL")",
      "PRAGMA cache_size = -65536", "PRAGMA mmap_size = 4294967296", "PRAGMA temp_store = MEMORY",
      "PRAGMA foreign_keys = ON",
    ]
  }

  /// The program maintains the number of a company's workers and the sum of their salaries, because
  /// triggers are not faster. The id of a row is one more than the number of its worker, company or
  /// project. At the end of a transaction, the database checks that the target of every reference
  /// exists. Perdure does the same.
  static let schema = """
    CREATE TABLE IF NOT EXISTS company(
      id INTEGER PRIMARY KEY, name TEXT NOT NULL, worker_count INTEGER NOT NULL, salary_sum INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS worker(
      id INTEGER PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT NOT NULL, email TEXT NOT NULL,
      salary INTEGER NOT NULL, rating REAL NOT NULL, hired REAL NOT NULL, active INTEGER NOT NULL,
      company INTEGER REFERENCES company(id) DEFERRABLE INITIALLY DEFERRED,
      manager INTEGER REFERENCES worker(id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE IF NOT EXISTS project(
      id INTEGER PRIMARY KEY, title TEXT NOT NULL,
      company INTEGER REFERENCES company(id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE IF NOT EXISTS worker_project(
      worker INTEGER REFERENCES worker(id) DEFERRABLE INITIALLY DEFERRED,
      project INTEGER REFERENCES project(id) DEFERRABLE INITIALLY DEFERRED,
      PRIMARY KEY (worker, project)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS project_worker ON worker_project(project, worker);
    CREATE UNIQUE INDEX IF NOT EXISTS worker_email ON worker(email);
    CREATE INDEX IF NOT EXISTS worker_last_name ON worker(last_name);
    CREATE INDEX IF NOT EXISTS worker_salary ON worker(salary);
    CREATE INDEX IF NOT EXISTS worker_company ON worker(company);
    CREATE INDEX IF NOT EXISTS worker_manager ON worker(manager);
    CREATE INDEX IF NOT EXISTS project_company ON project(company);
    """

  static func rowID(_ number: Int) -> Int64 { Int64(number + 1) }
}

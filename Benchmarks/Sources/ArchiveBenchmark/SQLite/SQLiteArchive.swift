import CSQLite
import DebianIndexReading
import Foundation
import SQLiteAccess

/// The archive in SQLite through its C API, with prepared statements, WAL, and one transaction for
/// each batch.
///
/// Dictionaries contain the ids of the names, maintainers, sections and tags that this process has
/// used. No faster import is known. Any program can import in this way.
final class SQLiteArchive: ArchiveEngine {
  static let name = "SQLite"
  static func settings(_ durability: Durability) -> String {
    "\(String(cString: sqlite3_libversion())), C API, prepared statements, "
      + pragmas(durability).joined(separator: ", ")
  }
  static let closureMethods = ["recursive CTE", "CTE over packages", "statement per node"]

  private let folder: URL
  private let durability: Durability
  private var open: OpenArchive?

  init(folder: URL, durability: Durability, packageNames: Set<String> = []) throws {
    self.folder = folder
    self.durability = durability
    try reopen()
  }

  func reopen() throws {
    let connection = try SQLiteConnection(path: folder.appendingPathComponent("archive.sqlite").path)
    for pragma in Self.pragmas(durability) { try connection.execute("PRAGMA " + pragma) }
    try connection.execute(SQLiteSchema.statements)
    open = OpenArchive(connection: connection)
  }

  private static func pragmas(_ durability: Durability) -> [String] {
    [
      "journal_mode = WAL", "synchronous = \(durability == .full ? "FULL" : "NORMAL")", "cache_size = -65536",
      "mmap_size = 1073741824", "temp_store = MEMORY",
    ]
  }

  func finish() throws {
    try open?.connection.execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA optimize;")
    try open?.connection.close()
    open = nil
  }

  func importBatch(_ records: [PackageRecord]) throws {
    let archive = try opened()
    try archive.connection.execute("BEGIN IMMEDIATE")
    do {
      let writer = try archive.writer()
      for record in records { try writer.insert(record) }
      try archive.connection.execute("COMMIT")
    } catch {
      // The ids that this transaction assigned are invalid. So the writer is dropped, because it
      // caches them.
      archive.dropWriter()
      try archive.connection.execute("ROLLBACK")
      throw error
    }
  }

  func closure(of packageName: String, method: String) throws -> [Int64] {
    let archive = try opened()
    switch method {
    case Self.closureMethods[0]: return try archive.traversal().overNamesAndPackages(from: packageName)
    case Self.closureMethods[1]: return try archive.traversal().overPackages(from: packageName)
    default: return try archive.traversal().statementPerNode(from: packageName)
    }
  }

  func digest(of closure: [Int64]) throws -> ArchiveDigest { try opened().reader().digest(ofKeys: closure) }

  func resultDigest() throws -> ArchiveDigest { try opened().reader().digest() }

  private func opened() throws -> OpenArchive {
    guard let open else { throw SQLiteError(code: 0, message: "The archive is closed") }
    return open
  }
}

/// A connection and its sets of prepared statements. Each set is prepared when it is first needed.
private final class OpenArchive {
  let connection: SQLiteConnection
  private var preparedWriter: SQLiteWriter?
  private var preparedTraversal: SQLiteTraversal?
  private var preparedReader: SQLiteReader?

  init(connection: SQLiteConnection) { self.connection = connection }

  func writer() throws -> SQLiteWriter {
    let writer = try preparedWriter ?? SQLiteWriter(connection)
    preparedWriter = writer
    return writer
  }

  func dropWriter() { preparedWriter = nil }

  func traversal() throws -> SQLiteTraversal {
    let traversal = try preparedTraversal ?? SQLiteTraversal(connection)
    preparedTraversal = traversal
    return traversal
  }

  func reader() throws -> SQLiteReader {
    let reader = try preparedReader ?? SQLiteReader(connection)
    preparedReader = reader
    return reader
  }
}

/// The model as tables. Every relationship has an index for its inverse direction.
enum SQLiteSchema {
  static let statements = """
    CREATE TABLE IF NOT EXISTS name (
      id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, is_package INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS maintainer (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL, address TEXT NOT NULL, UNIQUE (name, address));
    CREATE TABLE IF NOT EXISTS section (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE IF NOT EXISTS tag (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE IF NOT EXISTS package (
      id INTEGER PRIMARY KEY,
      name_id INTEGER NOT NULL REFERENCES name, version TEXT NOT NULL, architecture TEXT NOT NULL,
      maintainer_id INTEGER REFERENCES maintainer, section_id INTEGER REFERENCES section,
      source TEXT, priority TEXT, summary TEXT, homepage TEXT, installed_size INTEGER, size INTEGER,
      UNIQUE (name_id, version, architecture));
    CREATE INDEX IF NOT EXISTS package_maintainer ON package (maintainer_id);
    CREATE INDEX IF NOT EXISTS package_section ON package (section_id);
    CREATE TABLE IF NOT EXISTS package_tag (
      package_id INTEGER NOT NULL REFERENCES package, tag_id INTEGER NOT NULL REFERENCES tag,
      PRIMARY KEY (package_id, tag_id)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS tag_package ON package_tag (tag_id, package_id);
    CREATE TABLE IF NOT EXISTS dependency (
      id INTEGER PRIMARY KEY,
      package_id INTEGER NOT NULL REFERENCES package, kind INTEGER NOT NULL, clause INTEGER NOT NULL,
      position INTEGER NOT NULL, target_id INTEGER NOT NULL REFERENCES name,
      architecture TEXT, relation TEXT, version TEXT);
    CREATE INDEX IF NOT EXISTS dependency_package ON dependency (package_id, kind, target_id);
    CREATE INDEX IF NOT EXISTS dependency_target ON dependency (target_id, kind, package_id);
    """
}

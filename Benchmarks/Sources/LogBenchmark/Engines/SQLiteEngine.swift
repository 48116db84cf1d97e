import CLogFloor
import CSQLite

/// SQLite with one table, a write-ahead log, statements that are prepared once, and a connection
/// for each thread.
// Unchecked: threads have separate connections. `isDurable` changes only while no thread writes.
final class SQLiteEngine: LogEngine, @unchecked Sendable {
  static let name = "SQLite"
  static let isOrdered = true
  static let readsWhileWriting = true
  static let settings = """
    WAL, synchronous OFF (FULL if durable), WITHOUT ROWID for hashed keys and INTEGER PRIMARY KEY for ids, \
    page cache of 256 MiB, mmap of 8 GiB; has no checksums on pages
    """

  fileprivate let path: String
  fileprivate let shape: Shape
  fileprivate var isDurable = false
  private let keeper: SQLiteConnection

  init(in folder: String, _ shape: Shape) throws {
    path = folder + "/store.sqlite"
    self.shape = shape
    keeper = try SQLiteConnection(path, isDurable: false)
    let key = shape.keyKind == .hashed ? "k BLOB PRIMARY KEY" : "k INTEGER PRIMARY KEY"
    let tail = shape.keyKind == .hashed ? " WITHOUT ROWID" : ""
    try keeper.run("CREATE TABLE IF NOT EXISTS records(\(key), v BLOB NOT NULL)\(tail)")
  }

  func setDurable(_ isDurable: Bool) { self.isDurable = isDurable }
  func makeView() throws -> SQLiteView { try SQLiteView(self) }
  func makeWriter() throws -> SQLiteWriter { try SQLiteWriter(self) }
  func close() { keeper.close() }
}

struct SQLiteConnection {
  fileprivate let handle: OpaquePointer

  fileprivate init(_ path: String, isDurable: Bool) throws {
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    let code = sqlite3_open_v2(path, &handle, flags, nil)
    guard code == SQLITE_OK, let handle else { throw EngineError("sqlite3_open_v2: \(code)") }
    self.handle = handle
    sqlite3_busy_timeout(handle, 60_000)
    try run("PRAGMA journal_mode = WAL")
    try run("PRAGMA synchronous = \(isDurable ? "FULL" : "OFF")")
    try run("PRAGMA cache_size = -262144")
    try run("PRAGMA mmap_size = 8589934592")
  }

  func run(_ text: String) throws { try check(sqlite3_exec(handle, text, nil, nil, nil)) }

  func prepare(_ text: String) throws -> OpaquePointer {
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
    guard let statement else { throw EngineError("SQLite prepared no statement from \(text)") }
    return statement
  }

  @inline(__always)
  func check(_ code: Int32) throws {
    guard code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE else { return }
    throw EngineError(String(cString: sqlite3_errmsg(handle)))
  }

  /// Runs a statement that returns no rows.
  func step(_ statement: OpaquePointer) throws {
    try check(sqlite3_step(statement))
    try check(sqlite3_reset(statement))
  }

  func close() { sqlite3_close_v2(handle) }
}

extension Shape {
  @inline(__always)
  fileprivate func bind(_ key: UnsafePointer<log_key>, to statement: OpaquePointer, at place: Int32) {
    if keyKind == .dense {
      sqlite3_bind_int64(statement, place, Int64(bitPattern: key.pointee.first))
    } else {
      sqlite3_bind_blob(statement, place, key, 16, nil)
    }
  }

  @inline(__always)
  fileprivate func key(in statement: OpaquePointer) -> log_key {
    if keyKind == .dense {
      return log_key(first: UInt64(bitPattern: sqlite3_column_int64(statement, 0)), second: 0)
    }
    guard let bytes = sqlite3_column_blob(statement, 0) else { return log_key() }
    return log_key(bytes: bytes)
  }
}

struct SQLiteView: WalkingView {
  private let connection: SQLiteConnection
  private let shape: Shape
  private let get: OpaquePointer
  private let getMany: OpaquePointer
  private let all: OpaquePointer
  private let from: OpaquePointer
  private var snapshot: [OpaquePointer] = []
  private static let manyCount = 64

  fileprivate init(_ engine: SQLiteEngine) throws {
    connection = try SQLiteConnection(engine.path, isDurable: false)
    shape = engine.shape
    get = try connection.prepare("SELECT v FROM records WHERE k = ?")
    let places = Array(repeating: "?", count: Self.manyCount).joined(separator: ",")
    getMany = try connection.prepare("SELECT v FROM records WHERE k IN (\(places))")
    all = try connection.prepare("SELECT k, v FROM records ORDER BY k")
    from = try connection.prepare("SELECT k, v FROM records WHERE k >= ? ORDER BY k")
    try connection.run("BEGIN")
  }

  mutating func read(_ key: log_key) throws -> UInt64? {
    try withUnsafePointer(to: key) { key in
      shape.bind(key, to: get, at: 1)
      defer { sqlite3_reset(get) }
      let code = sqlite3_step(get)
      guard code == SQLITE_ROW else {
        try connection.check(code)
        return nil
      }
      return log_fold(sqlite3_column_blob(get, 0), Int(sqlite3_column_bytes(get, 0)))
    }
  }

  mutating func readMany(_ keys: [log_key]) throws -> UInt64 {
    precondition(keys.count == Self.manyCount, "The statement must have a parameter for each key.")
    return try keys.withUnsafeBufferPointer { keys in
      var sum: UInt64 = 0
      var place: Int32 = 0
      for index in keys.indices {
        place += 1
        guard let start = keys.baseAddress else { break }
        shape.bind(start + index, to: getMany, at: place)
      }
      defer { sqlite3_reset(getMany) }
      var code = sqlite3_step(getMany)
      while code == SQLITE_ROW {
        sum &+= log_fold(sqlite3_column_blob(getMany, 0), Int(sqlite3_column_bytes(getMany, 0)))
        code = sqlite3_step(getMany)
      }
      try connection.check(code)
      return sum
    }
  }

  /// Takes a snapshot by a read, because a transaction's snapshot begins with its first read.
  mutating func takeSnapshot() throws {
    if snapshot.isEmpty {
      try advance()
      snapshot = try ["BEGIN", "SELECT 1 FROM records LIMIT 1", "COMMIT"].map(connection.prepare)
    }
    for statement in snapshot { try connection.step(statement) }
  }

  mutating func advance() throws {
    // Outside a transaction every statement sees the newest state.
    if sqlite3_get_autocommit(connection.handle) == 0 { try connection.run("COMMIT") }
  }

  mutating func end() {
    for statement in [get, getMany, all, from] + snapshot { sqlite3_finalize(statement) }
    connection.close()
  }

  @inline(__always)
  func walk(from key: log_key?, _ body: (log_key, UnsafeRawPointer?, Int) -> Bool) throws {
    try withUnsafePointer(to: key ?? log_key()) { start in
      let statement = key == nil ? all : from
      if key != nil { shape.bind(start, to: from, at: 1) }
      defer { sqlite3_reset(statement) }
      var code = sqlite3_step(statement)
      while code == SQLITE_ROW {
        let (value, length) = (sqlite3_column_blob(statement, 1), Int(sqlite3_column_bytes(statement, 1)))
        guard body(shape.key(in: statement), value, length) else { return }
        code = sqlite3_step(statement)
      }
      try connection.check(code)
    }
  }
}

struct SQLiteWriter: EngineWriter {
  private let connection: SQLiteConnection
  private let shape: Shape
  private let put: OpaquePointer
  private let remove: OpaquePointer
  private let begin: OpaquePointer
  private let commit: OpaquePointer

  fileprivate init(_ engine: SQLiteEngine) throws {
    connection = try SQLiteConnection(engine.path, isDurable: engine.isDurable)
    shape = engine.shape
    put = try connection.prepare("INSERT OR REPLACE INTO records(k, v) VALUES(?, ?)")
    remove = try connection.prepare("DELETE FROM records WHERE k = ?")
    begin = try connection.prepare("BEGIN IMMEDIATE")
    commit = try connection.prepare("COMMIT")
  }

  mutating func commit(_ operations: UnsafeBufferPointer<log_operation>) throws {
    // A single statement is a transaction without BEGIN and COMMIT.
    if operations.count > 1 { try connection.step(begin) }
    guard let start = operations.baseAddress else { return }
    for index in operations.indices { try execute(start + index) }
    if operations.count > 1 { try connection.step(commit) }
  }

  mutating func end() {
    for statement in [put, remove, begin, commit] { sqlite3_finalize(statement) }
    connection.close()
  }

  private func execute(_ operation: UnsafePointer<log_operation>) throws {
    // The key is the operation's first field.
    let key = UnsafeRawPointer(operation).assumingMemoryBound(to: log_key.self)
    guard let value = operation.pointee.value else {
      shape.bind(key, to: remove, at: 1)
      return try connection.step(remove)
    }
    shape.bind(key, to: put, at: 1)
    sqlite3_bind_blob(put, 2, value, Int32(operation.pointee.length), nil)
    try connection.step(put)
  }
}

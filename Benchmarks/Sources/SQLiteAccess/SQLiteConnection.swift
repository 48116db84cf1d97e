import CSQLite

/// An error of SQLite with its message.
package struct SQLiteError: Error, CustomStringConvertible {
  package var code: Int32
  package var message: String

  package init(code: Int32, message: String) {
    (self.code, self.message) = (code, message)
  }

  package var description: String { "SQLite error \(code): \(message)" }
}

/// A database and its prepared statements.
package final class SQLiteConnection {
  private var handle: OpaquePointer?
  private var statements: [SQLiteStatement] = []

  /// The version of the library.
  package static var libraryVersion: String { String(cString: sqlite3_libversion()) }

  package init(path: String) throws {
    let code = sqlite3_open_v2(
      path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK else {
      defer { sqlite3_close_v2(handle) }
      throw SQLiteError(code: code, message: "The database cannot be opened")
    }
  }

  deinit { sqlite3_close_v2(handle) }

  /// Runs statements whose rows are not needed.
  package func execute(_ sql: String) throws { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

  package func prepare(_ sql: String) throws -> SQLiteStatement {
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
    guard let statement else { throw SQLiteError(code: SQLITE_MISUSE, message: "An empty statement") }
    let prepared = SQLiteStatement(handle: statement, connection: self)
    statements.append(prepared)
    return prepared
  }

  package var lastInsertedID: Int64 { sqlite3_last_insert_rowid(handle) }
  package var changeCount: Int { Int(sqlite3_changes(handle)) }

  /// Finalizes all statements and closes the database. No statement may be used afterwards.
  package func close() throws {
    for statement in statements { statement.finalize() }
    statements = []
    try check(sqlite3_close(handle))
    handle = nil
  }

  fileprivate func check(_ code: Int32) throws {
    guard code != SQLITE_OK else { return }
    throw SQLiteError(code: code, message: String(cString: sqlite3_errmsg(handle)))
  }
}

/// A prepared statement. The order of calls is: bind, step, read the columns, reset.
package final class SQLiteStatement {
  private var handle: OpaquePointer?
  private unowned let connection: SQLiteConnection

  fileprivate init(handle: OpaquePointer, connection: SQLiteConnection) {
    self.handle = handle
    self.connection = connection
  }

  fileprivate func finalize() {
    sqlite3_finalize(handle)
    handle = nil
  }

  package func bind(_ index: Int32, _ value: Int64?) throws {
    if let value {
      try connection.check(sqlite3_bind_int64(handle, index, value))
    } else {
      try connection.check(sqlite3_bind_null(handle, index))
    }
  }

  package func bind(_ index: Int32, _ value: Double) throws {
    try connection.check(sqlite3_bind_double(handle, index, value))
  }

  package func bind(_ index: Int32, _ value: String?) throws {
    guard var value else { return try bind(index, nil as Int64?) }
    let code = value.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        sqlite3_bind_text(handle, index, $0.baseAddress, Int32($0.count), perdure_sqlite3_transient())
      }
    }
    try connection.check(code)
  }

  /// Advances to the next row. Returns false if there is none; the statement can then be bound
  /// again.
  package func step() throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE:
      sqlite3_reset(handle)
      return false
    case let code:
      try connection.check(sqlite3_reset(handle))
      throw SQLiteError(code: code, message: "A step of a statement failed")
    }
  }

  /// Runs a statement that returns no rows.
  package func run() throws { while try step() {} }

  /// Skips the remaining rows.
  package func reset() { sqlite3_reset(handle) }

  package func int(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  package func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

  /// The text of a column; nil for NULL.
  package func text(_ column: Int32) -> String? {
    guard let start = sqlite3_column_text(handle, column) else { return nil }
    let count = Int(sqlite3_column_bytes(handle, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }
}

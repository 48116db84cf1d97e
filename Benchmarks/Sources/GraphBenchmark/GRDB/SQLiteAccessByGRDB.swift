import GRDB

/// SQLite through the fastest interface of GRDB. The statements are those of the C engine, and are
/// prepared once. Columns are read by number, without records.
final class SQLiteAccessByGRDB: SQLAccess {
  static let engineName = "GRDB SQL"
  static let settings = "7, prepared statements and columns by number, \(SQLGraphSettings.text)"

  private let queue: DatabaseQueue
  /// The database during an access.
  private var database: Database?

  init(path: String) throws { queue = try DatabaseQueue(path: path) }

  func close() throws { try queue.close() }

  func access<Value>(_ body: () throws -> Value) throws -> Value {
    try queue.writeWithoutTransaction { database in
      self.database = database
      defer { self.database = nil }
      return try body()
    }
  }

  func execute(_ sql: String) throws { try opened().execute(sql: sql) }

  func prepare(_ sql: String) throws -> GRDBStatement { GRDBStatement(try opened().makeStatement(sql: sql)) }

  func inTransaction(_ body: () throws -> Void) throws {
    try opened().inTransaction(.immediate) {
      try body()
      return .commit
    }
  }

  func reading<Value>(_ body: () throws -> Value) throws -> Value {
    var value: Value?
    try opened().inTransaction(.deferred) {
      value = try body()
      return .commit
    }
    guard let value else { throw GraphClosed() }
    return value
  }

  private func opened() throws -> Database {
    guard let database else { throw GraphClosed() }
    return database
  }
}

/// A GRDB statement with its current arguments.
final class GRDBStatement: SQLStatement {
  private let statement: Statement
  private var arguments: [DatabaseValue] = []
  private var rows: RowCursor?
  private var row = Row()

  init(_ statement: Statement) { self.statement = statement }

  func bind(_ index: Int32, _ value: Int64?) { bind(index, value?.databaseValue) }
  func bind(_ index: Int32, _ value: Double) { bind(index, value.databaseValue) }
  func bind(_ index: Int32, _ value: String?) { bind(index, value?.databaseValue) }

  private func bind(_ index: Int32, _ value: DatabaseValue?) {
    while arguments.count < Int(index) { arguments.append(.null) }
    arguments[Int(index) - 1] = value ?? .null
  }

  func run() throws {
    statement.setUncheckedArguments(StatementArguments(arguments))
    try statement.execute()
  }

  func step() throws -> Bool {
    let cursor: RowCursor
    if let rows {
      cursor = rows
    } else {
      statement.setUncheckedArguments(StatementArguments(arguments))
      cursor = try Row.fetchCursor(statement)
      rows = cursor
    }
    guard let next = try cursor.next() else {
      rows = nil
      return false
    }
    row = next
    return true
  }

  func int(_ column: Int32) -> Int64 { row[Int(column)] ?? 0 }
  func double(_ column: Int32) -> Double { row[Int(column)] ?? 0 }
  func text(_ column: Int32) -> String? { row[Int(column)] }
}

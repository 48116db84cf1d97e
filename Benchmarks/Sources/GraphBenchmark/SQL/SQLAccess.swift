import SQLiteAccess

/// A prepared statement of any library: bind, step, read. It can be bound again when its rows are
/// at an end.
protocol SQLStatement: AnyObject {
  /// Binds a value to the parameter with a number, from 1 on. Every one is bound before the first
  /// step.
  func bind(_ index: Int32, _ value: Int64?) throws
  func bind(_ index: Int32, _ value: Double) throws
  func bind(_ index: Int32, _ value: String?) throws

  /// Moves to the next row; false when there is none.
  func step() throws -> Bool
  /// Runs a statement that gives no rows.
  func run() throws

  /// A column of the row, from 0 on.
  func int(_ column: Int32) -> Int64
  func double(_ column: Int32) -> Double
  func text(_ column: Int32) -> String?
}

/// A way to SQLite.
protocol SQLAccess: AnyObject {
  associatedtype Statement: SQLStatement
  static var engineName: String { get }
  static var settings: String { get }

  init(path: String) throws
  func close() throws
  /// Everything else happens in here.
  func access<Value>(_ body: () throws -> Value) throws -> Value
  /// Runs statements that give no rows worth keeping.
  func execute(_ sql: String) throws
  func prepare(_ sql: String) throws -> Statement
  func inTransaction(_ body: () throws -> Void) throws
  /// One state for all statements in it; a statement by itself locks and unlocks.
  func reading<Value>(_ body: () throws -> Value) throws -> Value
}

extension SQLiteStatement: SQLStatement {}

/// SQLite through its C API.
final class SQLiteAccessByC: SQLAccess {
  static let engineName = "SQLite"
  static var settings: String {
    "\(SQLiteConnection.libraryVersion), C API, prepared statements, \(SQLGraphSettings.text)"
  }

  private let connection: SQLiteConnection
  private let begin: SQLiteStatement
  private let beginReading: SQLiteStatement
  private let commit: SQLiteStatement
  private let rollback: SQLiteStatement

  init(path: String) throws {
    connection = try SQLiteConnection(path: path)
    begin = try connection.prepare("BEGIN IMMEDIATE")
    beginReading = try connection.prepare("BEGIN")
    commit = try connection.prepare("COMMIT")
    rollback = try connection.prepare("ROLLBACK")
  }

  func close() throws { try connection.close() }

  func access<Value>(_ body: () throws -> Value) throws -> Value { try body() }

  func execute(_ sql: String) throws { try connection.execute(sql) }

  func prepare(_ sql: String) throws -> SQLiteStatement { try connection.prepare(sql) }

  func inTransaction(_ body: () throws -> Void) throws { try within(begin, body) }

  func reading<Value>(_ body: () throws -> Value) throws -> Value { try within(beginReading, body) }

  private func within<Value>(_ begin: SQLiteStatement, _ body: () throws -> Value) throws -> Value {
    try begin.run()
    do {
      let value = try body()
      try commit.run()
      return value
    } catch {
      try rollback.run()
      throw error
    }
  }
}

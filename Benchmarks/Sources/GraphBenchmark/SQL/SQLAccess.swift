import SQLiteAccess

/// A prepared statement of any library. The order of calls is: bind, step, read. After its last
/// row, the statement can be bound again.
protocol SQLStatement: AnyObject {
  /// Binds a value to the parameter with a number; the first number is 1. All parameters must be
  /// bound before the first step.
  func bind(_ index: Int32, _ value: Int64?) throws
  func bind(_ index: Int32, _ value: Double) throws
  func bind(_ index: Int32, _ value: String?) throws

  /// Advances to the next row; false if there is none.
  func step() throws -> Bool
  /// Runs a statement that returns no rows.
  func run() throws

  /// The value of a column of the row; the first column is 0.
  func int(_ column: Int32) -> Int64
  func double(_ column: Int32) -> Double
  func text(_ column: Int32) -> String?
}

/// A library through which a program uses SQLite.
protocol SQLAccess: AnyObject {
  associatedtype Statement: SQLStatement
  static var engineName: String { get }
  static var settings: String { get }

  init(path: String) throws
  func close() throws
  /// Runs `body` with access to the database. All other calls are made within it.
  func access<Value>(_ body: () throws -> Value) throws -> Value
  /// Runs statements whose rows are not needed.
  func execute(_ sql: String) throws
  func prepare(_ sql: String) throws -> Statement
  func inTransaction(_ body: () throws -> Void) throws
  /// Runs `body` so that all its statements read one state. Outside `reading` and `inTransaction`,
  /// each statement locks and unlocks the database.
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

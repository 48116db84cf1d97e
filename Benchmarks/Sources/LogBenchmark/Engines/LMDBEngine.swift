import CLMDB
import CLogFloor

/// LMDB in its default mode, which copies pages.
// Unchecked: all threads may use an environment.
final class LMDBEngine: LMDBStore, LogEngine, @unchecked Sendable {
  static let name = "LMDB"
  static let settings = LMDBStore.describe("NOTLS")

  init(in folder: String, _ shape: Shape) throws { try super.init(in: folder, shape, flags: 0) }
}

/// LMDB in the mode that writes into its map.
// Unchecked: all threads may use an environment. Only one flag differs from `LMDBEngine`.
final class LMDBWriteMapEngine: LMDBStore, LogEngine, @unchecked Sendable {
  static let name = "LMDB WRITEMAP"
  static let settings = LMDBStore.describe("NOTLS WRITEMAP")

  init(in folder: String, _ shape: Shape) throws { try super.init(in: folder, shape, flags: MDB_WRITEMAP) }
}

class LMDBStore {
  static let isOrdered = true
  static let readsWhileWriting = true

  static func describe(_ flags: String) -> String {
    "\(flags), NOSYNC unless durable; map of 64 GiB; INTEGERKEY for ids; has no checksums"
  }

  fileprivate let environment: OpaquePointer
  fileprivate let table: MDB_dbi
  fileprivate let shape: Shape

  init(in folder: String, _ shape: Shape, flags: Int32) throws {
    self.shape = shape
    var made: OpaquePointer?
    try LMDB.check(mdb_env_create(&made))
    guard let environment = made else { throw EngineError("mdb_env_create returned no environment") }
    self.environment = environment
    try LMDB.check(mdb_env_set_mapsize(environment, 64 << 30))
    try LMDB.check(mdb_env_open(environment, folder, UInt32(flags | MDB_NOTLS | MDB_NOSYNC), 0o644))
    let transaction = try LMDB.begin(environment, 0)
    var table: MDB_dbi = 0
    let kind = shape.keyKind == .dense ? MDB_INTEGERKEY : 0
    try LMDB.check(mdb_dbi_open(transaction, nil, UInt32(kind | MDB_CREATE), &table))
    try LMDB.check(mdb_txn_commit(transaction))
    self.table = table
  }

  func setDurable(_ isDurable: Bool) throws {
    try LMDB.check(mdb_env_set_flags(environment, UInt32(MDB_NOSYNC), isDurable ? 0 : 1))
  }

  func makeView() throws -> LMDBView { try LMDBView(self) }
  func makeWriter() -> LMDBWriter { LMDBWriter(store: self) }
  func close() { mdb_env_close(environment) }
}

enum LMDB {
  static func check(_ code: Int32) throws {
    guard code == 0 else { throw EngineError(String(cString: mdb_strerror(code))) }
  }

  static func begin(_ environment: OpaquePointer, _ flags: Int32) throws -> OpaquePointer {
    var transaction: OpaquePointer?
    try check(mdb_txn_begin(environment, nil, UInt32(flags), &transaction))
    guard let transaction else { throw EngineError("mdb_txn_begin returned no transaction") }
    return transaction
  }

  /// Calls `body` with a key in LMDB's form. Ids remain numbers in the machine's byte order.
  @inline(__always)
  static func withKey<R>(_ key: log_key, _ length: Int, _ body: (UnsafeMutablePointer<MDB_val>) throws -> R)
    rethrows -> R
  {
    var key = key
    return try withUnsafeMutablePointer(to: &key) { bytes in
      var value = MDB_val(mv_size: length, mv_data: bytes)
      return try body(&value)
    }
  }
}

struct LMDBView: WalkingView {
  private let table: MDB_dbi
  private let shape: Shape
  private let transaction: OpaquePointer
  private let cursor: OpaquePointer

  fileprivate init(_ store: LMDBStore) throws {
    table = store.table
    shape = store.shape
    transaction = try LMDB.begin(store.environment, MDB_RDONLY)
    var cursor: OpaquePointer?
    try LMDB.check(mdb_cursor_open(transaction, table, &cursor))
    guard let cursor else { throw EngineError("mdb_cursor_open returned no cursor") }
    self.cursor = cursor
  }

  mutating func read(_ key: log_key) throws -> UInt64? {
    try LMDB.withKey(key, shape.keyLength) { name in
      var value = MDB_val()
      let code = mdb_get(transaction, table, name, &value)
      if code == MDB_NOTFOUND { return nil }
      try LMDB.check(code)
      return log_fold(value.mv_data, value.mv_size)
    }
  }

  mutating func takeSnapshot() throws {
    mdb_txn_reset(transaction)
    try LMDB.check(mdb_txn_renew(transaction))
  }

  mutating func advance() throws {
    mdb_txn_reset(transaction)
    try LMDB.check(mdb_txn_renew(transaction))
    try LMDB.check(mdb_cursor_renew(transaction, cursor))
  }

  mutating func end() {
    mdb_cursor_close(cursor)
    mdb_txn_abort(transaction)
  }

  @inline(__always)
  func walk(from key: log_key?, _ body: (log_key, UnsafeRawPointer?, Int) -> Bool) throws {
    try LMDB.withKey(key ?? log_key(), shape.keyLength) { name in
      var value = MDB_val()
      var code = mdb_cursor_get(cursor, name, &value, key == nil ? MDB_FIRST : MDB_SET_RANGE)
      while code == 0, body(self.key(name.pointee), value.mv_data, value.mv_size) {
        code = mdb_cursor_get(cursor, name, &value, MDB_NEXT)
      }
      if code != MDB_NOTFOUND { try LMDB.check(code) }
    }
  }

  @inline(__always)
  private func key(_ found: MDB_val) -> log_key {
    guard let bytes = found.mv_data else { return log_key() }
    if shape.keyKind == .hashed { return log_key(bytes: bytes) }
    return log_key(first: bytes.loadUnaligned(as: UInt64.self), second: 0)
  }
}

struct LMDBWriter: EngineWriter {
  fileprivate let store: LMDBStore

  mutating func commit(_ operations: UnsafeBufferPointer<log_operation>) throws {
    let transaction = try LMDB.begin(store.environment, 0)
    for operation in operations {
      try LMDB.withKey(operation.key, store.shape.keyLength) { name in
        guard let bytes = operation.value else {
          let code = mdb_del(transaction, store.table, name, nil)
          if code != MDB_NOTFOUND { try LMDB.check(code) }
          return
        }
        var value = MDB_val(mv_size: operation.length, mv_data: UnsafeMutableRawPointer(mutating: bytes))
        try LMDB.check(mdb_put(transaction, store.table, name, &value, 0))
      }
    }
    try LMDB.check(mdb_txn_commit(transaction))
  }

  mutating func end() {}
}

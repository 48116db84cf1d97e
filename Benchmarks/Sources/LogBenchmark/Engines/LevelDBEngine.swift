import CLevelDB
import CLogFloor

/// LevelDB through its C interface.
// Unchecked: all threads may use a database. `isDurable` changes only while no thread writes.
final class LevelDBEngine: LogEngine, @unchecked Sendable {
  static let name = "LevelDB"
  static let isOrdered = true
  static let readsWhileWriting = true
  static let compacts = true
  static let settings = """
    Snappy, blocks of 4 KiB, bloom filter of 10 bits, block cache of 512 MiB, write buffer of 64 MiB; \
    checksums are not verified by reads (its default)
    """

  fileprivate let database: OpaquePointer
  private let cache = leveldb_cache_create_lru(512 << 20)
  private let filter = leveldb_filterpolicy_create_bloom(10)
  fileprivate let shape: Shape
  fileprivate var isDurable = false

  init(in folder: String, _ shape: Shape) throws {
    self.shape = shape
    let options = leveldb_options_create()
    defer { leveldb_options_destroy(options) }
    leveldb_options_set_create_if_missing(options, 1)
    leveldb_options_set_cache(options, cache)
    leveldb_options_set_filter_policy(options, filter)
    leveldb_options_set_write_buffer_size(options, 64 << 20)
    let database = try LevelDB.checked { leveldb_open(options, folder + "/leveldb", $0) }
    guard let database else { throw EngineError("leveldb_open returned no database") }
    self.database = database
  }

  func setDurable(_ isDurable: Bool) { self.isDurable = isDurable }
  func makeView() -> LevelDBView { LevelDBView(self) }
  func makeWriter() -> LevelDBWriter { LevelDBWriter(self) }

  func close() {
    leveldb_close(database)
    leveldb_cache_destroy(cache)
    leveldb_filterpolicy_destroy(filter)
  }
}

enum LevelDB: MessageErrors {
  static func free(_ message: UnsafeMutablePointer<CChar>) { leveldb_free(message) }
}

struct LevelDBView: WalkingView {
  private let engine: LevelDBEngine
  private let options = leveldb_readoptions_create()

  fileprivate init(_ engine: LevelDBEngine) { self.engine = engine }

  mutating func read(_ key: log_key) throws -> UInt64? {
    var length = 0
    let found = try engine.shape.withBytes(of: key) { bytes in
      try LevelDB.checked {
        leveldb_get(
          engine.database, options, bytes.assumingMemoryBound(to: CChar.self), engine.shape.keyLength,
          &length, $0)
      }
    }
    guard let found else { return nil }
    defer { leveldb_free(found) }
    return log_fold(found, length)
  }

  mutating func takeSnapshot() {
    leveldb_release_snapshot(engine.database, leveldb_create_snapshot(engine.database))
  }

  mutating func advance() {}
  mutating func end() { leveldb_readoptions_destroy(options) }

  @inline(__always)
  func walk(from key: log_key?, _ body: (log_key, UnsafeRawPointer?, Int) -> Bool) throws {
    let iterator = leveldb_create_iterator(engine.database, options)
    defer { leveldb_iter_destroy(iterator) }
    if let key {
      engine.shape.withBytes(of: key) {
        leveldb_iter_seek(iterator, $0.assumingMemoryBound(to: CChar.self), engine.shape.keyLength)
      }
    } else {
      leveldb_iter_seek_to_first(iterator)
    }
    while leveldb_iter_valid(iterator) != 0 {
      var keyLength = 0
      var length = 0
      guard let name = leveldb_iter_key(iterator, &keyLength) else { break }
      let value = leveldb_iter_value(iterator, &length)
      guard body(engine.shape.key(bytes: name), value, length) else { break }
      leveldb_iter_next(iterator)
    }
    try LevelDB.checked { leveldb_iter_get_error(iterator, $0) }
  }
}

struct LevelDBWriter: EngineWriter {
  private let engine: LevelDBEngine
  private let options = leveldb_writeoptions_create()
  private let batch = leveldb_writebatch_create()

  fileprivate init(_ engine: LevelDBEngine) {
    self.engine = engine
    leveldb_writeoptions_set_sync(options, engine.isDurable ? 1 : 0)
  }

  mutating func commit(_ operations: UnsafeBufferPointer<log_operation>) throws {
    leveldb_writebatch_clear(batch)
    for operation in operations {
      engine.shape.withBytes(of: operation.key) { bytes in
        let name = bytes.assumingMemoryBound(to: CChar.self)
        guard let value = operation.value else {
          return leveldb_writebatch_delete(batch, name, engine.shape.keyLength)
        }
        leveldb_writebatch_put(
          batch, name, engine.shape.keyLength, value.assumingMemoryBound(to: CChar.self), operation.length)
      }
    }
    try LevelDB.checked { leveldb_write(engine.database, options, batch, $0) }
  }

  mutating func end() {
    leveldb_writebatch_destroy(batch)
    leveldb_writeoptions_destroy(options)
  }
}

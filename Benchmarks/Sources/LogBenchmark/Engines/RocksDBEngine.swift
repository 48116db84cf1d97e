import CLogFloor
import CRocksDB

/// RocksDB through its C interface, with the settings of its guide to basic tuning.
// Unchecked: all threads may use a database. `isDurable` changes only while no thread writes.
final class RocksDBEngine: LogEngine, @unchecked Sendable {
  static let name = "RocksDB"
  static let isOrdered = true
  static let readsWhileWriting = true
  static let compacts = true
  static let settings = """
    LZ4, blocks of 16 KiB, bloom filter of 10 bits, block cache of 512 MiB, dynamic level bytes, \
    2 background jobs; checksums verified when a block is loaded; Debian's library is built with assertions
    """

  fileprivate let database: OpaquePointer
  fileprivate let family: OpaquePointer
  fileprivate let shape: Shape
  fileprivate var isDurable = false

  init(in folder: String, _ shape: Shape) throws {
    self.shape = shape
    let options = Self.makeOptions()
    defer { rocksdb_options_destroy(options) }
    var family: OpaquePointer?
    let database = try RocksDB.checked { error in
      "default".withCString { name in
        rocksdb_open_column_families(options, folder + "/rocksdb", 1, [name], [options], &family, error)
      }
    }
    guard let database, let family else { throw EngineError("rocksdb_open returned no database") }
    self.database = database
    self.family = family
  }

  private static func makeOptions() -> OpaquePointer? {
    let table = rocksdb_block_based_options_create()
    rocksdb_block_based_options_set_block_size(table, 16 << 10)
    rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10))
    rocksdb_block_based_options_set_block_cache(table, rocksdb_cache_create_lru(512 << 20))
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1)
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1)
    rocksdb_block_based_options_set_format_version(table, 5)
    let options = rocksdb_options_create()
    rocksdb_options_set_create_if_missing(options, 1)
    rocksdb_options_set_block_based_table_factory(options, table)
    rocksdb_options_set_compression(options, Int32(rocksdb_lz4_compression))
    rocksdb_options_set_level_compaction_dynamic_level_bytes(options, 1)
    rocksdb_options_set_max_background_jobs(options, 2)
    rocksdb_options_set_bytes_per_sync(options, 1 << 20)
    return options
  }

  func setDurable(_ isDurable: Bool) { self.isDurable = isDurable }
  func makeView() -> RocksDBView { RocksDBView(self) }
  func makeWriter() -> RocksDBWriter { RocksDBWriter(self) }

  func close() {
    rocksdb_column_family_handle_destroy(family)
    rocksdb_close(database)
  }
}

enum RocksDB: MessageErrors {
  static func free(_ message: UnsafeMutablePointer<CChar>) { rocksdb_free(message) }
}

struct RocksDBView: WalkingView {
  private let engine: RocksDBEngine
  private let options = rocksdb_readoptions_create()

  fileprivate init(_ engine: RocksDBEngine) { self.engine = engine }

  mutating func read(_ key: log_key) throws -> UInt64? {
    let found = try engine.shape.withBytes(of: key) { bytes in
      try RocksDB.checked {
        rocksdb_get_pinned(
          engine.database, options, bytes.assumingMemoryBound(to: CChar.self), engine.shape.keyLength, $0)
      }
    }
    guard let found else { return nil }
    return Self.foldAndRelease(found)
  }

  mutating func readMany(_ keys: [log_key]) throws -> UInt64 {
    var names = keys
    if engine.shape.keyKind == .dense { for i in names.indices { names[i].first = names[i].first.bigEndian } }
    let lengths = [Int](repeating: engine.shape.keyLength, count: keys.count)
    var values = [OpaquePointer?](repeating: nil, count: keys.count)
    var errors = [UnsafeMutablePointer<CChar>?](repeating: nil, count: keys.count)
    names.withUnsafeBufferPointer { names in
      var places: [UnsafePointer<CChar>?] = []
      places.reserveCapacity(names.count)
      for index in names.indices {
        guard let start = names.baseAddress else { break }
        places.append(UnsafeRawPointer(start + index).assumingMemoryBound(to: CChar.self))
      }
      rocksdb_batched_multi_get_cf(
        engine.database, options, engine.family, names.count, places, lengths, &values, &errors, false)
    }
    for error in errors { try RocksDB.check(error) }
    return values.reduce(0) { sum, value in sum &+ (value.map(Self.foldAndRelease) ?? 0) }
  }

  mutating func takeSnapshot() {
    rocksdb_release_snapshot(engine.database, rocksdb_create_snapshot(engine.database))
  }

  mutating func advance() {}
  mutating func end() { rocksdb_readoptions_destroy(options) }

  @inline(__always)
  func walk(from key: log_key?, _ body: (log_key, UnsafeRawPointer?, Int) -> Bool) throws {
    let iterator = rocksdb_create_iterator(engine.database, options)
    defer { rocksdb_iter_destroy(iterator) }
    if let key {
      engine.shape.withBytes(of: key) {
        rocksdb_iter_seek(iterator, $0.assumingMemoryBound(to: CChar.self), engine.shape.keyLength)
      }
    } else {
      rocksdb_iter_seek_to_first(iterator)
    }
    while rocksdb_iter_valid(iterator) != 0 {
      var keyLength = 0
      var length = 0
      guard let name = rocksdb_iter_key(iterator, &keyLength) else { break }
      let value = rocksdb_iter_value(iterator, &length)
      guard body(engine.shape.key(bytes: name), value, length) else { break }
      rocksdb_iter_next(iterator)
    }
    try RocksDB.checked { rocksdb_iter_get_error(iterator, $0) }
  }

  private static func foldAndRelease(_ found: OpaquePointer) -> UInt64 {
    defer { rocksdb_pinnableslice_destroy(found) }
    var length = 0
    let value = rocksdb_pinnableslice_value(found, &length)
    return log_fold(value, length)
  }
}

struct RocksDBWriter: EngineWriter {
  private let engine: RocksDBEngine
  private let options = rocksdb_writeoptions_create()
  private let batch = rocksdb_writebatch_create()

  fileprivate init(_ engine: RocksDBEngine) {
    self.engine = engine
    rocksdb_writeoptions_set_sync(options, engine.isDurable ? 1 : 0)
  }

  mutating func commit(_ operations: UnsafeBufferPointer<log_operation>) throws {
    rocksdb_writebatch_clear(batch)
    for operation in operations {
      engine.shape.withBytes(of: operation.key) { bytes in
        let name = bytes.assumingMemoryBound(to: CChar.self)
        guard let value = operation.value else {
          return rocksdb_writebatch_delete(batch, name, engine.shape.keyLength)
        }
        rocksdb_writebatch_put(
          batch, name, engine.shape.keyLength, value.assumingMemoryBound(to: CChar.self), operation.length)
      }
    }
    try RocksDB.checked { rocksdb_write(engine.database, options, batch, $0) }
  }

  mutating func end() {
    rocksdb_writebatch_destroy(batch)
    rocksdb_writeoptions_destroy(options)
  }
}

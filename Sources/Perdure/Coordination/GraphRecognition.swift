// Determines whether a store of the engine contains an object graph. A store of keys and values can
// have keyspaces and keys with the same names as those of a graph.

internal import PerdureLog
internal import PerdureModel

enum GraphRecognition {
  /// The record of the stored model.
  private enum Record {
    case absent
    /// The record exists, but is damaged.
    case unreadable
    case value([UInt8])
  }

  /// Whether a store with these keyspaces contains a graph.
  ///
  /// The keyspace `meta` must have the kind `.bytes`, and contain the record of the stored model. A
  /// record with the header of a stored model proves a graph, even if the rest cannot be read. Any
  /// other record is a damaged model if the store has keyspaces of rows. Otherwise the record
  /// belongs to another program.
  ///
  /// - Parameter value: Reads the value of the record; nil if it is absent.
  /// - Throws: The errors of `value`, except damage.
  static func isGraph(_ keyspaces: [Keyspace], value: (Keyspace) throws -> [UInt8]?) throws -> Bool {
    let meta = keyspaces.first { $0.name == LogKeyspaces.metaName && $0.kind == .bytes }
    switch try meta.map({ try record($0, value) }) ?? .absent {
    case .absent: return false
    case .value(let bytes) where StoredModel.hasHeader(bytes): return true
    case .value, .unreadable:
      return keyspaces.contains { $0.kind == .dense && LogKeyspaces.isRowsName($0.name) }
    }
  }

  private static func record(
    _ meta: Keyspace, _ value: (Keyspace) throws -> [UInt8]?
  ) throws -> Record {
    do {
      return try value(meta).map(Record.value) ?? .absent
    } catch let error as StoreError {
      guard error.code == .corruption else { throw error }
      return .unreadable
    }
  }

  /// Checks that an open store contains a graph.
  ///
  /// - Throws: `StoreError` with code `.notAStore` if the store contains no graph. Also the errors
  ///   of reading.
  static func check(_ store: Store) throws {
    let isGraph = try isGraph(store.keyspaces) { meta in
      try store.snapshot().value(key: StoredModelRecord.key, in: meta)
    }
    guard isGraph else { throw noGraph(at: store.path) }
  }

  /// The error for a store without a graph.
  static func noGraph(at path: String) -> StoreError {
    StoreError(
      .notAStore, "The store has no object graph: open it for writing with a model, or with PerdureLog alone",
      at: path)
  }
}

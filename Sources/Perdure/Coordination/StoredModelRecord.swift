// The model as a record of the store's "meta" keyspace.

internal import PerdureLog
internal import PerdureModel

enum StoredModelRecord {
  static let key = Array("model".utf8)

  /// The stored model, brought up to date with the program's. Who only reads goes by the program's own where the two
  /// differ in nothing that rows depend on, and writes nothing.
  static func adopt(
    _ model: ManagedObjectModel?, in store: Store, _ meta: Keyspace, isReadOnly: Bool,
    decode: ([UInt8]) throws -> StoredModel
  ) throws -> StoredModel {
    let stored = try Self.stored(in: store.snapshot(), meta, decode: decode)
    let wanted = try next(stored, model, in: store)
    if let stored, stored.isEqual(to: wanted) { return stored }
    if isReadOnly {
      if let stored, stored.hasSameRows(as: wanted) { return wanted }
      throw StoreError(
        .readOnly, "The model has additions that the store does not know; open it once for writing",
        at: store.path)
    }
    try store.write { try $0.put(wanted.encode(), key: key, in: meta) }
    try store.reloadExtractors()
    return wanted
  }

  static func stored(
    in snapshot: Snapshot, _ meta: Keyspace, decode: ([UInt8]) throws -> StoredModel
  ) throws -> StoredModel? {
    try snapshot.value(key: key, in: meta).map(decode)
  }

  private static func next(
    _ stored: StoredModel?, _ model: ManagedObjectModel?, in store: Store
  ) throws -> StoredModel {
    switch (stored, model) {
    case (let stored?, let model?): return try stored.adopting(model).stored
    case (let stored?, nil): return stored
    case (nil, let model?): return try StoredModel.initial(for: model)
    case (nil, nil):
      throw StoreError(
        .notAStore, "The store holds no object graph: open it with a model, or with PerdureLog alone",
        at: store.path)
    }
  }
}

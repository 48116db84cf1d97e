// The model as a record of the store's "meta" keyspace.

internal import PerdureLog
internal import PerdureModel

struct StoredModelRecord {
  static let key = Array("model".utf8)

  private let meta: Keyspace
  private let store: Store
  private let decode: ([UInt8]) throws -> StoredModel

  init(_ meta: Keyspace, in store: Store, decode: @escaping ([UInt8]) throws -> StoredModel) {
    (self.meta, self.store, self.decode) = (meta, store, decode)
  }

  /// The model that an opening uses, and its bytes if they must be written.
  struct Adoption {
    let model: StoredModel
    let bytes: [UInt8]?
  }

  /// The model for an opening: the stored model, updated with the program's model. A read-only
  /// opening uses the program's model if rows do not depend on the differences, and otherwise
  /// throws.
  func adoption(of model: ManagedObjectModel?, isReadOnly: Bool) throws -> Adoption {
    let snapshot = store.snapshot()
    let stored = try Self.stored(in: snapshot, meta, decode: decode)
    let wanted = try next(stored, model, at: snapshot.sequence)
    if let stored, stored.isEqual(to: wanted) { return Adoption(model: stored, bytes: nil) }
    guard isReadOnly else { return Adoption(model: wanted, bytes: wanted.encode()) }
    if let stored, stored.hasSameRows(as: wanted) { return Adoption(model: wanted, bytes: nil) }
    throw StoreError(
      .readOnly, "The model has additions that the store does not know; open it once for writing",
      at: store.path)
  }

  /// The record with the bytes of a model, for a commit.
  func value(_ bytes: [UInt8]) -> (value: [UInt8], key: [UInt8], keyspace: Keyspace) {
    (bytes, Self.key, meta)
  }

  static func stored(
    in snapshot: Snapshot, _ meta: Keyspace, decode: ([UInt8]) throws -> StoredModel
  ) throws -> StoredModel? {
    try snapshot.value(key: key, in: meta).map(decode)
  }

  private func next(
    _ stored: StoredModel?, _ model: ManagedObjectModel?, at sequence: UInt64
  ) throws -> StoredModel {
    switch (stored, model) {
    case (let stored?, let model?): return try stored.adopting(model, at: sequence).stored
    case (let stored?, nil): return stored
    case (nil, let model?): return try StoredModel.initial(for: model, at: sequence)
    case (nil, nil): throw GraphRecognition.noGraph(at: store.path)
    }
  }
}

// What is done with a store that no container has open: the second place, beside StoreFactory, that knows the engine.

internal import PerdureLog
internal import PerdureModel

/// Stores in directories, as wholes.
enum StoreFiles {
  static func metadata(at path: String) throws -> PersistentStoreMetadata {
    var options = StoreOptions()
    options.isReadOnly = true
    let store = try open(path, options)
    do {
      let metadata = try store.metadata()
      try store.close()
      return metadata
    } catch {
      try? store.close()
      throw error
    }
  }

  static func setUserInfo(_ userInfo: [String: String], at path: String) throws {
    var options = StoreOptions()
    options.createsIfMissing = false
    let store = try open(path, options)
    do { try store.setUserInfo(userInfo) } catch {
      try? store.close()
      throw error
    }
    try store.close()
  }

  private static func open(_ path: String, _ options: StoreOptions) throws -> LogPersistentStore {
    try LogPersistentStore(at: path, model: nil, options: options)
  }

  static func destroy(at path: String) throws { try Store.destroy(at: path) }

  static func copy(at source: String, to target: String) throws { try Store.copy(at: source, to: target) }

  static func replace(_ path: String, with source: String) throws {
    let draft = (path.last == "/" ? String(path.dropLast()) : path) + ".new"
    try Store.destroy(at: draft)
    try Store.copy(at: source, to: draft)
    do {
      try Store.destroy(at: path)
    } catch {
      try? Store.destroy(at: draft)
      throw error
    }
    try Store.move(draft, to: path)
  }
}

/// A store that keeps what a program says about it.
package protocol MetadataKeeping: Sendable {
  func metadata() throws -> PersistentStoreMetadata
  func setUserInfo(_ userInfo: [String: String]) throws
}

extension LogPersistentStore: MetadataKeeping {
  private static let userInfoKey = Array("metadata".utf8)

  package func metadata() throws -> PersistentStoreMetadata {
    let snapshot = store.snapshot()
    let userInfo = try snapshot.value(key: Self.userInfoKey, in: keyspaces.meta)
      .map { try MetadataCoding.decode($0) }
    return PersistentStoreMetadata(storeIdentifier: identifier, model: model.model, userInfo: userInfo ?? [:])
  }

  package func setUserInfo(_ userInfo: [String: String]) throws {
    try store.write { try $0.put(MetadataCoding.encode(userInfo), key: Self.userInfoKey, in: keyspaces.meta) }
    try store.sync()
  }
}

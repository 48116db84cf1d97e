// Operations on stores that no container has open. Like StoreFactory, this file depends on the
// engine.

package import PerdureLog
internal import PerdureModel

/// Operations on whole stores in directories.
enum StoreFiles {
  static func metadata(at path: String) throws -> PersistentStoreMetadata {
    var options = StoreOptions()
    options.isReadOnly = true
    return try withStore(path, options) { try $0.metadata() }
  }

  static func setUserInfo(_ userInfo: [String: String], at path: String) throws {
    var options = StoreOptions()
    options.createsIfMissing = false
    try withStore(path, options) { try $0.setUserInfo(userInfo) }
  }

  private static func withStore<R>(
    _ path: String, _ options: StoreOptions, _ body: (LogPersistentStore) throws -> R
  ) throws -> R {
    let store = try LogPersistentStore(at: path, model: nil, options: options)
    let result: R
    do { result = try body(store) } catch {
      // The error of `body` is thrown, even if closing fails too.
      try? store.close()
      throw error
    }
    try store.close()
    return result
  }

  static func destroy(at path: String) throws { try Store.destroy(at: path) }

  static func copy(at source: String, to target: String) throws { try Store.copy(at: source, to: target) }

  static func replace(_ path: String, with source: String) throws { try Store.replace(path, with: source) }
}

/// A store with metadata, including the program's own data.
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
    // A read-only store may have been opened with a model that differs from the stored model. Rows
    // do not depend on the differences.
    let stored = try StoredModelRecord.stored(in: snapshot, keyspaces.meta, decode: factory.model)
    return PersistentStoreMetadata(
      storeIdentifier: identifier, stored: stored ?? model, userInfo: userInfo ?? [:])
  }

  package func setUserInfo(_ userInfo: [String: String]) throws {
    try store.write { try $0.put(MetadataCoding.encode(userInfo), key: Self.userInfoKey, in: keyspaces.meta) }
    try store.sync()
  }
}

/// A store that can be backed up while it is open.
package protocol BackupMaking: Sendable {
  func backUp(
    to target: String, since earlier: String?, _ options: BackupOptions,
    _ progress: (BackupProgress) throws -> Void
  ) throws -> BackupReport

  func backUp(
    _ options: BackupOptions, _ progress: (BackupProgress) throws -> Void, write: (RawSpan) throws -> Void
  ) throws -> BackupReport
}

extension LogPersistentStore: BackupMaking {
  package func backUp(
    to target: String, since earlier: String?, _ options: BackupOptions,
    _ progress: (BackupProgress) throws -> Void
  ) throws -> BackupReport {
    try store.backup(to: target, since: earlier, options: options, progress: progress)
  }

  package func backUp(
    _ options: BackupOptions, _ progress: (BackupProgress) throws -> Void, write: (RawSpan) throws -> Void
  ) throws -> BackupReport {
    try store.backup(options: options, progress: progress, write: write)
  }
}

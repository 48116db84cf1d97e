internal import PerdureFileIO
public import PerdureModel

/// The metadata of a store.
public struct PersistentStoreMetadata: Sendable {
  /// The permanent identifier of the store, which its copies have too. It is part of the URI form
  /// of its objects' ids.
  public let storeIdentifier: String
  /// The model that is stored in it.
  public var model: ManagedObjectModel { stored.model }
  /// The program's metadata of the store.
  public let userInfo: [String: String]
  /// The model that the rows follow.
  let stored: StoredModel

  init(storeIdentifier: String, stored: StoredModel, userInfo: [String: String]) {
    self.storeIdentifier = storeIdentifier
    self.stored = stored
    self.userInfo = userInfo
  }

  /// The version of the model.
  public var modelVersionHash: UInt64 { model.versionHash }

  /// The versions of the entities.
  public var entityVersionHashesByName: [String: UInt64] { model.entityVersionHashesByName }

  /// The names that the program gave to the version of the model.
  public var versionIdentifiers: Set<String> { model.versionIdentifiers }
}

extension ManagedObjectModel {
  /// Whether a container with this model can open a store without a migration.
  ///
  /// - Parameters:
  ///   - configuration: The configuration to open it with; nil for all entities.
  ///   - metadata: The metadata of the store.
  public func isConfiguration(
    withName configuration: String? = nil, compatibleWithStoreMetadata metadata: PersistentStoreMetadata
  ) -> Bool {
    guard let model = try? configuration.map({ try restricted(toConfiguration: $0) }) ?? self else {
      return false
    }
    return metadata.stored.differences(to: model).allSatisfy { $0.isCompatible }
  }
}

// MARK: - Stores at a path

extension PersistentContainer {
  /// The metadata of the store in a directory, whether or not it is open. Nothing is changed.
  ///
  /// - Throws: `PerdureError` with code 134080 when there is no store, or it cannot be read;
  ///   `cause` has the reason.
  /// - Complexity: as opening the store for reading.
  public static func metadataForPersistentStore(at path: String) throws(PerdureError)
    -> PersistentStoreMetadata
  {
    try working(.openFailed, "The metadata of the store \(path) could not be read.") {
      try StoreFiles.metadata(at: path)
    }
  }

  /// Replaces the program's metadata of a store that is not open for writing. Durable when the call
  /// returns.
  ///
  /// - Throws: `PerdureError` with code 134080, as above.
  public static func setMetadata(
    _ userInfo: [String: String], forPersistentStoreAt path: String
  ) throws(PerdureError) {
    try working(.openFailed, "The metadata of \(path) could not be written, and is unchanged.") {
      try StoreFiles.setUserInfo(userInfo, at: path)
    }
  }

  /// Removes the store in a directory, with all its files. It must not be open for writing. Without
  /// a store there, nothing happens.
  ///
  /// - Throws: `PerdureError` with code 134080 when the store is open for writing, or when a file
  ///   cannot be removed. A store that is open for writing is not changed.
  public static func destroyPersistentStore(at path: String) throws(PerdureError) {
    try working(.openFailed, "The store \(path) could not be destroyed.") { try StoreFiles.destroy(at: path) }
  }

  /// Copies a store that is not open for writing to a directory that is new or empty. The copy is
  /// whole and durable when the call returns, and has the identity of the original: ids mean the
  /// same object in both.
  ///
  /// - Throws: `PerdureError` with code 134080 when there is no store, the store is open for
  ///   writing, `target` is not new or empty, its path with the suffix `.copy` is taken, or a file
  ///   cannot be written. Then no copy exists. If only the last sync failed, the copy exists, but a
  ///   power loss may remove it.
  /// - Complexity: O(n) for n bytes.
  public static func copyPersistentStore(at path: String, to target: String) throws(PerdureError) {
    try working(.openFailed, "The store \(path) could not be copied to \(target).") {
      try StoreFiles.copy(at: path, to: target)
    }
  }

  /// Replaces one store by a copy of another. Neither store may be open for writing.
  ///
  /// The copy is first written next to the store to be replaced, under `path` with the suffix
  /// `.copy`. That directory must be absent, empty, or left by an unfinished copy. The copy is
  /// durable when the call returns. A failure before the copy is complete changes nothing. After a
  /// power loss, the old store or the new one can be opened for writing, and the call can be
  /// repeated. If the power loss interrupted the removal of the old store, the next opening for
  /// writing, or a repeated call, completes the replacement. Until then, the store cannot be opened
  /// for reading.
  ///
  /// - Throws: `PerdureError` with code 134080, as for copying and destroying, and when the
  ///   directory holds a file that does not belong to the store.
  /// - Complexity: O(n) for n bytes of the source.
  public static func replacePersistentStore(
    at path: String, withPersistentStoreAt source: String
  ) throws(PerdureError) {
    try working(.openFailed, "The store \(path) could not be replaced by a copy of \(source).") {
      try StoreFiles.replace(path, with: source)
    }
  }

  // MARK: Open stores

  /// The metadata of a store. The store must have been loaded.
  ///
  /// - Parameter store: The store; nil for the first.
  /// - Throws: `PerdureError` with code 134060 when it cannot be read, or is not open.
  public func persistentStoreMetadata(
    of store: LoadedStore? = nil
  ) throws(PerdureError) -> PersistentStoreMetadata {
    let store = try metadataKeeper(store)
    return try Self.working(.readFailed, "The store's metadata could not be read.") { try store.metadata() }
  }

  /// Replaces the program's metadata of a store. The metadata is durable when the call returns. The
  /// pending changes of contexts are not saved. The store must have been loaded.
  ///
  /// - Parameters:
  ///   - userInfo: The new values. Keys that are missing here are removed.
  ///   - store: The store; nil for the first.
  /// - Throws: `PerdureError` with code 134030 when the store could not write, 134060 when it is
  ///   not open.
  public func setPersistentStoreMetadata(
    _ userInfo: [String: String], of store: LoadedStore? = nil
  ) throws(PerdureError) {
    let store = try metadataKeeper(store)
    try Self.working(.saveFailed, "The store's metadata could not be written.") {
      try store.setUserInfo(userInfo)
    }
  }

  private func metadataKeeper(_ store: LoadedStore?) throws(PerdureError) -> any MetadataKeeping {
    guard let keeper = try openMember(store).store as? any MetadataKeeping else {
      throw PerdureError(.readFailed, "This kind of store has no metadata.")
    }
    return keeper
  }

  static func working<R>(
    _ code: PerdureError.Code, _ message: String, _ body: () throws -> R
  ) throws(PerdureError) -> R {
    do {
      return try body()
    } catch {
      var failure = PerdureError(code, message)
      failure.cause = error
      throw failure
    }
  }
}

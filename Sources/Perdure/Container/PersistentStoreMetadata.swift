internal import PerdureFileIO
public import PerdureModel

/// The identifier, the model and the program's own data of a store.
public struct PersistentStoreMetadata: Sendable {
  /// The identifier of the store, which never changes. Copies of the store have the same
  /// identifier. The URI of an object id contains it.
  public let storeIdentifier: String
  /// The model that is stored in the store.
  public var model: ManagedObjectModel { stored.model }
  /// The program's own data about the store; see
  /// ``PersistentContainer/setMetadata(_:forPersistentStoreAt:)``.
  public let userInfo: [String: String]
  /// The stored model, with the numbers that the store has assigned.
  let stored: StoredModel

  init(storeIdentifier: String, stored: StoredModel, userInfo: [String: String]) {
    self.storeIdentifier = storeIdentifier
    self.stored = stored
    self.userInfo = userInfo
  }

  /// The version hash of the stored model.
  public var modelVersionHash: UInt64 { model.versionHash }

  /// The version hash of each entity of the stored model.
  public var entityVersionHashesByName: [String: UInt64] { model.entityVersionHashesByName }

  /// The names that the program gave to this version of the model.
  public var versionIdentifiers: Set<String> { model.versionIdentifiers }
}

extension ManagedObjectModel {
  /// Whether a container with this model can open a store without a migration. False if the model
  /// has no such configuration.
  ///
  /// - Parameters:
  ///   - configuration: The configuration that the container opens the store with; nil for all
  ///     entities.
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
  /// Reads the metadata of the store in a directory. The store may be open, and is not changed.
  ///
  /// - Parameter path: The directory of the store.
  /// - Throws: `PerdureError` with code 134080 if there is no store or it cannot be read. `cause`
  ///   contains the reason.
  /// - Complexity: As opening the store for reading.
  public static func metadataForPersistentStore(at path: String) throws(PerdureError)
    -> PersistentStoreMetadata
  {
    try working(.openFailed, "The metadata of the store \(path) could not be read.") {
      try StoreFiles.metadata(at: path)
    }
  }

  /// Replaces the program's own data about a store that is not open for writing. The new data is
  /// durable when the call returns.
  ///
  /// - Parameters:
  ///   - userInfo: The new data. Keys that are missing here are removed.
  ///   - path: The directory of the store.
  /// - Throws: `PerdureError` with code 134080 if there is no store, it is open for writing, or it
  ///   cannot be written. The data is then unchanged, or is new but not durable.
  public static func setMetadata(
    _ userInfo: [String: String], forPersistentStoreAt path: String
  ) throws(PerdureError) {
    try working(.openFailed, "The metadata of \(path) could not be written durably.") {
      try StoreFiles.setUserInfo(userInfo, at: path)
    }
  }

  /// Removes all files of the store in a directory. If the directory has no store, the call has no
  /// effect.
  ///
  /// - Parameter path: The directory of the store.
  /// - Throws: `PerdureError` with code 134080 if the store is open for writing, or a file cannot
  ///   be removed. A store that is open for writing is not changed.
  public static func destroyPersistentStore(at path: String) throws(PerdureError) {
    try working(.openFailed, "The store \(path) could not be destroyed.") { try StoreFiles.destroy(at: path) }
  }

  /// Copies a store that is not open for writing. The copy is complete and durable when the call
  /// returns. It has the same identifier as the original, so an object id means the same object in
  /// both.
  ///
  /// - Parameters:
  ///   - path: The directory of the store.
  ///   - target: The directory of the copy. It must be absent or empty.
  /// - Throws: `PerdureError` with code 134080 if there is no store, the store is open for writing,
  ///   or a file cannot be written. The same error is thrown if `target` has files. It is also
  ///   thrown if the directory `target` with the suffix `.copy` has files that do not belong to an
  ///   unfinished copy. There is no copy then, with one exception: if only the last sync failed,
  ///   the copy exists, but a power loss may remove it.
  /// - Complexity: O(n) for n bytes.
  public static func copyPersistentStore(at path: String, to target: String) throws(PerdureError) {
    try working(.openFailed, "The store \(path) could not be copied to \(target).") {
      try StoreFiles.copy(at: path, to: target)
    }
  }

  /// Replaces a store with a copy of another store. Neither may be open for writing.
  ///
  /// The copy is first written to the directory `path` with the suffix `.copy`. That directory must
  /// be absent or empty, or contain an unfinished copy. The replacement is durable when the call
  /// returns. A failure before the copy is complete leaves the store at `path` unchanged.
  ///
  /// After a power loss, either the old store or the new one can be opened for writing, and the
  /// call can be repeated. If the power loss interrupted the removal of the old store, the next
  /// opening for writing or a repeated call completes the replacement. Until then, the store cannot
  /// be opened for reading.
  ///
  /// - Parameters:
  ///   - path: The directory of the store to replace.
  ///   - source: The directory of the store to copy.
  /// - Throws: `PerdureError` with code 134080, for the same reasons as copying and destroying. The
  ///   same error is thrown if the directory at `path` has a file that does not belong to the
  ///   store.
  /// - Complexity: O(n) for n bytes of the source.
  public static func replacePersistentStore(
    at path: String, withPersistentStoreAt source: String
  ) throws(PerdureError) {
    try working(.openFailed, "The store \(path) could not be replaced by a copy of \(source).") {
      try StoreFiles.replace(path, with: source)
    }
  }

  // MARK: Open stores

  /// Reads the metadata of an open store.
  ///
  /// - Parameter store: The store; nil for the first one of the container.
  /// - Throws: `PerdureError` with code 134060 if the store is not open or cannot be read.
  public func persistentStoreMetadata(
    of store: LoadedStore? = nil
  ) throws(PerdureError) -> PersistentStoreMetadata {
    let store = try metadataKeeper(store)
    return try Self.working(.readFailed, "The store's metadata could not be read.") { try store.metadata() }
  }

  /// Replaces the program's own data about an open store. The new data is durable when the call
  /// returns. Unsaved changes of contexts are not saved.
  ///
  /// - Parameters:
  ///   - userInfo: The new data. Keys that are missing here are removed.
  ///   - store: The store; nil for the first one of the container.
  /// - Throws: `PerdureError` with code 134030 if the store cannot be written, or 134060 if it is
  ///   not open. The data is then unchanged, or is new but not durable.
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

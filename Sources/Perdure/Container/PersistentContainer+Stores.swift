// Opening and closing stores.
//
// Contexts are made from a `ContextSource`, which never changes. If the container has one store,
// the source has that store. If it has several stores, the source has a `JoinedStore`. Adding or
// removing a store makes a new source, for contexts that are made later.

internal import PerdureFileIO
internal import PerdureModel

/// The open stores of a container.
final class OpenStores: Sendable {
  struct Member: Sendable {
    let name: LoadedStore
    let store: any PersistentStore
  }

  /// The stores, at least one.
  let members: [Member]
  let source: ContextSource

  init(members: [Member], source: ContextSource) {
    self.members = members
    self.source = source
  }

  /// Whether the store of a context is open; for a joined store, whether one of its stores is open.
  func hasAny(of store: any PersistentStore) -> Bool {
    let parts = (store as? JoinedStore)?.members.map(\.store) ?? [store]
    return members.contains { member in parts.contains { $0 === member.store } }
  }
}

extension PersistentContainer {
  /// Opens the stores of `persistentStoreDescriptions`, and creates the missing ones. Stores that
  /// are already open stay unchanged.
  ///
  /// After a crash, an unfinished save is rolled back, and every durable save is present. If the
  /// model only has additional entities, properties or indexes, a store adopts them.
  ///
  /// - Throws: `PerdureError`. No further store is open then, and the call can be repeated. 134080:
  ///   a store could not be opened, or the classes do not fit the model. `cause` has the reason if
  ///   it is not in the message, for example that another process is writing the store. 134020: the
  ///   model does not have the configuration. 134100: the model differs by more than additions.
  /// - Complexity: O(changes since the last checkpoint); O(n log n) for n objects when an index is
  ///   new, or is built again. Blocks the caller's thread.
  public func loadPersistentStores() throws(PerdureError) {
    try loaded.withLock { loaded throws(PerdureError) in
      let missing = descriptions(missingIn: loaded).compactMap { $0.isMissing ? $0.description : nil }
      if !missing.isEmpty { loaded = try open(missing, beside: loaded?.members ?? []) }
    }
  }

  /// The container's descriptions. `isMissing` is true if no open store has the description.
  private func descriptions(
    missingIn loaded: OpenStores?
  ) -> [(description: PersistentStoreDescription, isMissing: Bool)] {
    var open = loaded?.members.map(\.name.persistentStoreDescription) ?? []
    return persistentStoreDescriptions.map { description in
      let place = open.firstIndex(of: description)
      if let place { open.remove(at: place) }
      return (description, place == nil)
    }
  }

  /// Opens the stores one by one, then calls the handler with the result of each.
  ///
  /// When the handler is first called, all stores without an error are open.
  public func loadPersistentStores(
    completionHandler: (PersistentStoreDescription, PerdureError?) -> Void
  ) {
    let outcomes = loaded.withLock { loaded in
      var outcomes: [(description: PersistentStoreDescription, error: PerdureError?)] = []
      for (description, isMissing) in descriptions(missingIn: loaded) {
        outcomes.append((description, isMissing ? add(description, to: &loaded) : nil))
      }
      return outcomes
    }
    for (description, error) in outcomes { completionHandler(description, error) }
  }

  /// Opens one more store. If that fails, returns the error and leaves `loaded` unchanged.
  private func add(_ description: PersistentStoreDescription, to loaded: inout OpenStores?) -> PerdureError? {
    do throws(PerdureError) {
      loaded = try open([description], beside: loaded?.members ?? [])
      return nil
    } catch {
      return error
    }
  }

  /// The open stores, in the order in which they are queried.
  public var persistentStores: [LoadedStore] {
    loaded.withLock { $0?.members.map(\.name) ?? [] }
  }

  /// Opens one more store, and creates it if it is missing.
  ///
  /// Contexts that are made later contain the store. Existing contexts continue without it. The
  /// next access to `viewContext` makes a new context. If the old context has pending changes, the
  /// container keeps it until these are saved or rolled back. While the store is being opened, a
  /// thread that requests a context waits.
  ///
  /// - Throws: The errors of `loadPersistentStores()`. Also 134080 if the container already has the
  ///   store or a copy of it open. After an error, nothing has changed.
  /// - Complexity: as `loadPersistentStores()`.
  @discardableResult
  public func addPersistentStore(
    _ description: PersistentStoreDescription
  ) throws(PerdureError) -> LoadedStore {
    try loaded.withLock { loaded throws(PerdureError) in
      let open = try open([description], beside: loaded?.members ?? [])
      loaded = open
      return open.members[open.members.count - 1].name
    }
  }

  /// Closes one of the stores. Its files are not removed.
  ///
  /// Contexts that are made later do not contain the store. Existing contexts can still read the
  /// state that they see, even after `close()`. A save with changes for the store throws 134030 and
  /// saves nothing. If the store was the last open one, fetches and saves of later contexts throw.
  ///
  /// - Throws: `PerdureError`: 134070 if the store is not open, and nothing has changed; 134030 if
  ///   the commits could not be made durable.
  public func removePersistentStore(_ store: LoadedStore) throws(PerdureError) {
    let closing = try loaded.withLock { loaded throws(PerdureError) in
      var members = loaded?.members ?? []
      guard let position = members.firstIndex(where: { $0.name == store }) else {
        throw PerdureError(
          .storeOperation,
          "The container \"\(name)\" has no open store \(store.identifier). It was removed already, or never opened."
        )
      }
      let removed = members.remove(at: position)
      if members.isEmpty, let open = loaded { noteClosed(open) }
      loaded =
        members.isEmpty
        ? nil : OpenStores(members: members, source: try source(members, resolvedClasses()))
      return removed.store
    }
    try Self.close(closing)
  }

  /// Closes the open stores, and ends the use of their contexts.
  ///
  /// From then on, fetches, saves, backups and `performBackgroundTask` throw 134060 with a
  /// `StoreError` of the code `closed` as `cause`. Objects show the loaded values; a property that
  /// is not loaded reads as having no value. Contexts may still be made; their fetches and saves
  /// throw too. So a task that works while another one closes the container gets an error. A fetch
  /// that is running ends or throws.
  ///
  /// - Throws: `PerdureError` with code 134030 if the commits could not be made durable.
  public func close() throws(PerdureError) {
    let closing = loaded.withLock { loaded in
      if let open = loaded { noteClosed(open) }
      defer { loaded = nil }
      return loaded
    }
    guard let closing else { return }
    closing.source.store.endReading()
    try Self.close(closing.source.store)
  }

  /// Keeps a source for contexts that are made while no store is open.
  private func noteClosed(_ open: OpenStores) {
    let source = ContextSource(
      store: ClosedStore(open.source.store), graph: open.source.graph, durability: open.source.durability,
      log: logSwitch)
    closed.withLock { $0 = source }
  }

  private static func close(_ store: any PersistentStore) throws(PerdureError) {
    do { try store.close() } catch {
      var failure = PerdureError(
        .saveFailed, "The store was closed, but not everything was made durable. The cause says why.")
      failure.cause = error
      throw failure
    }
  }

  // MARK: Opening

  /// Opens stores, all or none.
  private func open(
    _ descriptions: [PersistentStoreDescription], beside before: [OpenStores.Member]
  ) throws(PerdureError) -> OpenStores {
    var members = before
    do throws(PerdureError) {
      let classes = try resolvedClasses()
      for description in descriptions {
        let member = try open(description)
        members.append(member)
        try checkIsNew(member, beside: members.dropLast())
      }
      return OpenStores(members: members, source: try source(members, classes))
    } catch {
      // Ignore errors of closing: the original error matters more.
      for member in members.dropFirst(before.count) { try? member.store.close() }
      throw error
    }
  }

  private func open(_ description: PersistentStoreDescription) throws(PerdureError) -> OpenStores.Member {
    do {
      let model = try model(of: description)
      try model.checkTransformers()
      let store = try factory.open(description, model)
      return OpenStores.Member(name: LoadedStore(identifier: store.identifier, description), store: store)
    } catch let error as PerdureError {
      throw error
    } catch {
      throw failure(error, description)
    }
  }

  /// Throws if the store or a copy of it is already open, because an id then identifies two
  /// objects.
  private func checkIsNew(
    _ member: OpenStores.Member, beside others: some Sequence<OpenStores.Member>
  ) throws(PerdureError) {
    guard others.contains(where: { $0.name.identifier == member.name.identifier }) else { return }
    throw PerdureError(
      .openFailed,
      "The container already has the store \(member.name.identifier) or a copy of it open, so ids are ambiguous. Close "
        + "the other one first."
    )
  }

  private func model(of description: PersistentStoreDescription) throws -> ManagedObjectModel {
    guard let configuration = description.configuration else { return managedObjectModel }
    guard managedObjectModel.configurations.contains(configuration) else {
      throw PerdureError(.incompatibleSchema, managedObjectModel.lack(ofConfiguration: configuration))
    }
    return try managedObjectModel.restricted(toConfiguration: configuration)
  }

  private func failure(_ error: any Error, _ description: PersistentStoreDescription) -> PerdureError {
    let isIncompatible = (error as? ModelError)?.code == .incompatibleModel
    var failure = PerdureError(
      isIncompatible ? .incompatibleModel : .openFailed,
      "The store \(description.path ?? "in memory") could not be opened. The cause says why.")
    failure.cause = error
    return failure
  }

  private func resolvedClasses() throws(PerdureError) -> [String: ManagedObject.Type] {
    let resolved = try ClassResolution(
      model: managedObjectModel, given: classes, byEntityName: classesByEntityName
    ).classes()
    KeyPathProbe.note(resolved, of: managedObjectModel)
    return resolved
  }

  /// The source from which contexts of the stores are made.
  private func source(
    _ members: [OpenStores.Member], _ classes: [String: ManagedObject.Type]
  ) throws(PerdureError) -> ContextSource {
    let description = members[0].name.persistentStoreDescription
    do {
      guard members.count > 1 else {
        let store = members[0].store
        let whole = GraphStore(
          identifier: store.identifier, isReadOnly: description.isReadOnly,
          entityNumbers: store.schema.entities.indices, in: store.schema)
        let graph = try GraphSchema(
          model: model(of: description), store: store.schema, stores: [whole], classes: classes,
          givenClasses: self.classes, configuration: description.configuration)
        return ContextSource(store: store, graph: graph, durability: description.durability, log: logSwitch)
      }
      let store = try joined(members)
      let graph = try GraphSchema(
        model: managedObjectModel, store: store.schema, stores: store.graphStores, classes: classes,
        givenClasses: self.classes)
      return ContextSource(store: store, graph: graph, durability: description.durability, log: logSwitch)
    } catch let error as PerdureError {
      throw error
    } catch {
      throw failure(error, description)
    }
  }

  private func joined(_ members: [OpenStores.Member]) throws(PerdureError) -> JoinedStore {
    let store = JoinedStore(
      members.map {
        JoinedStore.Member(
          $0.store, durability: $0.name.persistentStoreDescription.durability, isReadOnly: $0.name.isReadOnly)
      })
    if let store { return store }
    throw PerdureError(
      .openFailed,
      "The stores have more than 65,535 entities in total, or there are more than 255 stores. Open fewer of them."
    )
  }
}

extension JoinedStore {
  /// The stores, as contexts know them.
  fileprivate var graphStores: [GraphStore] {
    zip(members, places.offsets).map { member, offset in
      let first = Int(offset.entity)
      return GraphStore(
        identifier: member.store.identifier, isReadOnly: member.isReadOnly,
        entityNumbers: first..<first + member.store.schema.entities.count, in: schema)
    }
  }
}

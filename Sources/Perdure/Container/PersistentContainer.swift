internal import PerdureFileIO
public import PerdureModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A model, a store of its objects, and the contexts on it.
///
///     let container = try PersistentContainer(
///       name: "Staff", classes: [Company.self, Person.self, Worker.self, Project.self], at: path)
///     try container.loadPersistentStores()
///     let context = container.newContext()
///
/// A container may be used from any isolation; the contexts it makes may not be shared. It stays open while
/// it or one of its contexts lives, or until `close()`. One process at a time has a store open for writing; any
/// number read it (`PersistentStoreDescription.isReadOnly`).
public final class PersistentContainer: Sendable {
  /// The name, for people.
  public let name: String
  /// The model.
  public let managedObjectModel: ManagedObjectModel
  /// Where the objects are kept.
  public let persistentStoreDescription: PersistentStoreDescription
  private let classes: [ManagedObject.Type]
  private let classesByEntityName: [String: ManagedObject.Type]
  private let factory: StoreFactory
  private let source = Guarded<ContextSource?>(nil)
  @MainActor private var madeViewContext: ManagedObjectContext?

  package init(
    name: String, model: ManagedObjectModel, classes: [ManagedObject.Type],
    classesByEntityName: [String: ManagedObject.Type] = [:], description: PersistentStoreDescription,
    factory: StoreFactory
  ) {
    self.name = name
    managedObjectModel = model
    persistentStoreDescription = description
    self.classes = classes
    self.classesByEntityName = classesByEntityName
    self.factory = factory
  }

  /// Makes a container; the store is opened by `loadPersistentStores`.
  ///
  /// - Parameters:
  ///   - classes: The classes of the objects. An entity has the one that its `managedObjectClassName` names, as
  ///     `Class` or `Module.Class`, or else the one that describes it. An entity without one takes its parent's, at the
  ///     root `ManagedObject`, whose properties are reached by name.
  ///   - classesByEntityName: The classes of particular entities; a class may be that of several.
  public convenience init(
    name: String, model: ManagedObjectModel, classes: [ManagedObject.Type] = [],
    classesByEntityName: [String: ManagedObject.Type] = [:], description: PersistentStoreDescription
  ) {
    self.init(
      name: name, model: model, classes: classes, classesByEntityName: classesByEntityName,
      description: description, factory: .standard)
  }

  /// Makes a container whose store is the directory at `path`.
  public convenience init(
    name: String, model: ManagedObjectModel, classes: [ManagedObject.Type] = [],
    classesByEntityName: [String: ManagedObject.Type] = [:], at path: String
  ) {
    self.init(
      name: name, model: model, classes: classes, classesByEntityName: classesByEntityName,
      description: .init(path: path))
  }

  /// Makes a container for the entities of classes.
  ///
  /// - Throws: `ModelError` when the entities do not make a valid model.
  public convenience init(
    name: String, classes: [ManagedObject.Type], description: PersistentStoreDescription
  ) throws(ModelError) {
    // Several classes may describe one entity, and some may describe none.
    var descriptions: [EntityDescription] = []
    for type in classes {
      let description = type.entityDescription
      if !description.name.isEmpty, !descriptions.contains(description) { descriptions.append(description) }
    }
    let model = try ManagedObjectModel(descriptions)
    self.init(name: name, model: model, classes: classes, description: description)
  }

  /// Makes a container for the entities of classes, whose store is the directory at `path`.
  ///
  /// - Throws: `ModelError` when the entities do not make a valid model.
  public convenience init(
    name: String, classes: [ManagedObject.Type], at path: String
  ) throws(ModelError) {
    try self.init(name: name, classes: classes, description: .init(path: path))
  }
}

// MARK: - The store

extension PersistentContainer {
  /// Opens the store, or makes it when there is none. Opening what is open already changes nothing.
  ///
  /// What a crash left unfinished is taken back, and every save that had returned is there. When the model has
  /// additions, entities, properties or indexes, the store takes them on.
  ///
  /// - Throws: `PerdureError`, and the container can be asked again: 134080 with the store's error as `cause`, for
  ///   example that another process is writing it; 134100 when the model differs by more than additions.
  /// - Complexity: O(changes since the last checkpoint); O(n log n) for n objects when an index is new, or is
  ///   made anew. Blocks the caller's thread meanwhile.
  public func loadPersistentStores() throws(PerdureError) {
    try source.withLock { source throws(PerdureError) in
      if source == nil { source = try open() }
    }
  }

  /// Opens the store and says how that went, before it returns.
  public func loadPersistentStores(
    completionHandler: (PersistentStoreDescription, PerdureError?) -> Void
  ) {
    do throws(PerdureError) {
      try loadPersistentStores()
    } catch {
      completionHandler(persistentStoreDescription, error)
      return
    }
    completionHandler(persistentStoreDescription, nil)
  }

  /// Closes the store. Contexts can read on what they see and cannot save any more.
  ///
  /// - Throws: `PerdureError` with code 134030 when what was committed could not be made durable.
  public func close() throws(PerdureError) {
    guard
      let closing = source.withLock({ source in
        defer { source = nil }
        return source
      })
    else { return }
    do {
      try closing.store.close()
    } catch {
      var failure = PerdureError(.saveFailed, "The store did not close as it should.")
      failure.cause = error
      throw failure
    }
  }

  private func open() throws(PerdureError) -> ContextSource {
    do {
      let configuration = persistentStoreDescription.configuration
      let model = try configuration.map { try managedObjectModel.restricted(toConfiguration: $0) }
      let classes = try ClassResolution(
        model: managedObjectModel, given: classes, byEntityName: classesByEntityName
      ).classes()
      try (model ?? managedObjectModel).checkTransformers()
      let store = try factory.open(persistentStoreDescription, model ?? managedObjectModel)
      let graph = try GraphSchema(
        model: model ?? managedObjectModel, store: store.schema, storeIdentifier: store.identifier,
        classes: classes, configuration: configuration)
      return ContextSource(
        store: store, graph: graph, durability: persistentStoreDescription.durability,
        isReadOnly: persistentStoreDescription.isReadOnly)
    } catch let error as PerdureError {
      throw error
    } catch {
      let isIncompatible = (error as? ModelError)?.code == .incompatibleModel
      var failure = PerdureError(
        isIncompatible ? .incompatibleModel : .openFailed,
        "The store \(persistentStoreDescription.path ?? "in memory") could not be opened.")
      failure.cause = error
      throw failure
    }
  }

  func loadedSource() -> ContextSource {
    guard let source = source.withLock({ $0 }) else {
      stop(hasNoStore)
    }
    return source
  }

  private var hasNoStore: String {
    "The container \"\(name)\" has no open store: call loadPersistentStores() first."
  }

  /// The id with a URI, as this container's store knows it; nil when it belongs to another store or to an
  /// entity that the model does not have. Whether the object exists is not asked.
  public func managedObjectID(forURI uri: String) -> ManagedObjectID? {
    loadedSource().graph.managedObjectID(ManagedObjectID(uri: uri))
  }

  /// The id with a URI; as `managedObjectID(forURI:)`.
  public func managedObjectID(forURIRepresentation url: URL) -> ManagedObjectID? {
    loadedSource().graph.managedObjectID(ManagedObjectID(uriRepresentation: url))
  }
}

// MARK: - Contexts

extension PersistentContainer {
  /// Makes a context for the caller's own isolation: a local variable, or a property of an actor.
  ///
  /// The store must have been loaded.
  public func newContext() -> sending ManagedObjectContext {
    ManagedObjectContext(loadedSource(), ownership: .local)
  }

  /// The main actor's context, made at first use, and again after the store was closed and loaded anew. For
  /// programs with a user interface; where nothing serves the main queue, use `newContext()`.
  @MainActor public var viewContext: ManagedObjectContext {
    if let made = madeViewContext, source.withLock({ $0.map { $0.store === made.core.store } ?? true }) {
      return made
    }
    let context = ManagedObjectContext(loadedSource(), ownership: .main)
    madeViewContext = context
    return context
  }

  /// Makes a context with a queue of its own.
  ///
  /// The store must have been loaded.
  public func newBackgroundContext() -> BackgroundContext { BackgroundContext(loadedSource()) }

  /// Runs a task in a new context on a queue of its own.
  ///
  /// - Returns: What the task returns: ids and values, never objects.
  /// - Throws: What the task throws; `PerdureError` with code 134080 when the store is not open, because somebody
  ///   else has closed it.
  public func performBackgroundTask<T: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    guard let source = source.withLock({ $0 }) else { throw PerdureError(.openFailed, hasNoStore) }
    return try await BackgroundContext(source).perform(body)
  }
}

internal import PerdureFileIO
public import PerdureModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A model, the stores of its objects, and the contexts on them.
///
///     let container = try PersistentContainer(
///       name: "Staff", classes: [Company.self, Person.self, Worker.self, Project.self], at: path)
///     try container.loadPersistentStores()
///     let context = container.newContext()
///
/// A container may be used from any isolation. A context that it makes must not be shared between
/// isolations. The container stays open until `close()`, or until it and its contexts are released.
/// Only one process at a time can open a store for writing. Any number of processes can read it
/// (`PersistentStoreDescription.isReadOnly`).
///
/// Containers and contexts belong to the process that opened the stores. In a forked child,
/// fetches, saves and backups throw `PerdureError` with a `StoreError` of the code `forked`
/// (PerdureLog) as `cause`. Faults have no values there. A count without a predicate can still
/// return the number at the fork; other counts throw. Closing the container in the child changes no
/// file, and the parent keeps its stores. The child can load the stores itself after the parent has
/// closed them. Do not use background contexts in a child: the threads of their queues stay in the
/// parent. It is best to load stores after forking.
public final class PersistentContainer: Sendable {
  /// The name, for display.
  public let name: String
  /// The model.
  public let managedObjectModel: ManagedObjectModel
  /// The stores that `loadPersistentStores` opens, in this order.
  public let persistentStoreDescriptions: [PersistentStoreDescription]
  let classes: [ManagedObject.Type]
  let classesByEntityName: [String: ManagedObject.Type]
  let factory: StoreFactory
  let loaded = GuardedStores()
  /// The source for contexts while no store is open. Nil until the last open store is closed for
  /// the first time.
  let closed = Guarded<ContextSource?>(nil)
  let logSwitch = LogSwitch()
  /// Computed once: Foundation reads the limits of the process from files.
  private static let backgroundTaskLimit = max(16, 4 * ProcessInfo.processInfo.activeProcessorCount)
  private let backgroundTasks = TaskLimiter(limit: PersistentContainer.backgroundTaskLimit)
  @MainActor private var madeViewContext: ManagedObjectContext?

  package init(
    name: String, model: ManagedObjectModel, classes: [ManagedObject.Type],
    classesByEntityName: [String: ManagedObject.Type] = [:],
    storeDescriptions: [PersistentStoreDescription], factory: StoreFactory,
    file: StaticString = #fileID, line: UInt = #line
  ) {
    if storeDescriptions.isEmpty {
      stop(
        "The container \"\(name)\" has no store: storeDescriptions is empty. Give it at least one.",
        file: file,
        line: line)
    }
    self.name = name
    managedObjectModel = model
    persistentStoreDescriptions = storeDescriptions
    self.classes = classes
    self.classesByEntityName = classesByEntityName
    self.factory = factory
  }

  package convenience init(
    name: String, model: ManagedObjectModel, classes: [ManagedObject.Type],
    classesByEntityName: [String: ManagedObject.Type] = [:], description: PersistentStoreDescription,
    factory: StoreFactory
  ) {
    self.init(
      name: name, model: model, classes: classes, classesByEntityName: classesByEntityName,
      storeDescriptions: [description], factory: factory)
  }

  /// Makes a container; the store is opened by `loadPersistentStores`.
  ///
  /// - Parameters:
  ///   - name: The name of the container, for messages.
  ///   - model: The entities of the store.
  ///   - classes: The classes of the objects. An entity has the class that its
  ///     `managedObjectClassName` names (`Class` or `Module.Class`), or else the class that
  ///     describes it. Without such a class, it has the class of its parent, or `ManagedObject`:
  ///     properties are then accessed by name.
  ///   - classesByEntityName: The classes of particular entities. A class may belong to several
  ///     entities.
  ///   - description: The location and the options of the store.
  public convenience init(
    name: String, model: ManagedObjectModel, classes: [ManagedObject.Type] = [],
    classesByEntityName: [String: ManagedObject.Type] = [:], description: PersistentStoreDescription
  ) {
    self.init(
      name: name, model: model, classes: classes, classesByEntityName: classesByEntityName,
      description: description, factory: .standard)
  }

  /// Makes a container with several stores, each for the entities of a configuration of the model.
  ///
  ///     let container = PersistentContainer(
  ///       name: "Library", model: model, classes: [Book.self, Note.self],
  ///       storeDescriptions: [
  ///         PersistentStoreDescription(path: books, isReadOnly: true, configuration: "Catalogue"),
  ///         PersistentStoreDescription(path: notes, configuration: "Notes"),
  ///       ])
  ///
  /// If several stores have an entity, the program sees one entity. A fetch reads all of these
  /// stores. A new object is saved in the first writable one, unless
  /// `ManagedObjectContext.assign(_:to:)` chooses another. A relationship cannot connect objects of
  /// different stores.
  ///
  /// - Parameters:
  ///   - name: The name of the container, for messages.
  ///   - model: The entities of all stores, with the configurations that the descriptions name.
  ///   - classes: The classes of the objects, as for one store.
  ///   - classesByEntityName: The classes of particular entities.
  ///   - storeDescriptions: The descriptions of the stores; at least one.
  ///   - file: The caller's file, shown if misuse stops the program.
  ///   - line: The caller's line.
  public convenience init(
    name: String, model: ManagedObjectModel, classes: [ManagedObject.Type] = [],
    classesByEntityName: [String: ManagedObject.Type] = [:],
    storeDescriptions: [PersistentStoreDescription],
    file: StaticString = #fileID, line: UInt = #line
  ) {
    self.init(
      name: name, model: model, classes: classes, classesByEntityName: classesByEntityName,
      storeDescriptions: storeDescriptions, factory: .standard, file: file, line: line)
  }

  /// The first of `persistentStoreDescriptions`.
  public var persistentStoreDescription: PersistentStoreDescription { persistentStoreDescriptions[0] }

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
  /// - Throws: `ModelError` if the entities do not form a valid model, or if classes are given and
  ///   none describes an entity.
  public convenience init(
    name: String, classes: [ManagedObject.Type], description: PersistentStoreDescription
  ) throws(ModelError) {
    self.init(
      name: name, model: try ClassDescriptions.model(of: classes), classes: classes, description: description)
  }

  /// Makes a container for the entities of classes, whose store is the directory at `path`.
  ///
  /// - Throws: `ModelError` if the entities do not form a valid model, or if classes are given and
  ///   none describes an entity.
  public convenience init(
    name: String, classes: [ManagedObject.Type], at path: String
  ) throws(ModelError) {
    try self.init(name: name, classes: classes, description: .init(path: path))
  }

  /// Makes a container whose store is `name.perdure` in the default directory.
  ///
  /// - Parameters:
  ///   - name: The name of the container and of its store. It must not contain a slash.
  ///   - managedObjectModel: The entities of the store.
  ///   - classes: The classes of the objects, as for `init(name:model:classes:at:)`.
  ///   - classesByEntityName: The classes of particular entities.
  /// - SeeAlso: ``defaultDirectoryURL()``
  public convenience init(
    name: String, managedObjectModel: ManagedObjectModel, classes: [ManagedObject.Type] = [],
    classesByEntityName: [String: ManagedObject.Type] = [:]
  ) {
    self.init(
      name: name, model: managedObjectModel, classes: classes, classesByEntityName: classesByEntityName,
      description: .inDefaultDirectory(named: name))
  }

  /// Makes a container for the entities of classes, whose store is `name.perdure` in the default
  /// directory; see ``defaultDirectoryURL()``.
  ///
  /// - Throws: `ModelError` if the entities do not form a valid model, or if classes are given and
  ///   none describes an entity.
  public convenience init(name: String, classes: [ManagedObject.Type]) throws(ModelError) {
    try self.init(name: name, classes: classes, description: .inDefaultDirectory(named: name))
  }
}

// MARK: - The default directory

extension PersistentContainer {
  /// The folder for stores without a path.
  ///
  /// | platform | folder |
  /// |---|---|
  /// | Linux and others | `$XDG_DATA_HOME/<process>`, or `~/.local/share/<process>` |
  /// | Apple platforms | `~/Library/Application Support/<process>` |
  /// | Windows | `%LOCALAPPDATA%\<process>` |
  ///
  /// `<process>` is the name of the program's file. If the folder is missing, loading a store of
  /// ``PersistentStoreDescription/inDefaultDirectory(named:file:line:)`` creates it.
  public static func defaultDirectoryURL() -> URL {
    URL(fileURLWithPath: DefaultDirectory.ofProcess(), isDirectory: true)
  }
}

// MARK: - Open stores

extension PersistentContainer {
  func loadedSource(file: StaticString, line: UInt) -> ContextSource {
    guard let source = loaded.withLock({ $0?.source }) ?? closed.withLock({ $0 }) else {
      stop(hasNoStore, file: file, line: line)
    }
    return source
  }

  /// An open store; the first one if `store` is nil.
  ///
  /// - Throws: `PerdureError` with code 134060 if `store` is not open, or if no store is open.
  func openMember(_ store: LoadedStore?) throws(PerdureError) -> OpenStores.Member {
    let members = loaded.withLock { $0?.members } ?? []
    if members.isEmpty { throw noOpenStore }
    guard let member = store.map({ store in members.first { $0.name == store } }) ?? members.first else {
      throw PerdureError(
        .readFailed, "The container \"\(name)\" does not have this store open. Load it first.")
    }
    return member
  }

  /// The error of operations that need an open store: the same as for reads of a closed container.
  private var noOpenStore: PerdureError {
    if let source = closed.withLock({ $0 }) { return .closed(source.store.identifier) }
    return PerdureError(.readFailed, hasNoStore)
  }

  private var hasNoStore: String {
    "The container \"\(name)\" has no open store. Call loadPersistentStores() first."
  }

  /// The id of the object that `uri` identifies, if it belongs to a store of this container. Nil if
  /// `uri` is not the text form of an id. Also nil if the id belongs to another store, to a store
  /// that was removed, or to an entity that its store does not have. The existence of the object is
  /// not checked. The stores must have been loaded: otherwise the program stops.
  public func managedObjectID(forURI uri: String) -> ManagedObjectID? {
    loadedSource(file: #fileID, line: #line).graph.managedObjectID(ManagedObjectID(uri: uri))
  }

  /// The id of the object that `url` identifies; like `managedObjectID(forURI:)`.
  public func managedObjectID(forURIRepresentation url: URL) -> ManagedObjectID? {
    loadedSource(file: #fileID, line: #line).graph.managedObjectID(ManagedObjectID(uriRepresentation: url))
  }
}

// MARK: - Contexts

extension PersistentContainer {
  /// Makes a context for the caller's own isolation: a local variable, or a property of an actor.
  ///
  /// The store must have been loaded: otherwise the program stops, and reports the caller's file
  /// and line. After `close()`, the fetches and saves of the context throw.
  public func newContext(
    file: StaticString = #fileID, line: UInt = #line
  ) -> sending ManagedObjectContext {
    ManagedObjectContext(loadedSource(file: file, line: line), ownership: .local)
  }

  /// The main actor's context, for programs with a user interface. If the program does not run the
  /// main queue, use `newContext()`.
  ///
  /// The first access creates the context. The container replaces it after stores were added or
  /// removed, or were closed and loaded again. A context with unsaved changes is kept while one of
  /// its stores is open; the next context has the stores that were added. Changes for a removed
  /// store can never be saved, so such a context is kept until it is rolled back.
  ///
  /// A new context copies the settings of the previous one, such as `mergePolicy` and
  /// `automaticallyMergesChangesFromParent`. It also gets the observers, the sequences of events
  /// and the undo manager. It is not pinned to a state.
  @MainActor public var viewContext: ManagedObjectContext {
    if let made = madeViewContext {
      let store = made.core.store
      let (isCurrent, isOpen) = loaded.withLock { loaded in
        (loaded.map { $0.source.store === store } ?? true, loaded?.hasAny(of: store) ?? false)
      }
      if isCurrent || isOpen && made.hasChanges { return made }
    }
    let context = ManagedObjectContext(loadedSource(file: #fileID, line: #line), ownership: .main)
    if let made = madeViewContext { context.core.takeOverSettings(of: made.core) }
    madeViewContext = context
    return context
  }

  /// Makes a context with its own queue.
  ///
  /// The store must have been loaded, as for `newContext()`.
  public func newBackgroundContext(
    file: StaticString = #fileID, line: UInt = #line
  ) -> BackgroundContext {
    BackgroundContext(loadedSource(file: file, line: line))
  }

  /// Runs a task in a new context, outside the caller's isolation.
  ///
  /// The task has its own thread. At most `backgroundTaskLimit` tasks run at the same time. Others
  /// wait in order, without a thread, and then see the newest state of the store. So `body` must
  /// not wait for another background task of the container.
  ///
  /// If the calling task is cancelled, a fetch or count in `body` throws `CancellationError`.
  ///
  /// - Parameter body: The work to do with the context. Unsaved changes are lost when `body`
  ///   returns.
  /// - Returns: The result of `body`: ids and values, never objects.
  /// - Throws: The error of `body`; `PerdureError` with code 134060 if no store is open;
  ///   `CancellationError` if the calling task is cancelled before `body` starts. `body` then does
  ///   not run.
  public func performBackgroundTask<T: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    try await backgroundTasks.run {
      guard let source = loaded.withLock({ $0?.source }) else { throw noOpenStore }
      return try await BackgroundContext(source).perform(body)
    }
  }

  /// The maximum number of tasks of `performBackgroundTask` that run at the same time.
  ///
  /// Default: four for each processor, and at least 16. Why: running tasks block threads, and saves
  /// that wait for the disk at the same time share a sync. The numbers are chosen, not measured.
  ///
  /// Range: 1 or more. A greater limit admits waiting tasks immediately. A smaller limit does not
  /// stop running tasks. May be set from any thread.
  public var backgroundTaskLimit: Int {
    get { backgroundTasks.limit }
    set {
      if newValue < 1 { stop("backgroundTaskLimit is \(newValue); give 1 or more.") }
      backgroundTasks.setLimit(newValue)
    }
  }
}

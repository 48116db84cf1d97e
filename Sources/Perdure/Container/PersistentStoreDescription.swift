public import PerdureLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The location and the options of a container's store.
public struct PersistentStoreDescription: Sendable, Hashable {
  /// The location of a store.
  public enum Location: Sendable, Hashable {
    /// A directory, which is created if it is missing. By convention its name ends in `.perdure`.
    case directory(path: String)
    /// Memory: the content is lost when the container is closed or released.
    case memory
  }

  /// The location of the store.
  public var location: Location
  /// Whether the store may only be read. Saving then fails.
  ///
  /// Another process may write to the store at the same time. New contexts show its saves. An
  /// existing context advances to the newest state at the start of each `perform`, and in
  /// `rollback()`, `reset()`, `refreshAllObjects()` and `refresh(_:mergeChanges:)`. Each advance
  /// reads a few files. If the store has newer saves, the advance costs as much as loading the
  /// store. If the context cannot read the newest state, its next fetch from this store throws an
  /// error with the reason as `cause`. Error 134100 says that the writer has changed the model, and
  /// that a container with that model can read the store. While the newest state cannot be read,
  /// the first fetch of every `perform` and of every new context throws. Later fetches read the
  /// earlier state. The context tries again at each later advance.
  public var isReadOnly: Bool
  /// The durability of a save when it returns.
  public var durability: Durability
  /// The configuration of the model whose entities the store contains; nil for all entities.
  ///
  /// Objects of other entities cannot be inserted or fetched, unless another store of the container
  /// contains these entities. The destination of each relationship must be in the configuration
  /// too. A store that was created with a configuration accepts a larger one, or all entities, but
  /// no smaller one.
  public var configuration: String?
  /// Whether loading the store creates missing folders above it. The created folders are durable
  /// before the store is created. False by default, because a missing folder is often a wrong path.
  public var createsFolders = false
  /// Changes the options with which the engine opens the store. The closure is called at each
  /// opening, on the opening thread.
  ///
  /// With nil, the engine's defaults apply, which suit most graphs. For example, closing writes a
  /// checkpoint if the log has at least 32 KiB after the last one
  /// (`CheckpointOptions.closeTailBytes`).
  ///
  ///     description.configuresEngine = { options in
  ///       options.fileSystem = fileSystem
  ///       (options.checkpoints, options.compactsAutomatically) = (.manual, false)
  ///     }
  ///
  /// The closure is for crash-recovery suites with their own file system (PerdureTestSupport has
  /// one), and for stores that the defaults do not suit. `isReadOnly` and `durability` always come
  /// from the description. Comparisons of descriptions ignore the closure. Functions that take only
  /// a path, such as `PersistentContainer.destroyPersistentStore(at:)`, ignore the closure and use
  /// the file system of the operating system.
  public var configuresEngine: (@Sendable (inout StoreOptions) -> Void)?

  /// Describes a store in a directory.
  public init(
    path: String, isReadOnly: Bool = false, durability: Durability = .powerLoss, configuration: String? = nil
  ) {
    location = .directory(path: path)
    self.isReadOnly = isReadOnly
    self.durability = durability
    self.configuration = configuration
  }

  /// Describes a store in a directory, given as a file URL.
  public init(
    url: URL, isReadOnly: Bool = false, durability: Durability = .powerLoss, configuration: String? = nil,
    file: StaticString = #fileID, line: UInt = #line
  ) {
    if !url.isFileURL {
      stop(
        "A store is a directory of the file system, but \(url) is not a file URL. Use URL(fileURLWithPath:).",
        file: file, line: line)
    }
    self.init(path: url.path, isReadOnly: isReadOnly, durability: durability, configuration: configuration)
  }

  private init(location: Location) {
    self.location = location
    isReadOnly = false
    durability = .relaxed
  }

  /// A store in memory, for tests and scratch work.
  public static let inMemory = PersistentStoreDescription(location: .memory)

  /// The store `name.perdure` in the program's default directory. Loading the store creates missing
  /// folders.
  ///
  /// - Parameters:
  ///   - name: A name without slashes.
  ///   - file: The file that the message about a wrong name shows.
  ///   - line: The line that the message about a wrong name shows.
  /// - SeeAlso: ``PersistentContainer/defaultDirectoryURL()``
  public static func inDefaultDirectory(
    named name: String, file: StaticString = #fileID, line: UInt = #line
  ) -> PersistentStoreDescription {
    if name.isEmpty || name.contains("/") {
      stop("\"\(name)\" cannot be the name of a store. Give a name without slashes.", file: file, line: line)
    }
    var description = PersistentStoreDescription(path: "\(DefaultDirectory.ofProcess())/\(name).perdure")
    description.createsFolders = true
    return description
  }

  /// The directory, if the store is in one.
  public var path: String? {
    if case .directory(let path) = location { path } else { nil }
  }

  /// The directory as a file URL, if the store is in one.
  public var url: URL? { path.map { URL(fileURLWithPath: $0) } }
}

extension PersistentStoreDescription {
  /// Whether both describe the same store and options; `configuresEngine` is not compared.
  public static func == (left: Self, right: Self) -> Bool { left.compared == right.compared }

  /// Hashes the compared properties.
  public func hash(into hasher: inout Hasher) { hasher.combine(compared) }

  private struct Compared: Hashable {
    let location: Location
    let isReadOnly: Bool
    let durability: Durability
    let configuration: String?
    let createsFolders: Bool
  }

  private var compared: Compared {
    Compared(
      location: location, isReadOnly: isReadOnly, durability: durability, configuration: configuration,
      createsFolders: createsFolders)
  }
}

public import PerdureLog

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Where a container keeps its objects, and how.
public struct PersistentStoreDescription: Sendable, Hashable {
  /// The place of a store.
  public enum Location: Sendable, Hashable {
    /// A directory, made when it is not there; by custom its name ends in `.perdure`.
    case directory(path: String)
    /// Memory: the store is gone when the container is closed or released.
    case memory
  }

  /// The place of the store.
  public var location: Location
  /// Whether the store may only be read. Saving then fails.
  ///
  /// Another process may write it meanwhile. What that has saved is seen by new contexts, and by those that move
  /// on: by `rollback()`, `reset()`, `refreshAllObjects()`, `refresh(_:mergeChanges:)`, and at the start of each
  /// `perform`. Each of these looks at a few files; when something was saved since, it costs what loading the store
  /// costs. Where the newest state cannot be shown, the context's next fetch from it throws, with the reason as `cause`:
  /// error 134100 says that the writer has changed the model, and that a container with that model can read on; while that
  /// lasts, the first fetch of every `perform` and of every new context throws.
  /// Fetches after that one read the state before, and each time that the context is to move on it is tried again.
  public var isReadOnly: Bool
  /// What a save has survived when it returns.
  public var durability: Durability
  /// The configuration of the model whose entities the store holds; nil for all entities.
  ///
  /// Objects of other entities cannot be inserted or fetched, unless another store of the container has them. No relationship of the configuration may lead out of it.
  /// A store that was made with a configuration takes on a greater one, or all entities, and no smaller one.
  public var configuration: String?
  /// Changes what the engine is opened with; nil for what is right for most graphs: the engine's defaults, and a checkpoint
  /// at close from 128 KiB on (`CheckpointOptions.closeTailBytes`). Called at each opening, on the thread that opens.
  ///
  ///     description.configuresEngine = { options in
  ///       options.fileSystem = fileSystem
  ///       (options.checkpoints, options.compactsAutomatically) = (.manual, false)
  ///     }
  ///
  /// For crash-recovery suites, which put a file system of their own underneath (PerdureTestSupport has one), and for
  /// stores that are not as the defaults expect. `isReadOnly` and `durability` of the options are those of the
  /// description, whatever it sets. Descriptions are equal whatever it does: functions cannot be compared. What is done with
  /// a path alone (`PersistentContainer.destroyPersistentStore(at:)` and its kin) does not know of it, and means the
  /// system's files.
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
        "A store is a directory of the file system, and \(url) is not a file URL. Use URL(fileURLWithPath:).",
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

  /// The directory, if the store is in one.
  public var path: String? {
    if case .directory(let path) = location { path } else { nil }
  }

  /// The directory as a file URL, if the store is in one.
  public var url: URL? { path.map { URL(fileURLWithPath: $0) } }
}

extension PersistentStoreDescription {
  /// Whether both mean the same store, opened in the same way; `configuresEngine` is not looked at.
  public static func == (left: Self, right: Self) -> Bool { left.compared == right.compared }

  /// Hashes what is compared.
  public func hash(into hasher: inout Hasher) { hasher.combine(compared) }

  private struct Compared: Hashable {
    let location: Location
    let isReadOnly: Bool
    let durability: Durability
    let configuration: String?
  }

  private var compared: Compared {
    Compared(
      location: location, isReadOnly: isReadOnly, durability: durability, configuration: configuration)
  }
}

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
  /// Another process may write it meanwhile. The container shows the store as it was when it was opened; to see what has
  /// been saved since, close it and load the store again.
  public var isReadOnly: Bool
  /// What a save has survived when it returns.
  public var durability: Durability

  /// Describes a store in a directory.
  public init(path: String, isReadOnly: Bool = false, durability: Durability = .powerLoss) {
    location = .directory(path: path)
    self.isReadOnly = isReadOnly
    self.durability = durability
  }

  /// Describes a store in a directory, given as a file URL.
  public init(url: URL, isReadOnly: Bool = false, durability: Durability = .powerLoss) {
    if !url.isFileURL { stop("A store is a directory of the file system: \(url) is not.") }
    self.init(path: url.path, isReadOnly: isReadOnly, durability: durability)
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

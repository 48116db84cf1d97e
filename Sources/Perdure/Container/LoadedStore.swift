#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A store that a container has opened. It is a value that can be sent to any isolation. It does
/// not keep the store open.
public struct LoadedStore: Sendable, Hashable {
  /// The permanent identifier of the store. It is part of the URI form of its objects' ids.
  public let identifier: String
  /// The path and the options of the store.
  public let persistentStoreDescription: PersistentStoreDescription

  init(identifier: String, _ description: PersistentStoreDescription) {
    self.identifier = identifier
    persistentStoreDescription = description
  }

  /// The configuration with which the store was opened; nil for all entities.
  public var configurationName: String? { persistentStoreDescription.configuration }

  /// Whether the store is open only for reading.
  public var isReadOnly: Bool { persistentStoreDescription.isReadOnly }

  /// The directory of the store as a file URL; nil if the store is in memory.
  public var url: URL? { persistentStoreDescription.url }
}

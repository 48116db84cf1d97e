#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A store that a container has opened. It is a value that can be sent to any isolation, and it
/// retains nothing.
public struct LoadedStore: Sendable, Hashable {
  /// The permanent identifier of the store. It is part of the URI form of its objects' ids.
  public let identifier: String
  /// Its path, and its options.
  public let persistentStoreDescription: PersistentStoreDescription

  init(identifier: String, _ description: PersistentStoreDescription) {
    self.identifier = identifier
    persistentStoreDescription = description
  }

  /// The configuration that it was opened with; nil for all entities.
  public var configurationName: String? { persistentStoreDescription.configuration }

  /// Whether it is only read.
  public var isReadOnly: Bool { persistentStoreDescription.isReadOnly }

  /// Its directory as a file URL, if it is in one.
  public var url: URL? { persistentStoreDescription.url }
}

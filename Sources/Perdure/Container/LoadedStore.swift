#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A store that a container has opened, as a value that can be sent to any isolation and retains
/// nothing.
public struct LoadedStore: Sendable, Hashable {
  /// Names the store for ever; part of the URI form of the ids of its objects.
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

/// What a context has asked its store for, counted since it was made. For tests and for finding out why
/// something is slow; fetches are not counted.
public struct ContextStatistics: Hashable, Sendable {
  /// How often rows were read because a fault fired. Siblings, objects that the same to-many relationship led
  /// to, are read together.
  public internal(set) var rowRequestCount = 0
  /// Rows that these requests gave, one an object.
  public internal(set) var rowCount = 0
  /// Rows that were read of objects without an instance: by delete rules and plans of deletions, when a save writes or
  /// checks them, and where a relationship is changed at its other end.
  public internal(set) var uninstantiatedRowCount = 0
  /// How often the other end of a relationship was looked up in an index.
  public internal(set) var relationshipRequestCount = 0
}

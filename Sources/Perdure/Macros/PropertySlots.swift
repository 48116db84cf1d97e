extension ManagedObject {
  /// Where the slots of this class's properties begin and end. Each class of an entity has one of its own,
  /// written by `@Entity`: its properties follow those of its superclass.
  public enum _Slot {
    /// The number of slots: none, for the class that all others inherit from.
    @inlinable public static var _count: Int { 0 }

    /// The names of the properties by key paths from a class that inherits them.
    public static func _names<Root: ManagedObject>(_ root: Root.Type) -> [AnyKeyPath: String] { [:] }
  }
}

/// The names of a class's properties by key path, made once. For generated code.
public struct _PropertyNames {
  /// The names by key path.
  public let names: [AnyKeyPath: String]

  /// Wraps the names of a class.
  public init(_ names: [AnyKeyPath: String]) { self.names = names }
}

// Unchecked: key paths are not marked as Sendable because they can capture arguments of subscripts; these
// name properties and capture nothing. The table never changes.
extension _PropertyNames: @unchecked Sendable {}

extension ManagedObject {
  // Inverses are looked up by name. For a class without `@Entity` there is no list of them, and any
  // may exist.

  /// Where the slots of this class's properties begin and end. Each class of an entity has its own,
  /// written by `@Entity`: its properties follow those of its superclass.
  @dynamicMemberLookup
  public enum _Slot {
    /// The number of slots: 0, for the class that all others inherit from.
    @inlinable public static var _count: Int { 0 }

    /// The names of the properties by key paths from a class that inherits them.
    public static func _names<Root: ManagedObject>(_ root: Root.Type) -> [AnyKeyPath: String] { [:] }

    /// A property that may exist. For generated code, which never asks.
    public static subscript(dynamicMember name: String) -> _UnknownSlot { _UnknownSlot() }
  }

  /// The slot of a property of a class without `@Entity`. It has no number, and nothing asks for
  /// one.
  public struct _UnknownSlot {
    init() {}
  }
}

/// The names of a class's properties by key path, made once. For generated code.
public struct _PropertyNames {
  /// The names by key path.
  public let names: [AnyKeyPath: String]

  /// Wraps the names of a class.
  public init(_ names: [AnyKeyPath: String]) { self.names = names }
}

// Unchecked: key paths are not marked as Sendable because they can capture arguments of subscripts;
// these name properties and capture nothing. The table never changes.
extension _PropertyNames: @unchecked Sendable {}

extension ManagedObject {
  // Inverses are found by name. A class without `@Entity` has no list of property names, so any
  // name is accepted.

  /// The range of the slots of this class's own properties. Each class of an entity has its own
  /// range, which `@Entity` generates. The range follows that of the superclass.
  @dynamicMemberLookup
  public enum _Slot {
    /// The number of slots: 0 for the base class.
    @inlinable public static var _count: Int { 0 }

    /// The names of the properties by key paths from a class that inherits them.
    public static func _names<Root: ManagedObject>(_ root: Root.Type) -> [AnyKeyPath: String] { [:] }

    /// Accepts any name, so that generated code compiles if a class without `@Entity` declares the
    /// property. The value is never read.
    public static subscript(dynamicMember name: String) -> _UnknownSlot { _UnknownSlot() }
  }

  /// The slot of a property in a class without `@Entity`. It has no number, and is never read.
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

// Unchecked, because key paths are not marked as Sendable: they can capture arguments of
// subscripts. The key paths of this table name properties and capture nothing. The table never
// changes.
extension _PropertyNames: @unchecked Sendable {}

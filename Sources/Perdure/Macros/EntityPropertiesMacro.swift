/// Makes the variables of an extension properties of the entity of its class.
///
///     @Entity(propertiesInExtension: true) class Guest: ManagedObject {
///     }
///
///     // In another file, for example generated:
///     @EntityProperties extension Guest {
///       @Attribute(.unique) var login: String?
///       @Relationship(inverse: "guest") var visits: ToMany<Visit>
///     }
///
/// The variables are declared as in the body of the class, with `@Attribute`, `@Relationship` and
/// `@Fetched`. They follow the properties of the body. The class must have the argument
/// `propertiesInExtension: true`, and must be in the same module. Otherwise the compiler reports an
/// error. A class has at most one such extension.
///
/// Members of an extension cannot override others. So accessors that the program implements,
/// functions with `@FetchTemplate`, and validation functions of single properties belong in the
/// body of the class. A validation function of a property of the extension takes `inout Any?`. The
/// generated initializer has parameters only for the properties of the body. If another class names
/// an inverse in a class with such an extension, the compiler does not check the name. The model
/// checks it.
@attached(member, names: named(_ExtensionSlot), arbitrary)
@attached(memberAttribute)
public macro EntityProperties() = #externalMacro(module: "PerdureMacroPlugin", type: "EntityPropertiesMacro")

/// The class of an extension with `@EntityProperties`. For generated code.
public struct _ExtensionOf<Class: ManagedObject> {
  /// Makes the marker of the class.
  public init() {}
}

extension ManagedObject {
  /// Explains the argument that a class with properties in an extension needs.
  @available(
    *, unavailable,
    message: "The class has properties in an extension. Mark it @Entity(propertiesInExtension: true)."
  )
  public enum _ExtensionBase {
    /// The number of slots before those of the extension.
    public static var _count: Int { 0 }

    /// Compares the class with that of the extension.
    public static func _accept<Class>(_ type: _ExtensionOf<Class>) {}
  }

  /// Explains the extension that a class with `propertiesInExtension` needs.
  @available(
    *, unavailable,
    message: """
      No extension of the class has @EntityProperties. Mark the extension with the properties, or remove \
      propertiesInExtension from @Entity.
      """
  )
  public enum _ExtensionSlot {
    /// The number of slots of the class.
    public static var _count: Int { 0 }

    /// Adds the names of the properties.
    public static func _names<Root>(_ names: inout [AnyKeyPath: String], _ root: Root.Type) {}

    /// Adds the properties.
    public static func _describe<Class>(_ entity: inout _EntityAssembly, _ type: _ExtensionOf<Class>) {}
  }
}

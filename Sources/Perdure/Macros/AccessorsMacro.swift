/// Turns each stored variable of a class into an accessor of the property with the same name. A
/// model in code or in a file describes the entity and its properties.
///
///     @Accessors final class Visitor: ManagedObject {
///       var name: String?
///       var visits: Int64
///     }
///     let model = try ManagedObjectModel([
///       EntityDescription(
///         "Visitor", className: "Visitor", properties: [.string("name"), .int64("visits")])
///     ])
///
/// A container compares the variables with the model when it loads its stores. A variable without a
/// property, or with another type than its property, causes error 134080. The error names the
/// class, the variable and the entity.
///
/// Only the model describes the properties, so a variable has no initial value. Only three markers
/// are allowed: `@Attribute(.transient)`, `.transformed(by:)` and `.composite`. These markers are
/// needed because the model does not contain the Swift types of such variables. A variable of an
/// attribute with a value transformer needs `.transformed(by:)`. The type of a variable may differ
/// from that of its attribute in three ways:
///
/// - Whether it is optional. `var age: Int16` of an attribute without a value reads as 0. `var
///   name: String?` of a required attribute reads as nil until it is set.
/// - A `Double` may represent a date, as the seconds since the reference date.
/// - A variable of a derived number may have any numeric type.
///
/// The entity may have other properties too. The class may be the class of several entities, and
/// its subclasses may have `@Accessors` as well. For a to-many variable, functions `addToX` and
/// `removeFromX` are generated. Hooks and validation functions of the class are called in the same
/// way as with `@Entity`. A class from which a model is made needs `@Entity` instead.
@attached(
  member, names: named(_Accessor), named(_Slot), named(_accessorNames), named(_transformedAccessors),
  named(_propertyNamesByKeyPath),
  named(_lifeCycle), named(_validatedProperties), named(_validateProperty),
  named(_customAccessors), named(_customValue), named(_setCustomValue), arbitrary)
@attached(memberAttribute)
public macro Accessors() = #externalMacro(module: "PerdureMacroPlugin", type: "AccessorsMacro")

extension ManagedObject {
  /// The numbers of the accessors of a class with `@Accessors`. They follow the numbers of the
  /// superclass's accessors. For generated code.
  public enum _Accessor {
    /// The number of accessors: 0 for the base class.
    @inlinable public static var _count: Int { 0 }
  }

  /// The slot of an accessor of a class with `@Accessors`, in the entity of this object. For
  /// generated code.
  ///
  /// - Complexity: O(1).
  public final func _slot(_ accessor: Int) -> Int {
    uncountedShape._withUnsafeGuaranteedRef { $0.accessorSlots[accessor] }
  }
}

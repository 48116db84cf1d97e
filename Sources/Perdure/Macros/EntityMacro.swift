public import PerdureModel

/// Makes a class the class of an entity: its stored variables become properties of the entity.
///
///     @Entity final class Worker: Person {
///       @Attribute(.unique) var email: String
///       var salary: Double = 0
///       var born: Date?
///       @Relationship(inverse: "workers") var company: Company?
///       @Relationship(inverse: "members") var projects: ToMany<Project>
///     }
///
/// The type of a variable decides its kind. A variable whose type conforms to `AttributeValue`,
/// optional or not, is an attribute. A variable whose type is an optional managed object is a
/// to-one relationship. A `ToMany` variable is a to-many relationship; the macro also generates the
/// functions `addToX` and `removeFromX` for it. An initial value is the attribute's default. The
/// default is computed once, when the model is made. Exceptions are `Date()` and `UUID()`
/// (`DefaultValue.now`, `.newUUID`). These two values are made for each inserted object; in
/// transient attributes, at the first read. An attribute that is not optional and has no default
/// must be set before the object is saved. Until then, it reads as the `zeroValue` of its type.
/// Computed, static, lazy and `@Transient` variables are ignored.
///
/// `init(context:)` inserts an object. A second initializer also has a parameter for each property
/// that the body of the class declares, in the order of the declarations: `Worker(context: c,
/// email: "a")`. Only required properties without an initial value must be given. Derived,
/// transient and inherited properties are not parameters, and neither are properties that are less
/// visible than the class. A class with its own initializer whose first label is `context` gets no
/// second one.
///
/// Hooks, for example `awakeFromInsert()`, `willSave()` and `validateForInsert()`, are called only
/// if the class or one of its superclasses overrides them in its body. A hook that is not
/// overridden costs nothing. `validateValue(_:forKey:)` is also a hook. A function in
/// the body that is named after a property, such as `func validateAge(_ age: Int) throws`,
/// validates the property at a save; see `ManagedObject.validateValue(_:forKey:)`.
///
/// The macro warns about properties whose names are words of the predicate language, such as `no`
/// or `null`. In format strings they are written with a `#`, as in `#no`.
///
/// A to-one relationship may be declared without a question mark (`var order: Order`). Then a save
/// throws error 1570 if the relationship has no object. Before the variable is set, and after a
/// delete rule of this context has cleared it, the variable reads as a deleted object without
/// values. If another context has removed the object, the variable reads as that object with its
/// last values, or as a deleted object without values. If either end can be deleted, declare the
/// variable optional. Add `@Relationship(optional: false)` if a save must still require an object.
///
/// - Parameters:
///   - name: The entity's name; by default the class's name.
///   - isAbstract: Whether only subclasses of the class have objects.
///   - unique: Sets of property names whose combined values must be unique.
///   - indexes: Ordered indexes. An array of property names is an ascending index that is named
///     after them. `.descending` reverses an element. `.init("name", ["a"], where: "a > 5")` has a
///     name and a condition for its objects. See `FetchIndexDescription`.
///   - originalName: The entity's name in an earlier version of the model. It is stored for later
///     migrations. No migration reads it yet: a renamed entity counts as one that was removed and
///     one that was added.
///   - userInfo: The program's own data about the entity; stored with the model.
///   - versionHashModifier: Changes the version hash: `EntityDescription.versionHashModifier`.
///   - propertiesInExtension: Whether an extension with `@EntityProperties` has further properties.
///     The literal `true` or `false`.
@attached(
  member, names: named(_Slot), named(_ExtensionBase), named(_entityName), named(entityDescription),
  named(_propertyNamesByKeyPath),
  named(_lifeCycle), named(_fetchTemplates), named(_fetchTemplateParameters), named(_validatedProperties),
  named(_validateProperty),
  named(_customAccessors), named(_customValue), named(_setCustomValue), arbitrary)
@attached(memberAttribute)
public macro Entity(
  _ name: String? = nil, isAbstract: Bool = false, unique: [[String]] = [],
  indexes: [FetchIndexDescription] = [], originalName: String? = nil, userInfo: [String: String] = [:],
  versionHashModifier: String? = nil, propertiesInExtension: Bool = false
) = #externalMacro(module: "PerdureMacroPlugin", type: "EntityMacro")

/// Connects a variable with the storage of its object. `@Entity` generates it; do not write it by
/// hand.
@attached(accessor)
public macro Managed() = #externalMacro(module: "PerdureMacroPlugin", type: "ManagedMacro")

/// Declares the options of an attribute of an `@Entity` class.
///
///     @Entity final class Project: ManagedObject {
///       @Attribute(.indexed, .length(1...80)) var title: String
///       @Attribute(.minimum(1), .maximum(5)) var priority: Int = 3
///       @Relationship(inverse: "projects") var members: ToMany<Worker>
///       @Attribute(.indexed, derived: "members.@count") private(set) var memberCount: Int
///     }
///
/// On a computed variable, `@Attribute` makes the getter and the setter the accessors of the
/// attribute. They access the stored value through a generated variable, here `primitiveTitle`:
///
///     @Attribute(.length(1...80)) var title: String? {
///       get { primitiveTitle }
///       set {
///         willChangeValue(forKey: "title")
///         primitiveTitle = newValue?.trimmed
///         didChangeValue(forKey: "title")
///       }
///     }
///
/// Without the two calls, a save writes a changed stored value only together with another change of
/// the object; see `ManagedObject.setPrimitiveValue(_:forKey:)`. `value(forKey:)` and
/// `setValue(_:forKey:)` call the accessors. Fetches, rules and saves use the stored value.
///
/// With an index, a fetch finds values, ranges and prefixes of text in O(log n), and sorts by the
/// attribute without reading every object. Each saved object needs an index entry. A unique
/// attribute has an additional index.
///
/// - Parameters:
///   - options: The options of the attribute, for example `.unique`, `.indexed` and the rules that
///     a save checks (see `ValidationRule`). Objects without a value never violate uniqueness or a
///     rule.
///   - derived: The derivation of the value from other properties, for example `"packages.@count"`.
///     The variable cannot be set.
///   - originalName: The attribute's name in an earlier version of the model. It is stored for
///     later migrations. No migration reads it yet: a renamed attribute counts as one that was
///     removed and one that was added.
@attached(peer)
public macro Attribute(_ options: AttributeOption..., derived: String? = nil, originalName: String? = nil) =
  #externalMacro(module: "PerdureMacroPlugin", type: "MarkerMacro")

/// Declares the options of a relationship of an `@Entity` class.
///
///     @Entity final class Company: ManagedObject {
///       var name: String
///       @Relationship(inverse: "company", deleteRule: .cascade) var workers: ToMany<Worker>
///     }
///
/// `OrderedToMany` is a to-many relationship with an order: `var workers: OrderedToMany<Worker>`.
///
/// A change of one side is visible on the other side immediately. A relationship without an inverse
/// is one-way.
///
/// - Parameters:
///   - inverse: The name of the inverse property in the other class. Both sides name each other. If
///     a literal names no property declared by a class with `@Entity`, the compiler reports an
///     error.
///   - deleteRule: The effect on the objects at the other end when an object is deleted.
///   - optional: Whether an object may be saved without an object at the other end.
///   - minCount: The minimum number of objects at the other end of a to-many relationship that is
///     not empty. For a to-one relationship, it is 0 or 1: model files contain it, but validation
///     ignores it.
///   - maxCount: The maximum number; 0 means no limit. It cannot be 1: declare a to-one
///     relationship instead.
///   - transient: Whether the links are not stored: `RelationshipDescription.isTransient`. The
///     inverse must declare the same.
///   - originalName: The relationship's name in an earlier version of the model. It is stored for
///     later migrations. No migration reads it yet: a renamed relationship counts as one that was
///     removed and one that was added.
///   - userInfo: The program's own data about the relationship; stored with the model.
///   - versionHashModifier: Changes the version hash:
///     `RelationshipDescription.versionHashModifier`.
@attached(peer, names: prefixed(_inverseOf_))
public macro Relationship(
  inverse: String? = nil, deleteRule: DeleteRule = .nullify, optional: Bool = true, minCount: Int = 0,
  maxCount: Int = 0, transient: Bool = false, originalName: String? = nil, userInfo: [String: String] = [:],
  versionHashModifier: String? = nil
) = #externalMacro(module: "PerdureMacroPlugin", type: "MarkerMacro")

/// Excludes a variable of an `@Entity` class from the entity. It is an ordinary stored variable: no
/// save writes it, and the context does not track it. Use `@Attribute(.transient)` for values that
/// are not stored but take part in validation and rollback.
@attached(peer)
public macro Transient() = #externalMacro(module: "PerdureMacroPlugin", type: "MarkerMacro")

/// Makes a struct the type of composite attributes: its stored variables become the elements. See
/// `CompositeAttributeValue`.
///
/// An initial value is the element's default. `Date()` and `UUID()` are made for each inserted
/// object. Any other value is computed whenever the elements are requested. It must be the same
/// each time. Otherwise, the model differs at each start. The initial value of a whole composite
/// must be the same each time too. In `var stay: Stay = Stay()`, the macro cannot see the result of
/// `Stay()`. So declare a variable whose struct contains `Date()` or `UUID()` without an initial
/// value.
///
/// Rules belong to the elements (`@Attribute(.length(1...80)) var street: String?`). The entity
/// declares uniqueness and indexes with the path (`@Entity(indexes: [["address.street"]])`).
/// Computed and static variables are ignored.
@attached(
  extension, conformances: CompositeAttributeValue,
  names: named(compositeElements), named(compositeNames), named(init(compositeContent:)),
  named(compositeContent))
public macro Composite() = #externalMacro(module: "PerdureMacroPlugin", type: "CompositeMacro")

/// The options of `@Attribute`.
public enum AttributeOption: Sendable, Hashable {
  /// No two objects of the entity and its subentities have the same value.
  case unique
  /// The store maintains an ordered index over the attribute.
  case indexed
  /// The attribute may have no value, although its variable is not optional: `var age: Int16`. Then
  /// the variable reads as the zero of its type. Setting the attribute to nil by its name removes
  /// the value. In the comparisons of a fetch, an absent value is not equal to zero.
  case optional
  /// An object without a value cannot be saved, although the variable is optional: `var name:
  /// String?`. The variable reads as nil until it is set. A save without a value throws error 1570.
  case required
  /// Values are not stored: they exist with the object in its context. The variable may have any
  /// type. A type that is not an `AttributeValue` must be optional or have an initial value, which
  /// is made at the first read.
  ///
  /// Setting a transient value marks the object as updated. So a save validates it and calls
  /// `willSave()`, but writes nothing. A save and `refresh(_:mergeChanges: true)` keep the value.
  /// `refresh(_:mergeChanges: false)`, `refreshAllObjects()` of an object without unsaved changes,
  /// and `reset()` discard it. `rollback()` restores the value of the last save. The value is
  /// released with the instance, with the context, or when the deletion of its object is saved. An
  /// object that outlives its context has the defaults.
  case transient
  /// The variable has a `CompositeAttributeValue` type, optional or not. Its initial value supplies
  /// the initial values of all its elements. Without an initial value, an optional variable begins
  /// as nil, and any other variable begins with the initial values of its elements. A variable that
  /// begins as nil has no defaults. Setting one element by name then leaves the others without a
  /// value, even those with an initial value in the struct. Rules belong to the elements.
  case composite
  /// An optional composite begins with the initial values of its elements, instead of as nil. An
  /// element without an initial value has no value. Unlike an initial value, such as `= Address()`,
  /// the option works with every struct, and makes `Date()` and `UUID()` for each object. An
  /// optional composite that is an element of another composite can have this option too:
  /// `@Attribute(.elementDefaults) var place: Place?`.
  case elementDefaults
  /// A `ValueTransformer` that is registered under this name converts the values to bytes and back.
  /// The variable may have any optional type, and has no initial value. Each read makes a new
  /// value. A change inside an object that the value references is neither noticed nor saved until
  /// the variable is set.
  case transformed(by: String)
  /// The requirements that values must meet for a save. The functions below make the usual ones.
  case rules([ValidationRule])
  /// The program's own data about the attribute; stored with the model, and not part of the version
  /// hash.
  case userInfo([String: String])
  /// Changes the version hash: `AttributeDescription.versionHashModifier`.
  case versionHashModifier(String)
}

extension AttributeOption {
  /// The minimum number or date. For a variable whose type is written as `Decimal`, a literal is
  /// exact: `.minimum(0.05)`. If the type is written as a type alias, the macro does not see that
  /// it is Decimal. Then a literal with a point is a Double, and the model rejects it. In this
  /// case, write `.decimal`: `.minimum(.decimal(Decimal(string: "0.05")!))`.
  public static func minimum(_ value: DefaultValue) -> AttributeOption { .rules([.minimum(value)]) }

  /// The maximum number or date.
  public static func maximum(_ value: DefaultValue) -> AttributeOption { .rules([.maximum(value)]) }

  /// The minimum and maximum number of characters of a text or URI, or of bytes.
  public static func length(_ range: ClosedRange<Int>) -> AttributeOption {
    .rules([.minimumLength(range.lowerBound), .maximumLength(range.upperBound)])
  }

  /// The minimum number of characters of a text or URI, or of bytes: `1...`.
  public static func length(_ range: PartialRangeFrom<Int>) -> AttributeOption {
    .rules([.minimumLength(range.lowerBound)])
  }

  /// The maximum number of characters of a text or URI, or of bytes: `...40`.
  public static func length(_ range: PartialRangeThrough<Int>) -> AttributeOption {
    .rules([.maximumLength(range.upperBound)])
  }

  /// A regular expression that the whole text, or the whole URI, matches.
  public static func pattern(_ pattern: String) -> AttributeOption { .rules([.pattern(pattern)]) }
}

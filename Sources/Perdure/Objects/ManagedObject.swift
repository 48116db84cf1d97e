public import PerdureModel
public import PerdurePredicates

/// The data from which an instance of a class is made. Only contexts make it.
public struct ObjectSeed {
  let header: UnsafeMutablePointer<ObjectHeader>

  @inline(__always)
  init(header: UnsafeMutablePointer<ObjectHeader>) { self.header = header }
}

@available(*, unavailable)
extension ObjectSeed: Sendable {}

/// An object of the graph: one instance for one identity in one context.
///
/// Subclasses declare properties, and this class stores their values. An instance is made by
/// `init(context:)`, which inserts a new object, or by the context, which returns the same instance
/// for the same identity.
///
/// An instance of a stored object is usually first a *fault*: it has its identity and no values.
/// The first access to a property loads its row from the state of the store that the context sees.
/// Properties cannot throw. If the row cannot be read, the object reads as having no values, and
/// the next fetch or save of the context throws the error.
///
/// A changed value is visible immediately in this context, also to its fetches. Other contexts see
/// the value after a save, once they advance to a newer state of the store. Before
/// `ManagedObjectContext.save()`, the store does not contain the value.
///
///     let person = Person(context: context)
///     person.name = "Ada"
///     person.setValue("Ada L.", forKey: "name")
///     let id = person.objectID
///
/// Objects belong to their context and stay in its isolation; they are not `Sendable`. Send
/// `objectID` instead, and call `existingObject(with:)` of the other context. Two instances are
/// equal if they are the same instance. Two contexts have separate instances for one identity.
open class ManagedObject {
  // An instance has no other storage than this pointer, because there are many instances.
  @usableFromInline let header: UnsafeMutablePointer<ObjectHeader>

  /// Makes the instance for an identity. Only contexts call it.
  public required init(_ seed: ObjectSeed) {
    header = seed.header
    uncountedCore._withUnsafeGuaranteedRef { $0.didMake(self) }
  }

  /// Inserts a new object of this class's entity into a context. Properties have their defaults.
  ///
  /// The object is visible to fetches in this context immediately, and to other contexts after the
  /// save. The container must have been made with the class, and the entity of the class must not
  /// be abstract.
  ///
  /// Generic code can call it, as in `T(context: context)` where `T: ManagedObject`. If a class
  /// declares an initializer with these parameters, the initializer must be `required`.
  public required convenience init(context: ManagedObjectContext) {
    context.core.checkOwner()
    self.init(context.core.editing.insertion.seed(Self.self))
    core.editing.insertion.didInsert(self)
  }

  deinit {
    let transients = header.pointee.transients?.takeRetainedValue()
    uncountedCore._withUnsafeGuaranteedRef {
      if let transients { $0.transientState.drop(transients) }
      $0.willFree(self)
    }
    // Releases the values last: a value may be another object, whose `deinit` also calls
    // `willFree`.
    withExtendedLifetime(transients) {}
  }

  /// The description of this class's entity. Every class with accessors overrides it.
  ///
  /// A class without an override has the empty description, without a name. Such a class can be a
  /// superclass of entity classes. Entities can also use such a class, if the container or their
  /// descriptions name it. The properties of its objects are accessed by name.
  ///
  /// Name other entities as text: two static descriptions that read each other wait forever. A
  /// container detects this and stops the program with a message. A program that reads such
  /// descriptions itself hangs.
  open class var entityDescription: EntityDescription { EntityDescription("", properties: []) }

  /// The name of this class's entity. Macros override it, so that the descriptions of two classes
  /// can name each other's entities.
  open class var _entityName: String { entityDescription.name }

  /// The property names of this class and its superclasses, by key paths whose root is this class.
  open class var _propertyNamesByKeyPath: [AnyKeyPath: String] { [:] }

  /// The names of the accessors of this class and its superclasses, by their numbers. `@Accessors`
  /// writes the list.
  open class var _accessorNames: [String] { [] }

  /// The names of those accessors that are marked with `.transformed(by:)`. `@Accessors` writes the
  /// list.
  open class var _transformedAccessors: [String] { [] }

  /// Adds the properties of this class, and of its superclasses with `@EntityBase`, to an entity.
  /// `@EntityBase` writes this function.
  ///
  /// - Parameter count: The number of slots that the entity inherits from other entities. The
  ///   properties with these slots belong to those entities, so the function does not add them.
  open class func _addProperties(to entity: inout _EntityAssembly, after count: Int) {}

  /// The templates of this class's functions with `@FetchTemplate`. `@Entity` writes the list.
  open class var _fetchTemplates: [FetchRequestTemplate] { [] }

  /// The types of the parameters of the functions with `@FetchTemplate`, by the names of the
  /// templates. `@Entity` writes them.
  open class var _fetchTemplateParameters: [String: [String: Any.Type]] { [:] }

  /// The hooks that the context calls. A subclass has all hooks unless this property is overridden.
  /// `@Entity` writes the exact set. The context need not call a hook that is not in the set.
  open class var _lifeCycle: _LifeCycle { self == ManagedObject.self ? [] : .all }

  /// The properties that a save passes to `validateValue(_:forKey:)`. A container reads the list
  /// once, when it opens its store.
  ///
  /// If the class overrides `validateValue(_:forKey:)` but not this property, a save validates all
  /// properties except derived ones. For an updated object, it skips columns of an unchanged row,
  /// transient attributes if none changed, and unchanged relationships outside the row. A class
  /// without `@Entity` counts as overriding `validateValue(_:forKey:)`. A shorter list makes saves
  /// cheaper.
  open class var validatedKeys: [String] { [] }

  /// The properties that the class validates with functions such as `validateAge(_:)`. For
  /// generated code.
  open class var _validatedProperties: [String] { [] }

  /// The attributes for which this class and its superclasses implement accessors. The macros write
  /// the list.
  open class var _customAccessors: [String] { [] }

  /// Calls the class's own getter of an attribute. For generated code.
  open func _customValue(forKey key: String) -> Any? { nil }

  /// Calls the class's own setter of an attribute; false if the variable cannot hold the value. For
  /// generated code.
  open func _setCustomValue(_ value: _CustomValue, forKey key: String) -> Bool { false }

  // MARK: Hooks

  /// Called once for an object, after its insertion. Its properties have their defaults. Changes
  /// made here are saved like any other changes. The default implementation of every hook does
  /// nothing.
  open func awakeFromInsert() {}

  /// Called at the first access to a stored object after its row was loaded, before the access
  /// returns. `existingObject(with:)`, and a fetch without `returnsObjectsAsFaults`, count as an
  /// access. It is called again if the object becomes a fault and is accessed again.
  ///
  /// Attributes that are set here do not count as changed. The object has them until its row is
  /// read again, and they are saved together with any other change of the object. Do not set
  /// relationships here: this changes the objects at the other ends.
  open func awakeFromFetch() {}

  /// Called when all values of a loaded object were replaced.
  ///
  /// - Parameter events: `rollback` after `rollback()`, together with `undoDeletion` if the object
  ///   was marked for deletion. `undoDeletion` or `undoUpdate` after an undo or a redo. `refresh`
  ///   after a refresh that merges changes, and after `refreshAllObjects()` for an object with
  ///   unsaved changes, which are already applied. Also `refresh` at the first access after the
  ///   context has advanced to a newer row of the object.
  open func awake(fromSnapshotEvents events: SnapshotEventType) {}

  /// Called before the object loses its values. The cause is a refresh that does not merge changes,
  /// `refreshAllObjects()` if the object has no changes, `reset()`, or `rollback()` if the object
  /// is new. The values can still be read. Not called for a stored object that was not accessed
  /// since its row was loaded. Not called when the instance is freed; use `deinit` for that.
  open func willTurnIntoFault() {}

  /// Called after the object has lost its values, in the cases of `willTurnIntoFault()`.
  open func didTurnIntoFault() {}

  /// Called before the object is deleted: by `delete` before it marks the object, and by a delete
  /// rule that deletes the object. Not called for an object that is already deleted. If a delete
  /// rule calls the hook, the hook must not save.
  open func prepareForDeletion() {}

  /// Called by a save before validation, for each object that is inserted, updated or deleted
  /// (`isInserted`, `isUpdated`, `isDeleted`). Not called for an object that was inserted and
  /// deleted since the last save, or that another context has removed.
  ///
  /// Changes made here are validated and saved. If an object changes after its `willSave` began,
  /// `willSave` is called again, even if it made the change itself. So set a value only if it
  /// differs, or use `setPrimitiveValue(_:forKey:)`. After 1,000 rounds the save throws
  /// `PerdureError.Code.endlessChanges`, with the objects that still change. The hook may insert,
  /// delete, refresh, roll back and reset, but must not save.
  open func willSave() {}

  /// Called after the commit, for the objects of `willSave()`. `isInserted`, `isUpdated` and
  /// `isDeleted` still show the saved state, and a deleted object can be read. Changes made here
  /// are pending for the next save. The hook must not save.
  open func didSave() {}

  // MARK: Validation

  /// Checks whether the object may be saved for the first time. A save calls it after `willSave()`,
  /// and `ManagedObjectContext.validate()` calls it too. Neither calls it if a required to-one
  /// relationship has no object.
  ///
  /// An error becomes part of the save's error, together with other errors. A `PerdureError` adds
  /// its details (see `PerdureError.invalid`), or one detail with its own code if it has none. Any
  /// other error becomes the `cause` of a detail with code 1550. The method may change objects; the
  /// save then restarts with `willSave()`.
  ///
  /// The default checks the declared rules. If the context is not validating, it also calls
  /// `validateValue(_:forKey:)` for `validatedKeys` and sets the replacements. A save does both
  /// itself. So an override must call `super` only if other code calls the method, such as a form.
  open func validateForInsert() throws {
    core.checkOwner()
    try core.saving.classValidation.validateByHand(self)
  }

  /// Checks whether the object may be saved with its changes; like `validateForInsert()`.
  open func validateForUpdate() throws {
    core.checkOwner()
    try core.saving.classValidation.validateByHand(self)
  }

  /// Checks whether the object may be deleted. The default checks only the declared rules. Errors
  /// have the same effect as in `validateForInsert()`.
  open func validateForDelete() throws {
    core.checkOwner()
    try core.saving.classValidation.checkRules(of: self)
  }

  /// Checks a value of a property, and may replace it. A save calls it for ``validatedKeys``,
  /// before `validateForInsert()` and `validateForUpdate()`. Programs may call it to check a value
  /// before a save.
  ///
  /// The default checks the declared rules. Then it calls the property's validation function, if
  /// the class has one: a function in the body of a class with `@Entity`. For an attribute `age`:
  ///
  ///     func validateAge(_ age: Int) throws
  ///
  /// Such a function needs no entry in `validatedKeys`. Its argument has the property's type or
  /// `Any?`. It may be optional, and it may be `inout` to replace the value. A function whose
  /// argument is not optional is skipped for an attribute without a value.
  ///
  /// - Parameter value: The value, in the form of `value(forKey:)`. The save sets the value that
  ///   the method assigns here.
  /// - Parameter key: The property. The entity must have it.
  open func validateValue(_ value: inout Any?, forKey key: String) throws {
    core.checkOwner()
    try core.saving.classValidation.checkRule(value, forKey: key, of: self)
    try _validateProperty(&value, forKey: key)
  }

  /// Calls the validation function of a property, such as `validateAge(_:)` for `age`. For
  /// generated code.
  open func _validateProperty(_ value: inout Any?, forKey key: String) throws {}
}

@available(*, unavailable)
extension ManagedObject: Sendable {}

extension ManagedObject: Hashable {
  /// Whether both are the same instance.
  public static func == (left: ManagedObject, right: ManagedObject) -> Bool { left === right }

  /// Hashes the identity of the instance.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// Used by sets and dictionaries, faster than `hash(into:)`.
  public func _rawHashValue(seed: Int) -> Int { ObjectIdentifier(self)._rawHashValue(seed: seed) }
}

extension ManagedObject: PredicateArgument {
  /// The object's identity as a value. A fetch rejects an object of another store, except in the
  /// list of `IN` and as an operand of `!=`.
  public var predicateValue: Value { .objectID(objectID.uri) }
}

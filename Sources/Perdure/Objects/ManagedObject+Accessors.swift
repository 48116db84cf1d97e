// What generated and hand-written property accessors call: one line each.
//
//     var name: String {
//       get { _get(_Slot.name) }
//       set { _set(_Slot.name, newValue) }
//     }
//
// The frequent types and to-one relationships have getters of their own (ManagedObject+InlinedReading.swift), so that a
// clean object's field costs a comparison and a load. The setters of the frequent types are in
// ManagedObject+FrequentTypes.swift. The other types go through `AttributeValue`.

internal import PerdurePredicates

// MARK: - Attributes

extension ManagedObject {
  /// Reads an attribute. Returns its zero or initial value (AbsentValues.swift) if the attribute
  /// has no value, or one that the type does not know. A sum that the type cannot hold reads as the
  /// nearest number that it can.
  public final func _get<T: AttributeValue>(_ slot: Int) -> T {
    convert(attributeValue(slot), slot) ?? absentValue(slot)
  }

  /// Reads an attribute; nil when it has no value, or one that the type does not have.
  public final func _get<T: AttributeValue>(_ slot: Int) -> T? {
    convert(attributeValue(slot), slot)
  }

  /// Changes an attribute.
  public final func _set<T: AttributeValue>(_ slot: Int, _ value: T) {
    setAttributeValue(value.predicateValue, slot)
  }

  /// Changes an attribute; nil takes its value away.
  public final func _set<T: AttributeValue>(_ slot: Int, _ value: T?) {
    setAttributeValue(value?.predicateValue ?? .null, slot)
  }

  /// The value as its property has it; nil for none, and for one that the type does not know.
  func convert<T: AttributeValue>(_ value: Value, _ slot: Int) -> T? {
    if case .null = value { return nil }
    if let converted = T(attributeValue: value) { return converted }
    if value.stored(as: FieldKind(T.attributeType)) == nil {
      stop(
        "\(shape.name).\(shape.propertyName(slot)), slot \(slot), holds \(value.kindName), but an accessor "
          + "of \(type(of: self)) reads it as \(T.self). \(shape.slotList)")
    }
    return nil
  }
}

// MARK: - Relationships

extension ManagedObject {
  /// The value of a required relationship without an object: the program has not set it, a delete
  /// rule or another context has removed the object, or the store could not be read. Data may cause
  /// any of these, so the program does not stop. A save throws 1570.
  @usableFromInline
  @inline(never)
  final func absentTarget(_ slot: Int, _ type: ManagedObject.Type) -> ManagedObject {
    if let object = core.reading.retirement.probedReads?.standIn(of: type) { return object }
    if let target = core.reading.retirement.lastTarget(of: self, shape.relationship(slot)) { return target }
    stop(
      "\(shape.name).\(shape.propertyName(slot)) of \(objectID) has no object, and its destination is an "
        + "abstract entity without subentities.")
  }

  /// This object as the class that a property promises.
  @inlinable
  @inline(__always)
  final func typed<T: ManagedObject>(_ type: T.Type) -> T {
    // Nearly always the class itself, which is cheaper to tell than a subclass; then the cast cannot fail.
    if Swift.type(of: self) == type { return unsafeDowncast(self, to: type) }
    guard let typed = self as? T else { stopAsOtherClass(type) }
    return typed
  }

  // Releases nothing: a cast to a class calls no code of the program.
  /// Stops the program if this object is not of a class.
  @_effects(releasenone) @usableFromInline @inline(never)
  final func checkIsOf<T: ManagedObject>(_ type: T.Type) {
    if !(self is T) { stopAsOtherClass(type) }
  }

  @usableFromInline
  @inline(never)
  final func stopAsOtherClass(_ type: ManagedObject.Type) -> Never {
    stop(
      "\(objectID) is an object of the class \(Swift.type(of: self)) here, not \(type). Give the container the "
        + "class \(type).")
  }

  /// Changes a to-one relationship, and its inverse with it.
  public final func _set<T: ManagedObject>(_ slot: Int, _ object: T?) {
    setRelated(object, slot)
  }

  /// The objects of a to-many relationship.
  @inlinable
  public final func _get<T: ManagedObject>(_ slot: Int) -> ToMany<T> { ToMany(self, slot) }

  /// Connects exactly the objects of another collection.
  public final func _set<T: ManagedObject>(_ slot: Int, _ objects: ToMany<T>) {
    if objects.source.owner === self, objects.source.slot == slot { return }
    ToMany<T>(self, slot).replace(with: Array(objects))
  }

  /// The objects of an ordered to-many relationship.
  @inlinable
  public final func _get<T: ManagedObject>(_ slot: Int) -> OrderedToMany<T> { OrderedToMany(self, slot) }

  /// Connects exactly the objects of another collection, in its order.
  public final func _set<T: ManagedObject>(_ slot: Int, _ objects: OrderedToMany<T>) {
    if objects.source.owner === self, objects.source.slot == slot { return }
    OrderedToMany<T>(self, slot).replace(with: Array(objects))
  }
}

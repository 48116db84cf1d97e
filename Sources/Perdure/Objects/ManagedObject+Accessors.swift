// The functions that generated and hand-written property accessors call. Each accessor is one line.
//
//     var name: String {
//       get { _get(_Slot.name) }
//       set { _set(_Slot.name, newValue) }
//     }
//
// The frequent types and to-one relationships have separate getters
// (ManagedObject+InlinedReading.swift), so that a read of an unchanged object takes only a few
// comparisons and loads. The setters of the frequent types are in
// ManagedObject+FrequentTypes.swift. All other types use the generic functions of this file.

internal import PerdurePredicates

// MARK: - Attributes

extension ManagedObject {
  /// Reads an attribute. Returns its zero or initial value (AbsentValues.swift) if the attribute
  /// has no value, or a value that the type cannot represent. A sum that the type cannot hold reads
  /// as the nearest number that it can hold.
  public final func _get<T: AttributeValue>(_ slot: Int) -> T {
    convert(attributeValue(slot), slot) ?? absentValue(slot)
  }

  /// Reads an attribute; nil if it has no value, or a value that the type cannot represent.
  public final func _get<T: AttributeValue>(_ slot: Int) -> T? {
    convert(attributeValue(slot), slot)
  }

  /// Changes an attribute.
  public final func _set<T: AttributeValue>(_ slot: Int, _ value: T) {
    setAttributeValue(value.predicateValue, slot)
  }

  /// Changes an attribute; nil removes its value.
  public final func _set<T: AttributeValue>(_ slot: Int, _ value: T?) {
    setAttributeValue(value?.predicateValue ?? .null, slot)
  }

  /// Converts a stored value to the type of its property; nil for null, or if the type cannot
  /// represent the value. Stops the program for a value of another kind.
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
  /// The object that a required relationship without an object returns: the last object that it
  /// had, or a deleted object without values. Either the program has not set the relationship, or
  /// the object was removed, or the store could not be read. A correct program can reach these
  /// states, so the program stops only if the destination is an abstract entity without
  /// subentities. A save throws error 1570.
  @usableFromInline
  @inline(never)
  final func absentTarget(_ slot: Int, _ type: ManagedObject.Type) -> ManagedObject {
    if let object = core.reading.retirement.probedReads?.requiredObject(of: type) { return object }
    if let target = core.reading.retirement.lastTarget(of: self, shape.relationship(slot)) { return target }
    stop(
      "\(shape.name).\(shape.propertyName(slot)) of \(objectID) has no object, and its destination is an "
        + "abstract entity without subentities.")
  }

  /// This object, cast to the class of a property. Stops the program if it is not of that class.
  @inlinable
  @inline(__always)
  final func typed<T: ManagedObject>(_ type: T.Type) -> T {
    // Usually the class is exactly `type`. Comparing classes is cheaper than a check for a
    // subclass. If they are equal, the cast cannot fail.
    if Swift.type(of: self) == type { return unsafeDowncast(self, to: type) }
    guard let typed = self as? T else { stopAsOtherClass(type) }
    return typed
  }

  // This function releases nothing: a cast to a class calls no code of the program.
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

  /// Changes a to-one relationship and its inverse.
  public final func _set<T: ManagedObject>(_ slot: Int, _ object: T?) {
    setRelated(object, slot)
  }

  /// The objects of a to-many relationship.
  @inlinable
  public final func _get<T: ManagedObject>(_ slot: Int) -> ToMany<T> { ToMany(self, slot) }

  /// Replaces the objects of a to-many relationship with those of another collection.
  public final func _set<T: ManagedObject>(_ slot: Int, _ objects: ToMany<T>) {
    if objects.source.owner === self, objects.source.slot == slot { return }
    ToMany<T>(self, slot).replace(with: Array(objects))
  }

  /// The objects of an ordered to-many relationship.
  @inlinable
  public final func _get<T: ManagedObject>(_ slot: Int) -> OrderedToMany<T> { OrderedToMany(self, slot) }

  /// Replaces the objects of an ordered to-many relationship with those of another collection, in
  /// its order.
  public final func _set<T: ManagedObject>(_ slot: Int, _ objects: OrderedToMany<T>) {
    if objects.source.owner === self, objects.source.slot == slot { return }
    OrderedToMany<T>(self, slot).replace(with: Array(objects))
  }
}

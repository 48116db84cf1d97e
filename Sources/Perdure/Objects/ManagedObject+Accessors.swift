// What generated and hand-written property accessors call: one line each.
//
//     var name: String {
//       get { _get(_Slot.name) }
//       set { _set(_Slot.name, newValue) }
//     }
//
// The frequent types have functions of their own, so that a clean object's field costs a call, a comparison
// and a load. The others go through `AttributeValue`.

internal import PerdurePredicates

// MARK: - Attributes

extension ManagedObject {
  /// Reads an attribute; its zero when it has no value, or one that the type does not know.
  public final func _get<T: AttributeValue>(_ slot: Int) -> T {
    convert(attributeValue(slot), slot) ?? T.zeroValue
  }

  /// Reads an attribute; nil when it has no value, or one that the type does not know.
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

  // The frequent types again: what a generic function does not know costs more than the change itself.

  /// Changes text.
  public final func _set(_ slot: Int, _ value: String) { setAttributeValue(.string(value), slot) }

  /// Changes text; nil takes it away.
  public final func _set(_ slot: Int, _ value: String?) {
    setAttributeValue(value.map(Value.string) ?? .null, slot)
  }

  /// Changes a whole number.
  public final func _set(_ slot: Int, _ value: Int64) { setAttributeValue(.integer(value), slot) }

  /// Changes a whole number; nil takes it away.
  public final func _set(_ slot: Int, _ value: Int64?) {
    setAttributeValue(value.map(Value.integer) ?? .null, slot)
  }

  /// Changes a whole number.
  public final func _set(_ slot: Int, _ value: Int32) { setAttributeValue(.integer(Int64(value)), slot) }

  /// Changes a whole number.
  public final func _set(_ slot: Int, _ value: Int16) { setAttributeValue(.integer(Int64(value)), slot) }

  /// Changes a truth value.
  public final func _set(_ slot: Int, _ value: Bool) { setAttributeValue(.bool(value), slot) }

  /// Changes a floating-point number.
  public final func _set(_ slot: Int, _ value: Double) { setAttributeValue(.double(value), slot) }

  /// The value as its property has it; nil for none, and for one that the type does not know.
  private func convert<T: AttributeValue>(_ value: Value, _ slot: Int) -> T? {
    if case .null = value { return nil }
    if let converted = T(attributeValue: value) { return converted }
    if value.stored(as: FieldKind(T.attributeType)) == nil {
      stop("\(shape.name).\(shape.propertyName(slot)) is no \(T.self).")
    }
    return nil
  }

  /// The field of a slot when it can be read at once and has a value of a kind.
  @inline(__always)
  private func field(_ slot: Int, _ kind: FieldKind) -> (row: RowView, field: RowField)? {
    checkSlot(slot)
    guard let row = readyRow(for: slot) else { return nil }
    let field = row.fields[slot]
    return field.kind == kind && row.isPresent(field) ? (row, field) : nil
  }

  @inline(never)
  private func slowAttribute<T: AttributeValue>(_ slot: Int) -> T {
    convert(attributeValue(slot), slot) ?? T.zeroValue
  }

  /// Reads a whole number.
  public final func _get(_ slot: Int) -> Int64 {
    core.checkOwner()
    if let (row, field) = field(slot, .int64) { return row.integer(field) }
    return slowAttribute(slot)
  }

  /// Reads a whole number.
  public final func _get(_ slot: Int) -> Int {
    core.checkOwner()
    if let (row, field) = field(slot, .int64) { return Int(truncatingIfNeeded: row.integer(field)) }
    return slowAttribute(slot)
  }

  /// Reads a whole number.
  public final func _get(_ slot: Int) -> Int32 {
    core.checkOwner()
    if let (row, field) = field(slot, .int32) { return Int32(truncatingIfNeeded: row.integer(field)) }
    return slowAttribute(slot)
  }

  /// Reads a whole number.
  public final func _get(_ slot: Int) -> Int16 {
    core.checkOwner()
    if let (row, field) = field(slot, .int16) { return Int16(truncatingIfNeeded: row.integer(field)) }
    return slowAttribute(slot)
  }

  /// Reads a truth value.
  public final func _get(_ slot: Int) -> Bool {
    core.checkOwner()
    if let (row, field) = field(slot, .bool) { return row.bool(field) }
    return slowAttribute(slot)
  }

  /// Reads a floating-point number.
  public final func _get(_ slot: Int) -> Double {
    core.checkOwner()
    if let (row, field) = field(slot, .double) { return row.double(field) }
    return slowAttribute(slot)
  }

  /// Reads text.
  public final func _get(_ slot: Int) -> String {
    core.checkOwner()
    if let (row, field) = field(slot, .string) { return String(decoding: row.bytes(field), as: UTF8.self) }
    return slowAttribute(slot)
  }

  /// Reads text; nil when there is none.
  public final func _get(_ slot: Int) -> String? {
    core.checkOwner()
    if let (row, field) = field(slot, .string) { return String(decoding: row.bytes(field), as: UTF8.self) }
    return convert(attributeValue(slot), slot)
  }
}

// MARK: - Relationships

extension ManagedObject {
  /// Reads a to-one relationship.
  @inlinable
  public final func _get<T: ManagedObject>(_ slot: Int) -> T? {
    related(slot)?.typed(T.self)
  }

  /// Reads a to-one relationship that always has an object.
  @inlinable
  public final func _get<T: ManagedObject>(_ slot: Int) -> T {
    guard let object: T = _get(slot) else { stopWithoutObject(slot) }
    return object
  }

  @usableFromInline
  @inline(never)
  final func stopWithoutObject(_ slot: Int) -> Never {
    stop(
      "\(shape.name).\(shape.propertyName(slot)) has no object. Make the property optional to ask.")
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

  @usableFromInline
  @inline(never)
  final func stopAsOtherClass(_ type: ManagedObject.Type) -> Never {
    stop(
      "\(shape.name) objects are \(Swift.type(of: self)) here, not \(type). Was the class given to the "
        + "container?")
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
    if objects.owner === self, objects.slot == slot { return }
    ToMany<T>(self, slot).replace(with: Array(objects))
  }
}

// The values of transient attributes.
//
// Such values exist only with the instance. Firing a fault, an advance of the view and a save do
// not change them. `AttributeOption.transient` documents the effect of a refresh, a reset and a
// rollback. After a save, a context does not retain an instance because of its transient values. An
// object that is gone has lost them.
//
// When the program releases a context, the objects of the context lose their transient values.
// Otherwise these values could retain the context and its view of the store forever. The values may
// refer to other objects, even in cycles, and each object retains its context.
//
// Invariants
//   TV1. `ObjectHeader.transients` is nil until a value is set or a default is made. So an object
//        without transient values needs only a pointer.
//   TV2. Setting a value gives the object an overlay, whose `transientsBefore` has the values of
//        all transient attributes before the change. The object then counts as updated and is
//        validated. Exceptions are values that `awakeFromFetch` sets, and primitive values. The row
//        does not change: `changesRow` concerns only columns. A default that is made later is added
//        to the values and to `transientsBefore`, because the program has not set it. Values may be
//        of any type, so it is not always known whether a value differs from the former value.
//        `setSince` has the slots that were set. `transientsAtEvent` has the same content for the
//        current event.
//   TV3. Values may be of any type, and their release may run code of the program that uses the
//        context. So an operation that changes the context in several steps defers their release to
//        its end (`keepDropped`, `releaseDropped`).
//   TV4. An object that is gone (`isGone`) has no transient values.

internal import PerdurePredicates

/// The values of the transient attributes of one instance, by slot. Attributes with their default
/// have no entry.
final class TransientValues {
  /// A value that was set.
  enum Held {
    /// The value of an attribute with a type. For an attribute of undefined type, always `.null`:
    /// the attribute has no value.
    case value(Value)
    /// The value of an attribute of undefined type.
    case object(HeldObject)

    /// A value of an attribute of undefined type that is now being set.
    static func newObject(_ value: Any) -> Held { .object(HeldObject(value)) }
  }

  var bySlot: [Int: Held]
  /// For former values (TV2): the slots that were set since.
  var setSince: Set<Int> = []

  init(_ bySlot: [Int: Held] = [:]) { self.bySlot = bySlot }
}

/// A value of any type that was set. Each set value gets its own instance of this class. So a value
/// whose type has no `==` is known to be equal to itself.
final class HeldObject {
  let value: Any

  init(_ value: Any) { self.value = value }
}

// MARK: - Reading

extension ManagedObject {
  private func held(_ slot: Int) -> TransientValues.Held? {
    // A hook that runs when the row is loaded may set transient attributes. Only objects with such
    // hooks need their row here.
    if !header.pointee.isReady, uncountedShape._withUnsafeGuaranteedRef({ $0.followsRow }) { _ = loadRow() }
    return header.pointee.transients?.takeUnretainedValue().bySlot[slot]
  }

  /// The value of a transient attribute with a type.
  func transientValue(_ slot: Int) -> Value {
    if case .value(let value)? = held(slot) { return value }
    return shape.template[slot]
  }

  /// The value of a transient attribute of undefined type.
  func transientObject(_ slot: Int) -> Any? {
    core.checkOwner()
    if case .object(let object)? = held(slot) { return object.value }
    return nil
  }

  /// Whether a transient attribute has any value.
  func hasTransientValue(_ slot: Int) -> Bool {
    switch header.pointee.transients?.takeUnretainedValue().bySlot[slot] {
    case .value(let value): !value.isNull
    case .object: true
    case nil: !shape.template[slot].isNull
    }
  }

  /// Whether a transient attribute was set, even to nil, or its default was made.
  func isTransientHeld(_ slot: Int) -> Bool { held(slot) != nil }

  /// The slots of the transient attributes that were set and are not known to equal their former
  /// values.
  func changedTransients(since before: TransientValues?) -> [Int] {
    guard let before else { return [] }
    return before.setSince.sorted().filter { slot in
      let old = before.bySlot[slot] ?? .value(shape.template[slot])
      let new = held(slot) ?? .value(shape.template[slot])
      return !new.isKnown(toEqual: old)
    }
  }
}

extension TransientValues.Held {
  /// The value of an attribute with a type; `.null` for an attribute of undefined type.
  var typedValue: Value {
    if case .value(let value) = self { value } else { .null }
  }

  /// Whether both are known to be equal. True for equal values of a type that can be compared, for
  /// the same instance of a class, and for the same `HeldObject`.
  func isKnown(toEqual other: TransientValues.Held) -> Bool {
    switch (self, other) {
    case (.value(let left), .value(let right)): left == right
    case (.object(let left), .object(let right)): left.isKnown(toEqual: right)
    case (.value, .object), (.object, .value): false
    }
  }

}

extension HeldObject {
  func isKnown(toEqual other: HeldObject) -> Bool {
    if self === other { return true }
    if let left = value as? any Equatable { return left.isEqual(to: other.value) }
    guard type(of: value) is AnyClass, type(of: other.value) is AnyClass else { return false }
    return value as AnyObject === other.value as AnyObject
  }
}

extension Equatable {
  fileprivate func isEqual(to other: Any) -> Bool { (other as? Self) == self }
}

// MARK: - Setting

extension ManagedObject {
  /// Sets a transient attribute with a type.
  func setTransientValue(_ value: Value, _ slot: Int) {
    core.editing.objectEditor.setTransient(of: self, slot, .value(storedTransient(value, slot)))
  }

  /// The form of a value in a transient attribute. Stops the program if the attribute cannot hold
  /// the value.
  func storedTransient(_ value: Value, _ slot: Int) -> Value {
    guard case .transient(let type, _) = shape.properties[slot], type != .undefined else {
      stop(
        "\(shape.name).\(shape.propertyName(slot)) is not a transient attribute with a type, and cannot be set in this way."
      )
    }
    if type == .objectID, case .objectID = value { return value }
    // A save rejects this value (VT2 of ValueTransformers.swift).
    if type == .transformable, value.transformationProblem != nil { return value }
    let kind = FieldKind(type)
    guard let stored = value.stored(as: kind) ?? value.date(for: kind) else { stopUnfit(value, slot) }
    return stored
  }

  /// Sets a transient attribute of undefined type; nil removes its value.
  func setTransientObject(_ object: Any?, _ slot: Int) {
    core.checkOwner()
    core.editing.objectEditor.setTransient(of: self, slot, object.map { .newObject($0) } ?? .value(.null))
  }

  /// Sets a transient attribute of undefined type without marking the object as changed.
  func setPrimitiveObject(_ object: Any?, _ slot: Int) {
    core.checkOwner()
    if core.editing.refusal.refusesChanges(self) { return core.editing.refusal.refuseChange(of: self, slot) }
    hold(object.map { .newObject($0) } ?? .value(.null), slot)
  }

  /// Sets a value without marking the object as changed, and without notifying observers.
  func hold(_ held: TransientValues.Held, _ slot: Int) {
    core.transientState.isUsed = true
    let values: TransientValues
    if let transients = header.pointee.transients {
      values = transients.takeUnretainedValue()
    } else {
      values = TransientValues()
      header.pointee.transients = .passRetained(values)
    }
    // The former value is released after the table is changed: it may be an object that is then
    // freed.
    let previous = values.bySlot.updateValue(held, forKey: slot)
    withExtendedLifetime(previous) {}
  }

  /// Sets a default that has just been made. It does not count as a change (TV2).
  func holdDefault(_ made: TransientValues.Held, _ slot: Int) {
    if header.pointee.isGone { return }
    overlay?.transientsBefore?.bySlot[slot] = made
    overlay?.transientsAtEvent?.bySlot[slot] = made
    hold(made, slot)
  }

  /// Resets all transient attributes to their defaults.
  func dropTransients() {
    guard let transients = header.pointee.transients else { return }
    header.pointee.transients = nil
    core.transientState.drop(transients.takeRetainedValue())
  }

  /// Drops the row and all transient values, because the program makes the object a fault.
  func dropValues() {
    header.pointee.dropRow()
    dropTransients()
  }

  /// Restores the transient values of the last save.
  func restoreTransients(_ overlay: ObjectOverlay) {
    core.transientState.dropTransientsAtEvent(overlay)
    guard let before = overlay.transientsBefore else { return }
    overlay.transientsBefore = nil
    dropTransients()
    header.pointee.transients = .passRetained(before)
  }
}

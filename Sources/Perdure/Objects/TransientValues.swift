// What transient attributes hold.
//
// They live with the instance and with nothing else: a fault that fires, a view that moves on and a save leave them
// as they are, and what a refresh, a reset or a rollback does to them is said where that is done. A context that has
// saved keeps no instance alive for their sake. What is gone, and what belongs to a context that nobody holds any
// more, has lost them: they may lead to other objects and in a circle, and each object keeps its context's view of
// the store.
//
// Invariants
//   T1. `ObjectHeader.transients` is nil as long as nothing was set: an object without transient values pays for a
//       pointer.
//   T2. Setting one gives the object an overlay whose `transientsBefore` is what all of them held before. It makes
//       the object updated and is validated, and changes no row: `changesRow` speaks of columns alone. A default
//       that is made later belongs to both: it was not set. Values may be of any type, so whether one differs from what
//       was held before cannot always be told; `setSince` says which were set at all. `transientsAtEvent` is the same
//       of the current event.
//   T3. They may be anything, and be released into code of the user's that uses the context. So whatever changes the
//       context in several steps releases none of them before it is done (`keepDropped`, `releaseDropped`).
//   T4. What is gone (`isGone`) holds none.

internal import PerdurePredicates

/// What the transient attributes of one instance hold, by slot; nothing for those that have their default.
final class TransientValues {
  /// A value that was set.
  enum Held {
    /// Of an attribute with a type; also the absence of a value, of any attribute.
    case value(Value)
    /// Of an attribute of the type undefined.
    case object(Any)
  }

  var bySlot: [Int: Held]
  /// Of what was held before (T2): the slots that were set since.
  var setSince: Set<Int> = []

  init(_ bySlot: [Int: Held] = [:]) { self.bySlot = bySlot }
}

// MARK: - Reading

extension ManagedObject {
  private func held(_ slot: Int) -> TransientValues.Held? {
    // Whoever wakes up with its row may set what is transient; nobody else needs one for this.
    if !header.pointee.isReady, uncountedShape._withUnsafeGuaranteedRef({ $0.followsRow }) { _ = loadRow() }
    return header.pointee.transients?.takeUnretainedValue().bySlot[slot]
  }

  /// What a transient attribute with a type holds.
  func transientValue(_ slot: Int) -> Value {
    if case .value(let value)? = held(slot) { return value }
    return shape.template[slot]
  }

  /// What a transient attribute of the type undefined holds.
  func transientObject(_ slot: Int) -> Any? {
    core.checkOwner()
    if case .object(let object)? = held(slot) { return object }
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

  /// Whether it was set, be it to nothing.
  func isTransientHeld(_ slot: Int) -> Bool { held(slot) != nil }

  /// The slots of the transient attributes that were set to something else than they held before.
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
  /// The value of an attribute with a type; null for a value of any type.
  var typedValue: Value {
    if case .value(let value) = self { value } else { .null }
  }

  /// Whether both are certainly the same: values of types that can be compared, and the same instance of a class.
  func isKnown(toEqual other: TransientValues.Held) -> Bool {
    switch (self, other) {
    case (.value(let left), .value(let right)): left == right
    case (.object(let left), .object(let right)): Self.areEqual(left, right)
    case (.value, .object), (.object, .value): false
    }
  }

  private static func areEqual(_ left: Any, _ right: Any) -> Bool {
    if let left = left as? any Equatable { return left.isEqual(to: right) }
    guard type(of: left) is AnyClass, type(of: right) is AnyClass else { return false }
    return left as AnyObject === right as AnyObject
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

  /// A value as a transient attribute holds it. One that it cannot hold is a mistake of the caller.
  func storedTransient(_ value: Value, _ slot: Int) -> Value {
    guard case .transient(let type, _) = shape.properties[slot], type != .undefined else {
      stop(
        "\(shape.name).\(shape.propertyName(slot)) is not a transient attribute with a type, and cannot be set so."
      )
    }
    if type == .objectID, case .objectID = value { return value }
    // A save refuses it (T2 of ValueTransformers.swift).
    if type == .transformable, value.transformationProblem != nil { return value }
    let kind = FieldKind(type)
    guard let stored = value.stored(as: kind) ?? value.date(for: kind) else { stopUnfit(value, slot) }
    return stored
  }

  /// Sets a transient attribute of the type undefined; nil takes its value away.
  func setTransientObject(_ object: Any?, _ slot: Int) {
    core.checkOwner()
    core.editing.objectEditor.setTransient(of: self, slot, object.map { .object($0) } ?? .value(.null))
  }

  /// Sets a transient attribute of the type undefined without marking the object as changed.
  func setPrimitiveObject(_ object: Any?, _ slot: Int) {
    core.checkOwner()
    if core.editing.refusal.refusesChanges(self) { return core.editing.refusal.refuseChange(of: self, slot) }
    hold(object.map { .object($0) } ?? .value(.null), slot)
  }

  /// Holds a value without anybody being told.
  func hold(_ held: TransientValues.Held, _ slot: Int) {
    core.transientState.isUsed = true
    let values: TransientValues
    if let transients = header.pointee.transients {
      values = transients.takeUnretainedValue()
    } else {
      values = TransientValues()
      header.pointee.transients = .passRetained(values)
    }
    // What it held before goes when the table is as it will be: it may be an object that ends now.
    let previous = values.bySlot.updateValue(held, forKey: slot)
    withExtendedLifetime(previous) {}
  }

  /// Holds a default that has just been made, which changes nothing (T2).
  func holdDefault(_ made: TransientValues.Held, _ slot: Int) {
    if header.pointee.isGone { return }
    overlay?.transientsBefore?.bySlot[slot] = made
    overlay?.transientsAtEvent?.bySlot[slot] = made
    hold(made, slot)
  }

  /// Everything is the default again.
  func dropTransients() {
    guard let transients = header.pointee.transients else { return }
    header.pointee.transients = nil
    core.transientState.drop(transients.takeRetainedValue())
  }

  /// The object becomes a fault by request.
  func dropValues() {
    header.pointee.dropRow()
    dropTransients()
  }

  /// Takes back what was set since the last save.
  func restoreTransients(_ overlay: ObjectOverlay) {
    core.transientState.dropTransientsAtEvent(overlay)
    guard let before = overlay.transientsBefore else { return }
    overlay.transientsBefore = nil
    dropTransients()
    header.pointee.transients = .passRetained(before)
  }
}

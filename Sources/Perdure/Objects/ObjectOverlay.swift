internal import PerdurePredicates

/// The unsaved changes of one object, whether the object has an instance or not.
///
/// Delete rules change rows by the thousand; so changes are kept by reference, and an instance is only made
/// when somebody asks for the object. While there are changes, the overlay keeps the instance alive.
final class ObjectOverlay {
  // Not checked for exclusivity at run time: no function here calls out, and checks cost more than accesses.

  let reference: ObjectReference
  let shape: EntityShape
  /// Whether the object has no row in the store.
  let isNew: Bool
  /// Whether the object is to be deleted.
  @exclusivity(unchecked) var isDeleted = false
  /// Whether the delete rules have been applied to what it is linked with now.
  @exclusivity(unchecked) var isPropagated = false
  /// The changed columns by slot; nil for the unchanged. Empty when no column has changed.
  @exclusivity(unchecked) private(set) var values: [Value?] = []
  @exclusivity(unchecked) private(set) var deltas: [(slot: Int, delta: LinkDelta)] = []
  /// The version of the row that the changes were made to; nil for new objects and where only links changed.
  @exclusivity(unchecked) var baseVersion: RowVersion?
  @exclusivity(unchecked) var object: ManagedObject?

  init(_ reference: ObjectReference, _ shape: EntityShape, isNew: Bool) {
    self.reference = reference
    self.shape = shape
    self.isNew = isNew
    if isNew { values = shape.template }
  }

  /// Whether the row has to be written.
  var changesRow: Bool { !values.isEmpty }

  var hasDeltas: Bool { !deltas.isEmpty }

  var state: ObjectState {
    if isDeleted { return isNew ? .gone : .deleted }
    return isNew ? .inserted : .updated
  }

  /// The changed value of a column, or nil when it has not changed.
  @inline(__always)
  func value(_ slot: Int) -> Value? { values.isEmpty ? nil : values[slot] }

  func setValue(_ value: Value, _ slot: Int) {
    if values.isEmpty { values = [Value?](repeating: nil, count: shape.properties.count) }
    values[slot] = value
  }

  func delta(_ slot: Int) -> LinkDelta? {
    for entry in deltas where entry.slot == slot { return entry.delta }
    return nil
  }

  func changeDelta(_ slot: Int, _ change: (inout LinkDelta) -> Void) {
    let position = deltas.firstIndex { $0.slot == slot } ?? deltas.count
    if position == deltas.count { deltas.append((slot, LinkDelta())) }
    change(&deltas[position].delta)
    if deltas[position].delta.isEmpty { deltas.remove(at: position) }
  }

  func removeDeltas(where isRemoved: (Int) -> Bool) {
    deltas.removeAll { isRemoved($0.slot) }
  }

  /// Forgets all changed columns of an object that has a row.
  func discardValues() {
    precondition(!isNew, "A new object has no row to fall back on.")
    values = []
  }
}

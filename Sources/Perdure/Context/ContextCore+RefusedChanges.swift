// Changes that could not be made, kept for the next save to report.
//
// A property cannot throw. A change of an object that the context no longer has would be lost without a word, and so
// would a value that an attribute cannot hold. Each is noted, and the next save throws before it writes anything.
//
// Invariants
//   R1. While a change is noted, `hasChanges` is true.
//   R2. A save that throws forgets what it reports: the next save writes everything else. A rollback and a reset
//       forget it too.
//   R3. Details are kept for `refusedChangesMax` changes; others are counted.

internal import PerdurePredicates

/// Changes that could not be made since the last save.
struct RefusedChanges {
  private(set) var details: [PerdureError.Detail] = []
  private(set) var count = 0

  /// How many changes are kept with their details (R3).
  static let detailsMax = 100

  var isEmpty: Bool { count == 0 }

  mutating func note(_ detail: PerdureError.Detail) {
    // A relationship that is replaced is asked several times.
    if details.last == detail { return }
    count += 1
    if details.count < Self.detailsMax { details.append(detail) }
  }
}

extension ContextCore {
  /// Notes that a property of an object was not set, because the context no longer has the object.
  func refuseChange(of object: ManagedObject, _ slot: Int, _ value: Value = .null) {
    // `didSave` of a deleted object runs when the object is gone; transient values go with the instance.
    guard object.header.pointee.isGone, object.header.pointee.savedState == nil else { return }
    if case .transient = object.shape.properties[slot] { return }
    note(
      object, object.shape.propertyName(slot), value,
      "was not set: \(goneReason(object.reference))")
  }

  /// Notes that objects were not connected, because the store has one of them no more.
  ///
  /// - Parameter target: The object at the other end; nil where nothing is known but the owner.
  func refuseLink(of owner: ManagedObject, _ slot: Int, to target: ManagedObject? = nil) {
    // A store that cannot be read is reported by itself.
    guard readFailure == nil, owner.header.pointee.savedState == nil,
      !owner.shape.relationship(slot).isTransient
    else { return }
    let reason: String
    if let target, !owner.header.pointee.isGone {
      reason = "was not connected with \(target.objectID): \(goneReason(target.reference))"
    } else {
      reason = "was not changed: \(goneReason(owner.reference))"
    }
    note(
      owner, owner.shape.propertyName(slot), target.map(\.predicateValue) ?? .null, reason)
  }

  private func note(
    _ object: ManagedObject, _ property: String, _ value: Value, _ rule: String
  ) {
    refusedChanges.note(
      PerdureError.Detail(
        code: .objectNotFound, objectID: object.objectID, property: property, value: value, rule: rule))
  }

  private func goneReason(_ reference: ObjectReference) -> String {
    let survivor = survivor(of: reference)
    if survivor == reference { return "the object is not in this context any more" }
    return "a save has merged the object into \(objectID(of: survivor))"
  }

  /// Reports what was refused since the last save, once (R2).
  func throwRefusedChanges() throws(PerdureError) {
    if refusedChanges.isEmpty { return }
    let refused = refusedChanges
    refusedChanges = RefusedChanges()
    throw .refused(refused)
  }
}

extension PerdureError {
  fileprivate static func refused(_ changes: RefusedChanges) -> PerdureError {
    let first = changes.details[0]
    let more = changes.count == 1 ? "" : " So were \(changes.count - 1) more; see the details."
    let isOfOneKind = changes.details.allSatisfy { $0.code == first.code }
    var error = PerdureError(
      isOfOneKind ? first.code : .multipleValidationErrors,
      "\(first.objectID): \(first.property) \(first.rule).\(more) Nothing was saved. Save again to save everything "
        + "else, or roll back.")
    error.details = changes.details
    var seen: Set<ManagedObjectID> = []
    error.objectIDs = changes.details.map(\.objectID).filter { seen.insert($0).inserted }
    return error
  }
}

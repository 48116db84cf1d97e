// The hooks of a save: what the program's own classes change, refuse, and are told.
//
// Before anything is written, every pending object whose class has a hook is asked, in order of entity and
// identity:
//
//   S1. `willSave`, to a fixed point. Who is changed after its `willSave` began is called again, so whatever a
//       `willSave` does, to its own object or to others, is seen by the `willSave` of who it was done to.
//   S2. Then `validateValue` and `validateForInsert`, `validateForUpdate` or `validateForDelete`. If anything with
//       hooks is changed by them, all begins again with S1 for who was changed, and validation for everybody: a rule
//       may look at several objects.
//   S3. After 1,000 rounds of both together the save gives up, and names who still changes.
//   S4. Objects that were inserted and deleted since the last save hear nothing of it, nor do those that another
//       context has removed: the save refuses them anyway.
//
// Hooks may insert, delete, discard, roll back and reset; so an overlay is only believed while the tracker has it.
// They may not save: a save inside a save would write half of it.

internal import PerdurePredicates

extension ContextCore {
  /// How many rounds of hooks a save makes at most (S3).
  static let saveRoundsMax = 1000

  /// Stops a program that saves where everything is in motion.
  func checkSaveIsPossible() {
    if isPropagating {
      stop(
        "save() was called by the prepareForDeletion of an object that a delete rule takes along, "
          + "while delete rules are being applied. Save when that is done.")
    }
    if isSaving {
      stop(
        "save() was called by a hook of a save: willSave, didSave or a validation. What such a hook changes is "
          + "saved by the save that called it, or pending after it.")
    }
  }

  /// Lets objects prepare for the save, and refuse it.
  ///
  /// - Returns: What their validation has found. Delete rules are applied.
  func callSaveHooks() throws(PerdureError) -> [PerdureError.Detail] {
    guard tracker.containsEntity(where: \.hasSaveHooks) else { return [] }
    var details: [PerdureError.Detail] = []
    var round = hooked { _ in true }
    var count = 0
    while !round.isEmpty {
      count += 1
      if count > Self.saveRoundsMax { throw .endlessChanges(round.map { objectID(of: $0.reference) }) }
      for overlay in round { willSave(overlay) }
      propagateDeletes()
      if let readFailure { throw readFailure }
      round = hooked { $0.isTouched && $0.shape.lifeCycle.contains(.willSave) }
      guard round.isEmpty else { continue }
      details = validateObjects()
      propagateDeletes()
      round = hooked(\.isTouched)
    }
    return details
  }

  /// The pending changes of objects with hooks that fulfil a condition, in order.
  private func hooked(_ holds: (ObjectOverlay) -> Bool) -> [ObjectOverlay] {
    tracker.ordered.joined().filter { $0.shape.hasSaveHooks && isPending($0) && holds($0) }
  }

  /// Whether a save concerns an object (S4).
  private func isPending(_ overlay: ObjectOverlay) -> Bool {
    overlay.state.isPending && tracker[overlay.reference] === overlay && !hasVanished(overlay.reference)
  }

  private func willSave(_ overlay: ObjectOverlay) {
    guard overlay.shape.lifeCycle.contains(.willSave), isPending(overlay) else { return }
    overlay.isTouched = false
    instance(of: overlay.reference).willSave()
  }
}

// MARK: - Validation by the classes

extension ContextCore {
  /// Calls the validation of every pending object whose class has one.
  func validateObjects() -> [PerdureError.Detail] {
    guard tracker.containsEntity(where: \.hasSaveHooks) else { return [] }
    let overlays = hooked { _ in true }
    for overlay in overlays { overlay.isTouched = false }
    var details: [PerdureError.Detail] = []
    for overlay in overlays where isPending(overlay) { validate(overlay, &details) }
    return details
  }

  private func validate(_ overlay: ObjectOverlay, _ details: inout [PerdureError.Detail]) {
    let lifeCycle = overlay.shape.lifeCycle
    guard !lifeCycle.isDisjoint(with: .validating) || !overlay.shape.validatedKeys.isEmpty else { return }
    let object = instance(of: overlay.reference)
    if !overlay.isDeleted {
      for key in overlay.shape.validatedKeys where isPending(overlay) { validate(object, key, &details) }
    }
    guard isPending(overlay) else { return }
    do {
      switch overlay.state {
      case .inserted: if lifeCycle.contains(.validateForInsert) { try object.validateForInsert() }
      case .updated: if lifeCycle.contains(.validateForUpdate) { try object.validateForUpdate() }
      case .deleted: if lifeCycle.contains(.validateForDelete) { try object.validateForDelete() }
      case .stored, .gone: break
      }
    } catch {
      details += PerdureError.details(of: error, object.objectID)
    }
  }

  /// Lets the class check one value, and takes what it puts in its place.
  private func validate(_ object: ManagedObject, _ key: String, _ details: inout [PerdureError.Detail]) {
    let before = object.value(forKey: key)
    var value = before
    do { try object.validateValue(&value, forKey: key) } catch {
      details += PerdureError.details(of: error, object.objectID, key, before)
      return
    }
    if !Self.isSame(before, value) { object.setValue(value, forKey: key) }
  }

  private static func isSame(_ left: Any?, _ right: Any?) -> Bool {
    switch (left, right) {
    case (nil, nil): true
    case (let left as Set<ManagedObject>, let right as Set<ManagedObject>): left == right
    case (let left as ManagedObject, let right as ManagedObject): left === right
    case (let left as any PredicateArgument, let right as any PredicateArgument):
      left.predicateValue == right.predicateValue
    case (let left?, let right?):
      // In a transient attribute of any type. What cannot be compared is not replaced: it would be without end.
      (left as? AnyHashable).map { $0 == right as? AnyHashable } ?? true
    default: false
    }
  }

  /// The declared rules that an object's pending changes break, for `validateForInsert()` and its like.
  func checkRules(of object: ManagedObject) throws(PerdureError) {
    checkOwner()
    guard object.context === self, let overlay = object.overlay else { return }
    var details: [PerdureError.Detail] = []
    addViolations(overlay, to: &details)
    if !details.isEmpty { throw .validation(details) }
  }

  /// The declared rules that a value would break.
  func checkRule(_ value: Any?, forKey key: String, of object: ManagedObject) throws(PerdureError) {
    checkOwner()
    let (shape, slot) = (object.shape, object.shape.slot(named: key))
    var details: [PerdureError.Detail] = []
    var violation: PropertyRules.Violation?
    if case .relationship(let relationship) = shape.properties[slot] {
      let count = (value as? Set<ManagedObject>)?.count ?? (value == nil ? 0 : 1)
      violation = PropertyRules.violation(relationship, count: count)
    } else if let value {
      let held = (value as? any PredicateArgument)?.predicateValue
      if let held { addBrokenRules(of: held, shape, object.reference, slot, to: &details) }
    } else if !shape.isOptional(slot) {
      violation = PropertyRules.missing
    }
    if let violation {
      details.append(
        PerdureError.Detail(
          code: violation.code, objectID: object.objectID, property: key, value: violation.value,
          rule: violation.rule))
    }
    if !details.isEmpty { throw .validation(details) }
  }
}

// MARK: - After the commit

extension ContextCore {
  /// The objects that are told when the commit is done, each with what it will have made of them. Those that go
  /// are loaded, so that they can be read to the end.
  func objectsToTell() -> [(object: ManagedObject, state: ObjectState)] {
    guard tracker.containsEntity(where: { $0.lifeCycle.contains(.didSave) }) else { return [] }
    return tracker.ordered.joined().filter { $0.shape.lifeCycle.contains(.didSave) && isPending($0) }
      .map { overlay in
        let object = instance(of: overlay.reference)
        if overlay.isDeleted { _ = loadRow(of: object) }
        return (object, overlay.state)
      }
  }

  /// Calls `didSave`, while the objects still say what they were before. What it changes is pending.
  func callDidSave(_ saved: [(object: ManagedObject, state: ObjectState)]) {
    for (object, state) in saved { object.header.pointee.savedState = state }
    for (object, _) in saved { object.didSave() }
    for (object, _) in saved { object.header.pointee.savedState = nil }
  }
}

extension PerdureError {
  fileprivate static func endlessChanges(_ objects: [ManagedObjectID]) -> PerdureError {
    let named = objects.prefix(3).map(\.uri).joined(separator: ", ") + (objects.count > 3 ? ", …" : "")
    var error = PerdureError(
      .endlessChanges,
      "After \(ContextCore.saveRoundsMax) rounds, willSave or validation still changes \(named). Let them set a "
        + "value only if it differs, or use setPrimitiveValue. Nothing was saved.")
    error.objectIDs = objects
    return error
  }

  /// What a validation hook has thrown, as details.
  fileprivate static func details(
    of error: any Error, _ object: ManagedObjectID, _ key: String = "", _ value: Any? = nil
  ) -> [Detail] {
    let value = (value as? any PredicateArgument)?.predicateValue ?? .null
    guard let error = error as? PerdureError else {
      return [
        Detail(
          code: .validation, objectID: object, property: key, value: value, rule: "\(error)",
          cause: error)
      ]
    }
    if !error.details.isEmpty { return error.details }
    return [
      Detail(
        code: error.code, objectID: object, property: key, value: value, rule: error.message, cause: error)
    ]
  }
}

// The hooks of a save: what the program's own classes change, refuse, and are told.
//
// Before anything is written, every pending object whose class has a hook is asked, in order of entity and
// identity:
//
//   S1. `willSave`, to a fixed point. Who is changed after its `willSave` began is called again, so whatever a
//       `willSave` does, to its own object or to others, is seen by the `willSave` of who it was done to.
//   S2. Then `validateValue` and `validateForInsert`, `validateForUpdate` or `validateForDelete`. If anything is
//       changed by them, all begins again with S1 for who was changed, and validation for everybody: a rule may look at
//       several objects, also such as have no hooks themselves. The methods of an object that leads to nothing
//       where it has to (1570) are not called: to read such a property stops the program.
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
        "save() was called by prepareForDeletion of an object that a delete rule deletes. Save after the deletion."
      )
    }
    if isValidating {
      stop(
        "save() was called by a validation hook of validate(). Remove the call: changes in hooks stay pending."
      )
    }
    if isSaving {
      stop(
        "save() was called by a hook of a save: willSave, didSave or a validation. Remove the call: the running save "
          + "saves the changes of willSave, and those of didSave stay pending.")
    }
  }

  /// Lets objects prepare for the save, and refuse it.
  ///
  /// - Returns: What their validation has found. Delete rules are applied.
  func callSaveHooks() throws(PerdureError) -> [PerdureError.Detail] {
    guard tracker.containsEntity(where: \.hasSaveHooks) else { return [] }
    var changed = pending { $0.shape.hasSaveHooks }
    var count = 0
    while true {
      count += 1
      if count > Self.saveRoundsMax { throw .endlessChanges(changed.map { objectID(of: $0.reference) }) }
      for overlay in changed { willSave(overlay) }
      propagateDeletes()
      if let readFailure { throw readFailure }
      changed = pending { $0.isTouched && $0.shape.lifeCycle.contains(.willSave) }
      guard changed.isEmpty else { continue }
      for overlay in tracker.all { overlay.isTouched = false }
      let refusals = validateObjects()
      propagateDeletes()
      changed = pending(\.isTouched)
      if changed.isEmpty { return refusals }
    }
  }

  /// The pending changes that fulfil a condition, in order.
  private func pending(_ holds: (ObjectOverlay) -> Bool) -> [ObjectOverlay] {
    tracker.ordered.joined().filter { isPending($0) && holds($0) }
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
  /// Calls the validation of every pending object whose class has one. What an object refuses that another's
  /// validation has deleted or thrown away is of no account.
  func validateObjects() -> [PerdureError.Detail] {
    guard tracker.containsEntity(where: \.hasSaveHooks) else { return [] }
    if isValidating {
      stop("validate() was called by a validation hook, and would never end. Remove the call.")
    }
    isValidating = true
    defer { isValidating = false }
    var refusals: [(overlay: ObjectOverlay, details: [PerdureError.Detail])] = []
    for overlay in pending({ $0.shape.hasSaveHooks }) where isPending(overlay) {
      var details: [PerdureError.Detail] = []
      validate(overlay, &details)
      if !details.isEmpty { refusals.append((overlay, details)) }
    }
    propagateDeletes()
    return refusals.flatMap { isPending($0.overlay) ? $0.details : [] }
  }

  private func validate(_ overlay: ObjectOverlay, _ details: inout [PerdureError.Detail]) {
    let lifeCycle = overlay.shape.lifeCycle
    guard !lifeCycle.isDisjoint(with: .validating) || !overlay.shape.validatedKeys.isEmpty else { return }
    let object = instance(of: overlay.reference)
    if !overlay.isDeleted {
      for key in overlay.shape.validatedKeys where isPending(overlay) && asks(overlay, for: key) {
        validate(object, key, &details)
      }
    }
    guard !lifeCycle.isDisjoint(with: .validating), isPending(overlay), !lacksObjects(overlay) else { return }
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

  /// Whether a save validates a key: always if the class lists it, and otherwise if its slot may
  /// have become invalid.
  private func asks(_ overlay: ObjectOverlay, for key: String) -> Bool {
    overlay.shape.slotsOfUnlistedKeys[key].map { isConcerned(overlay, $0) } ?? true
  }

  /// Whether a relationship leads to nothing that has to lead to an object, so that its property cannot be read.
  private func lacksObjects(_ overlay: ObjectOverlay) -> Bool {
    if overlay.isDeleted { return false }
    return overlay.shape.relationships.contains { relationship in
      !relationship.isToMany && !relationship.isOptional && target(of: overlay.reference, relationship) == nil
    }
  }

  /// Lets the class check one value, and takes what it puts in its place.
  private func validate(_ object: ManagedObject, _ key: String, _ details: inout [PerdureError.Detail]) {
    let before = object.storedValue(forKey: key)
    var value = before
    do { try object.validateValue(&value, forKey: key) } catch {
      details += PerdureError.details(of: error, object.objectID, key, before)
      return
    }
    if let objects = value as? [ManagedObject] { value = Set(objects) }
    if !isSame(before, value, object, key) { object.setValue(value, forKey: key) }
  }

  /// Whether setting a property to what validation leaves would change nothing. What is transformed is the same value or
  /// has the same bytes, and a composite is its leaves.
  private func isSame(_ before: Any?, _ value: Any?, _ object: ManagedObject, _ key: String) -> Bool {
    guard let composite = object.shape.composite(named: key) else {
      return isSame(before, value, object, object.shape.slot(named: key))
    }
    return zip(object.leaves(of: before, composite), object.leaves(of: value, composite))
      .allSatisfy { isSame($0.value, $1.value, object, $0.slot) }
  }

  private func isSame(_ before: Any?, _ value: Any?, _ object: ManagedObject, _ slot: Int) -> Bool {
    guard object.shape.transformers[slot] != nil else { return Self.isSame(before, value) }
    if let before, let value, UnchangedValue.isSame(before, value) { return true }
    return object.transformed(before, slot) == object.transformed(value, slot)
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
      (left as? AnyHashable).map { $0 == right as? AnyHashable } ?? Self.isSameInstance(left, right)
    default: false
    }
  }

  /// Values that cannot be compared count as the same, unless they are instances of classes.
  private static func isSameInstance(_ left: Any, _ right: Any) -> Bool {
    guard type(of: left) is AnyClass, type(of: right) is AnyClass else {
      return !(type(of: left) is AnyClass) && !(type(of: right) is AnyClass)
    }
    return left as AnyObject === right as AnyObject
  }

  /// Validates an object as a save does, without the object's own methods. During a save, checks
  /// only the declared rules: the save has validated the keys already.
  ///
  /// - Throws: `PerdureError` with the details of all violations.
  func validateByHand(_ object: ManagedObject) throws(PerdureError) {
    checkOwner()
    var details: [PerdureError.Detail] = []
    if !isValidating {
      for key in object.shape.validatedKeys where object.context === self {
        if object.overlay.map({ asks($0, for: key) }) ?? true { validate(object, key, &details) }
      }
    }
    guard object.context === self, let overlay = object.overlay else {
      if !details.isEmpty { throw .validation(details) }
      return
    }
    var violations: [PerdureError.Detail] = []
    addViolations(overlay, to: &violations)
    violations.addNew(details)
    if !violations.isEmpty { throw .validation(violations) }
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
    if let composite = object.shape.composite(named: key) {
      return try checkRules(value, composite, of: object)
    }
    let (shape, slot) = (object.shape, object.shape.slot(named: key))
    var details: [PerdureError.Detail] = []
    var violation: PropertyRules.Violation?
    if case .relationship(let relationship) = shape.properties[slot] {
      let objects = value as? Set<ManagedObject> ?? (value as? [ManagedObject]).map { Set($0) }
      let count = objects?.count ?? (value == nil ? 0 : 1)
      violation = PropertyRules.violation(relationship, count: count)
    } else if let value {
      if case .transient(.undefined, _) = shape.properties[slot] {
        // It holds anything.
      } else if let held = object.held(value, slot) {
        addBrokenRules(of: held, shape, object.reference, slot, to: &details)
      } else {
        violation = PropertyRules.unfit(value)
      }
    } else if !object.canLack(slot) {
      // As a save reports it, so that both reports are one.
      violation = PropertyRules.missing(slot, of: shape, isNew: object.overlay?.isNew == true)
    } else {
      addAbsentComposites(of: object, without: slot, to: &details)
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
        if overlay.isDeleted { loadQuietly(object) }
        return (object, overlay.state)
      }
  }

  /// A row that cannot be read is no reason to refuse what comes after the commit that removes it.
  private func loadQuietly(_ object: ManagedObject) {
    let before = readFailure
    _ = loadRow(of: object)
    readFailure = before
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

// Validation by the program's classes (SH2 in SaveHookCaller.swift), and validation of single
// values on request.

internal import PerdureModel
internal import PerdurePredicates

/// Calls the validation of the program's classes.
final class ClassValidation {
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  @Shared private var reading: ContextReading
  private let recording: EditRecording
  private let deleteRules: DeleteRules
  private let ruleValidation: RuleValidation
  private let activity: ContextActivity

  init(
    reading: Shared<ContextReading>, recording: EditRecording, deleteRules: DeleteRules,
    ruleValidation: RuleValidation, activity: ContextActivity
  ) {
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    _reading = reading
    self.recording = recording
    self.deleteRules = deleteRules
    self.ruleValidation = ruleValidation
    self.activity = activity
  }

  /// Checks the unsaved changes as a save does before the commit. The validation of the classes
  /// runs first, because it may change values.
  func validateChanges() throws(PerdureError) {
    deleteRules.propagateDeletes()
    try viewState.throwReadFailure()
    let refusals = validateObjects()
    deleteRules.propagateDeletes()
    // Blocks hooks (OH2): they could change the objects that are being checked.
    activity.isPlanning = true
    defer { activity.isPlanning = false }
    var violations: [PerdureError.Detail] = []
    for overlay in pending.ordered.joined() { ruleValidation.addViolations(overlay, to: &violations) }
    violations.addNew(refusals)
    try viewState.throwReadFailure()
    if !violations.isEmpty { throw .validation(violations) }
  }

  /// Calls the validation of every object with unsaved changes whose class has one, and returns the
  /// violations. Ignores the errors of objects that another object's validation has deleted or
  /// discarded.
  func validateObjects() -> [PerdureError.Detail] {
    guard pending.containsEntity(where: \.hasSaveHooks) else { return [] }
    if activity.isValidating {
      stop("validate() was called by a validation hook: this recursion has no end. Remove the call.")
    }
    activity.isValidating = true
    defer { activity.isValidating = false }
    var refusals: [(overlay: ObjectOverlay, details: [PerdureError.Detail])] = []
    for overlay in pending.saved(where: { $0.shape.hasSaveHooks }, in: viewState)
    where pending.isSaved(overlay, in: viewState) {
      var details: [PerdureError.Detail] = []
      recording.callHook(of: overlay.reference) { validate(overlay, &details) }
      if !details.isEmpty { refusals.append((overlay, details)) }
    }
    deleteRules.propagateDeletes()
    return refusals.flatMap { pending.isSaved($0.overlay, in: viewState) ? $0.details : [] }
  }

  private func validate(_ overlay: ObjectOverlay, _ details: inout [PerdureError.Detail]) {
    let lifeCycle = overlay.shape.lifeCycle
    guard !lifeCycle.isDisjoint(with: .validating) || !overlay.shape.validatedKeys.isEmpty else { return }
    let object = registry.instance(of: overlay.reference)
    if !overlay.isDeleted {
      for key in overlay.shape.validatedKeys
      where pending.isSaved(overlay, in: viewState) && asks(overlay, for: key) {
        validate(object, key, &details)
      }
    }
    guard !lifeCycle.isDisjoint(with: .validating), pending.isSaved(overlay, in: viewState),
      !lacksObjects(overlay)
    else { return }
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
    overlay.shape.slotsOfUnlistedKeys[key].map { ruleValidation.isConcerned(overlay, $0) } ?? true
  }

  /// Whether a required to-one relationship has no target. A read of this relationship does not
  /// return a valid object.
  private func lacksObjects(_ overlay: ObjectOverlay) -> Bool {
    if overlay.isDeleted { return false }
    return overlay.shape.relationships.contains { relationship in
      !relationship.isToMany && !relationship.isOptional
        && reading.links.target(of: overlay.reference, relationship) == nil
    }
  }

  /// Validates one value by the class, and sets the value that replaces it.
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

  /// Whether the value after validation equals the value before. Values of a transformed attribute
  /// are also equal if their transformed bytes are equal. Composites are compared by their leaves.
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
      // Here the attribute is transient and can have any type. Values that cannot be compared count
      // as unchanged, unless they are different instances (`isSameInstance`). Otherwise each
      // validation sets the attribute again.
      (left as? AnyHashable).map { $0 == right as? AnyHashable } ?? Self.isSameInstance(left, right)
    default: false
    }
  }

  /// Two instances of classes are equal only if they are identical. Two other values cannot be
  /// compared here, and count as equal.
  private static func isSameInstance(_ left: Any, _ right: Any) -> Bool {
    guard type(of: left) is AnyClass, type(of: right) is AnyClass else {
      return !(type(of: left) is AnyClass) && !(type(of: right) is AnyClass)
    }
    return left as AnyObject === right as AnyObject
  }

  /// Validates an object as a save does, without `validateForInsert()` and similar methods. During
  /// a validation, checks only the declared rules: the validation checks the keys itself.
  ///
  /// - Throws: `PerdureError` with the details of all violations.
  func validateByHand(_ object: ManagedObject) throws(PerdureError) {
    var details: [PerdureError.Detail] = []
    if !activity.isValidating {
      for key in object.shape.validatedKeys where registry.has(object) {
        if object.overlay.map({ asks($0, for: key) }) ?? true { validate(object, key, &details) }
      }
    }
    guard registry.has(object), let overlay = object.overlay else {
      if !details.isEmpty { throw .validation(details) }
      return
    }
    var violations: [PerdureError.Detail] = []
    ruleValidation.addViolations(overlay, to: &violations)
    violations.addNew(details)
    if !violations.isEmpty { throw .validation(violations) }
  }

  /// Throws an error with the declared rules that an object's unsaved changes violate. Used by
  /// `validateForInsert()` and similar methods.
  func checkRules(of object: ManagedObject) throws(PerdureError) {
    guard registry.has(object), let overlay = object.overlay else { return }
    var details: [PerdureError.Detail] = []
    ruleValidation.addViolations(overlay, to: &details)
    if !details.isEmpty { throw .validation(details) }
  }

  /// Throws an error with the declared rules that a new value of a property violates.
  func checkRule(_ value: Any?, forKey key: String, of object: ManagedObject) throws(PerdureError) {
    if let composite = object.shape.composite(named: key) {
      return try ruleValidation.checkRules(value, composite, of: object)
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
        // Such an attribute can have any value.
      } else if let held = object.held(value, slot) {
        ruleValidation.addBrokenRules(of: held, shape, object.reference, slot, to: &details)
      } else {
        violation = PropertyRules.unfit(value)
      }
    } else if !object.canLack(slot) {
      // The same violation as a save reports, so that both are counted once.
      violation = PropertyRules.missing(slot, of: shape, isNew: object.overlay?.isNew == true)
    } else {
      ruleValidation.addAbsentComposites(of: object, without: slot, to: &details)
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

extension PerdureError {
  /// The error of a validation hook as details.
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

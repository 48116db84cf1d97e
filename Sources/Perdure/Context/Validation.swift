// What a save refuses by itself, before the store is asked.

internal import PerdureModel
internal import PerdurePredicates

/// A deletion that a relationship with the rule deny stands against.
struct DeniedDelete {
  let relationship: RelationshipShape
  let remaining: Int

  /// The relationships that deny the deletion of an object: those that lead to anything that stays.
  static func find(_ overlay: ObjectOverlay, in context: ContextCore) -> [DeniedDelete] {
    overlay.shape.relationships.compactMap { relationship in
      guard relationship.deleteRule == .deny else { return nil }
      let remaining = context.targets(of: overlay.reference, relationship)
        .count { !context.tracker.isDeleted($0) }
      return remaining == 0 ? nil : DeniedDelete(relationship: relationship, remaining: remaining)
    }
  }
}

/// The rules that properties have to obey at a save. Pure: what they hold is given.
enum PropertyRules {
  typealias Violation = (code: PerdureError.Code, value: Value, rule: String)

  /// A number that was never set reads as 0, so that it has no value may come as a surprise.
  static let missing: Violation = (
    .missingMandatoryProperty, .null,
    "must have a value, whatever it reads as without one: set it, give it a default, or make it optional"
  )

  /// Whether a property has any rule.
  static func apply(to property: EntityShape.Property) -> Bool {
    switch property {
    case .attribute(_, let isOptional), .transient(_, let isOptional): !isOptional
    case .count: false
    case .relationship(let relationship): !relationship.isOptional || relationship.hasCountLimits
    }
  }

  /// Core Data's number for a rule of the model that a value of a type breaks.
  static func code(of rule: ValidationRule, _ type: AttributeType?) -> PerdureError.Code {
    switch (rule, type) {
    case (.predicate, _), (.unreadablePredicate, _): .validation
    case (_, .uri): .invalidURI
    case (.minimum, .date): .dateTooSoon
    case (.maximum, .date): .dateTooLate
    case (.minimum, _): .numberTooSmall
    case (.maximum, _): .numberTooLarge
    case (.minimumLength, _): .stringTooShort
    case (.maximumLength, _): .stringTooLong
    case (.pattern, _): .stringPatternMatching
    }
  }

  /// What is wrong with the number of objects at the other end. An optional relationship may always be empty.
  static func violation(
    _ relationship: RelationshipShape, count: Int
  ) -> Violation? {
    if count == 0, relationship.isOptional { return nil }
    if !relationship.isToMany {
      if count > 0 { return nil }
      return (
        .missingMandatoryProperty, .null,
        "must lead to an object: connect one, or make the relationship optional"
      )
    }
    let value = Value.integer(Int64(count))
    if count < relationship.minCount {
      return (
        .relationshipLacksMinimumCount, value,
        "must have at least \(counted(relationship.minCount, "object"))"
      )
    }
    if relationship.maxCount > 0, count > relationship.maxCount {
      return (
        .relationshipExceedsMaximumCount, value,
        "must have at most \(counted(relationship.maxCount, "object"))"
      )
    }
    return nil
  }
}

extension ContextCore {
  /// What a save would find, before it asks the store.
  func validate() throws(PerdureError) {
    checkOwner()
    propagateDeletes()
    if let readFailure { throw readFailure }
    var violations: [PerdureError.Detail] = []
    for overlay in tracker.ordered.joined() { addViolations(overlay, to: &violations) }
    violations.addNew(validateObjects())
    if let readFailure { throw readFailure }
    if !violations.isEmpty { throw .validation(violations) }
  }

  /// Adds every rule that a pending change breaks. Delete rules have been applied before.
  func addViolations(_ overlay: ObjectOverlay, to details: inout [PerdureError.Detail]) {
    if overlay.isDeleted {
      details += deniedDeletes(overlay)
    } else if !hasVanished(overlay.reference) {
      addBrokenRules(overlay, to: &details)
    }
  }

  private func deniedDeletes(_ overlay: ObjectOverlay) -> [PerdureError.Detail] {
    DeniedDelete.find(overlay, in: self).map { denied in
      PerdureError.Detail(
        code: .relationshipDeniedDelete, objectID: objectID(of: overlay.reference),
        property: denied.relationship.name, value: .integer(Int64(denied.remaining)),
        rule: "denies the deletion while it has objects")
    }
  }

  private func addBrokenRules(_ overlay: ObjectOverlay, to details: inout [PerdureError.Detail]) {
    for slot in overlay.shape.ruledSlots where isConcerned(overlay, slot) {
      if case .transient(_, let isOptional) = overlay.shape.properties[slot] {
        addBrokenRules(ofTransient: slot, isOptional, overlay, to: &details)
        continue
      }
      if overlay.shape.rules[slot] != nil {
        let value = overlay.value(slot) ?? columnValue(overlay.reference, slot)
        if !value.isNull {
          addBrokenRules(of: value, overlay.shape, overlay.reference, slot, to: &details)
          continue
        }
      }
      // Most columns have a value, and then no rule of theirs is broken.
      if let value = overlay.value(slot), !value.isNull { continue }
      guard let found = violation(overlay, slot) else { continue }
      details.append(
        PerdureError.Detail(
          code: found.code, objectID: objectID(of: overlay.reference),
          property: overlay.shape.propertyName(slot), value: found.value, rule: found.rule))
    }
  }

  /// An object without an instance has no transient values, and nobody could have set them.
  private func addBrokenRules(
    ofTransient slot: Int, _ isOptional: Bool, _ overlay: ObjectOverlay,
    to details: inout [PerdureError.Detail]
  ) {
    guard let object = identityMap.object(overlay.reference) else { return }
    if object.hasTransientValue(slot) {
      if overlay.shape.rules[slot] != nil {
        addBrokenRules(
          of: object.transientValue(slot), overlay.shape, overlay.reference, slot, to: &details)
      }
    } else if !isOptional {
      details.append(
        PerdureError.Detail(
          code: PropertyRules.missing.code, objectID: objectID(of: overlay.reference),
          property: overlay.shape.propertyName(slot), value: .null, rule: PropertyRules.missing.rule))
    }
  }

  /// Adds the model's rules that a value breaks.
  func addBrokenRules(
    of value: Value, _ shape: EntityShape, _ reference: ObjectReference, _ slot: Int,
    to details: inout [PerdureError.Detail]
  ) {
    guard let rules = shape.rules[slot] else { return }
    for broken in rules.broken(by: value) {
      details.append(
        PerdureError.Detail(
          code: PropertyRules.code(of: broken.rule, shape.schema.properties[slot].attributeType),
          objectID: objectID(of: reference), property: shape.propertyName(slot), value: value,
          rule: broken.cause.map { "\(broken.rule), which could not be asked: \($0)" } ?? "\(broken.rule)",
          validationRule: broken.rule))
    }
  }

  private func violation(_ overlay: ObjectOverlay, _ slot: Int) -> PropertyRules.Violation? {
    if case .relationship(let relationship) = overlay.shape.properties[slot] {
      return PropertyRules.violation(relationship, count: targetCount(of: overlay.reference, relationship))
    }
    // It has rules, and an absent value breaks none of them.
    if case .attribute(_, isOptional: true) = overlay.shape.properties[slot] { return nil }
    let isMissing = overlay.value(slot)?.isNull ?? columnValue(overlay.reference, slot).isNull
    return isMissing ? PropertyRules.missing : nil
  }

  /// Whether a property of a changed object can have become invalid: all can in a new object and all
  /// columns in a row that is written; what lies elsewhere only if it has changed.
  private func isConcerned(_ overlay: ObjectOverlay, _ slot: Int) -> Bool {
    if overlay.isNew { return true }
    if case .transient = overlay.shape.properties[slot] {
      return overlay.changesTransients || overlay.changesRow
    }
    if case .relationship(let relationship) = overlay.shape.properties[slot], relationship.form != .column {
      return overlay.delta(slot) != nil
    }
    return overlay.changesRow
  }
}

extension PerdureError {
  /// The one error for what a validation has found: that error itself, or 1560 with all of them.
  static func validation(_ details: [Detail]) -> PerdureError {
    let isSingle = details.count == 1
    var error = PerdureError(
      isSingle ? details[0].code : .multipleValidationErrors,
      isSingle
        ? "\(details[0].objectID): \(details[0].subject)\(details[0].rule). Nothing was saved."
        : "\(details.count) properties are invalid; see the details. Nothing was saved.")
    error.details = details
    error.cause = isSingle ? details[0].cause : nil
    return error
  }
}

extension PerdureError.Detail {
  /// What the rule is about, with a space behind it; nothing where it is the object.
  fileprivate var subject: String { property.isEmpty ? "" : property + " " }
}

extension [PerdureError.Detail] {
  /// Adds what a class has found by itself, which may be a declared rule that its superclass looked for.
  mutating func addNew(_ found: [PerdureError.Detail]) {
    var seen = Set(self)
    self += found.filter { seen.insert($0).inserted }
  }
}

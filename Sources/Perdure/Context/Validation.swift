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

/// The rules that the properties of one object have to obey at a save. Pure: what the properties hold is
/// given.
struct PropertyRules {
  let shape: EntityShape

  /// What is wrong with a property, if anything.
  ///
  /// - Parameter value: What a column holds.
  /// - Parameter count: How many objects are at the other end of a relationship.
  func violation(
    _ slot: Int, value: () -> Value, count: () -> Int
  ) -> (code: PerdureError.Code, value: Value, rule: String)? {
    switch shape.properties[slot] {
    case .attribute(_, let isOptional):
      if isOptional || !value().isNull { return nil }
      return (.missingMandatoryProperty, .null, "must have a value")
    case .count: return nil
    case .relationship(let relationship):
      if relationship.isOptional, !relationship.hasCountLimits { return nil }
      return Self.violation(relationship, count: count())
    }
  }

  /// What is wrong with the number of objects at the other end. An optional relationship may always be empty.
  static func violation(
    _ relationship: RelationshipShape, count: Int
  ) -> (code: PerdureError.Code, value: Value, rule: String)? {
    if count == 0, relationship.isOptional { return nil }
    if !relationship.isToMany {
      return count > 0 ? nil : (.missingMandatoryProperty, .null, "must lead to an object")
    }
    let value = Value.integer(Int64(count))
    if count < relationship.minCount {
      return (
        .relationshipLacksMinimumCount, value, "must have at least \(relationship.minCount) objects"
      )
    }
    if relationship.maxCount > 0, count > relationship.maxCount {
      return (
        .relationshipExceedsMaximumCount, value, "must have at most \(relationship.maxCount) objects"
      )
    }
    return nil
  }
}

extension ContextCore {
  /// Every rule that the pending changes break. Delete rules have been applied before.
  func violations() -> [PerdureError.Detail] {
    tracker.ordered.flatMap { overlay in
      overlay.isDeleted ? deniedDeletes(overlay) : propertyViolations(overlay)
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

  private func propertyViolations(_ overlay: ObjectOverlay) -> [PerdureError.Detail] {
    let rules = PropertyRules(shape: overlay.shape)
    return overlay.shape.properties.indices.compactMap { slot in
      guard isConcerned(overlay, slot) else { return nil }
      let found = rules.violation(
        slot, value: { self.columnValue(overlay.reference, slot) },
        count: { self.targetCount(of: overlay.reference, overlay.shape.relationship(slot)) })
      guard let found else { return nil }
      return PerdureError.Detail(
        code: found.code, objectID: objectID(of: overlay.reference),
        property: overlay.shape.propertyName(slot), value: found.value, rule: found.rule)
    }
  }

  /// Whether a property of a changed object can have become invalid: all can in a new object and all
  /// columns in a row that is written; what lies elsewhere only if it has changed.
  private func isConcerned(_ overlay: ObjectOverlay, _ slot: Int) -> Bool {
    if overlay.isNew { return true }
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
        ? "\(details[0].objectID): \(details[0].property) \(details[0].rule). Nothing was saved."
        : "\(details.count) properties are invalid; see the details. Nothing was saved.")
    error.details = details
    return error
  }
}

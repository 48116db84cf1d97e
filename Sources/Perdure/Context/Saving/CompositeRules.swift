// Rules for required elements of composite attributes. A required element must have a value if the
// composite that contains it has a value. An optional composite may be absent as a whole. If any of
// its elements has a value, the rules of all its elements apply.

internal import PerdureModel
internal import PerdurePredicates

extension CompositeSchema {
  /// The violation by a required composite without a value.
  static let missing: PropertyRules.Violation = (
    .missingMandatoryProperty, .null,
    "is required but none of its elements has a value: set one, or declare a default or the composite as optional"
  )

  func isAbsent(_ value: (Int) -> Bool) -> Bool { !slots.contains(where: value) }
}

extension EntitySchema {
  /// The innermost composite with a depth less than `depth` that contains the slots.
  func composite(around slots: Range<Int>, depth: Int = Int.max) -> CompositeSchema? {
    composites.last { $0.depth < depth && $0.slots.contains(slots.lowerBound) }
  }

  /// The required composites without a value. Excludes a composite inside another one without a
  /// value.
  ///
  /// - Parameter value: Whether a slot has a value.
  func absentComposites(_ value: (Int) -> Bool) -> [CompositeSchema] {
    composites.filter { composite in
      guard !composite.isOptional, composite.isAbsent(value) else { return false }
      let isIn = self.composite(around: composite.slots, depth: composite.depth)
      return isIn.map { !$0.isAbsent(value) } ?? true
    }
  }

  /// Whether a save requires the value of a required leaf. A leaf of a composite needs a value only
  /// if the composite has one. Any other attribute always needs a value.
  ///
  /// - Parameter value: Whether a slot has a value.
  func isRequired(_ slot: Int, _ value: (Int) -> Bool) -> Bool {
    composite(around: slot..<slot + 1).map { !$0.isAbsent(value) } ?? true
  }
}

extension ManagedObject {
  /// Whether an attribute has a value.
  func hasValue(_ slot: Int) -> Bool { !attributeValue(slot).isNull }

  /// Whether a save accepts a property without a value, with the current values of the other
  /// properties.
  func canLack(_ slot: Int) -> Bool {
    shape.isOptional(slot) || !shape.schema.isRequired(slot) { $0 != slot && hasValue($0) }
  }
}

extension PerdureError.Detail {
  static func unfit(_ value: Any, _ property: String, _ object: ManagedObjectID) -> Self {
    let unfit = PropertyRules.unfit(value)
    return Self(
      code: unfit.code, objectID: object, property: property, value: unfit.value, rule: unfit.rule)
  }

  static func absent(_ composite: CompositeSchema, _ object: ManagedObjectID) -> Self {
    let missing = CompositeSchema.missing
    return Self(
      code: missing.code, objectID: object, property: composite.name, value: missing.value,
      rule: missing.rule)
  }
}

// What a save checks of one property, as pure functions.

internal import PerdureModel
internal import PerdurePredicates

/// The rules for properties at a save. The functions are pure: they get the values as arguments.
enum PropertyRules {
  typealias Violation = (code: PerdureError.Code, value: Value, rule: String)

  /// The violation of a required attribute without a value. A number reads as 0 without a value, so
  /// the message names the declaration that stores the 0.
  ///
  /// - Parameter isNew: Whether the object has not been saved yet.
  static func missing(_ slot: Int, of shape: EntityShape, isNew: Bool) -> Violation {
    let remedy =
      switch shape.schema.properties[slot].attributeType {
      case .int16?: "declare it with a default (\"= 0\") or as optional (\"Int16?\")"
      case .int32?: "declare it with a default (\"= 0\") or as optional (\"Int32?\")"
      case .int64?: "declare it with a default (\"= 0\") or as optional (\"Int?\")"
      case .double?: "declare it with a default (\"= 0\") or as optional (\"Double?\")"
      case .float?: "declare it with a default (\"= 0\") or as optional (\"Float?\")"
      case .decimal?: "declare it with a default (\"= 0\") or as optional (\"Decimal?\")"
      case .boolean?: "declare it with a default (\"= false\") or as optional (\"Bool?\")"
      default: "declare it with a default or as optional"
      }
    return (
      .missingMandatoryProperty, .null,
      "is required but \(isNew ? "was never set" : "has no value"): set it, or \(remedy)"
    )
  }

  /// The violation by a value of a wrong type. It is reported, and does not stop the program.
  static func unfit(_ value: Any) -> Violation {
    let argument = (value as? any PredicateArgument)?.predicateValue
    return (
      .validation, argument ?? .null,
      "cannot hold \(argument?.kindName ?? "a \(type(of: value))") that is not of its type: set a value of its type"
    )
  }

  /// Whether a property has a rule other than the validation rules of its attribute.
  static func apply(to property: EntityShape.Property) -> Bool {
    switch property {
    case .attribute(.reference, _): true
    case .attribute(_, let isOptional), .transient(_, let isOptional): !isOptional
    case .count, .derived: false
    case .relationship(let relationship): !relationship.isOptional || relationship.hasCountLimits
    }
  }

  /// Core Data's error code for a violated rule. It depends on the type of the attribute.
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

  /// The violation by the number of targets of a relationship; nil if the number is valid. An
  /// optional relationship may always be empty.
  static func violation(
    _ relationship: RelationshipShape, count: Int
  ) -> Violation? {
    if count == 0, relationship.isOptional { return nil }
    if !relationship.isToMany {
      if count > 0 { return nil }
      return (
        .missingMandatoryProperty, .null,
        "is required but has no object: connect one, or make the relationship optional"
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

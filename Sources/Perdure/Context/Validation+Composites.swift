// Which parts of composite attributes must have a value: an element that is required, wherever what it is in has one. So
// an optional composite may be absent as a whole, and where any of it is there, each element says for itself.

internal import PerdureModel
internal import PerdurePredicates

extension CompositeSchema {
  /// What is said of a required composite without a value.
  fileprivate static let missing: PropertyRules.Violation = (
    .missingMandatoryProperty, .null,
    "is required but none of its elements has a value: set one, or declare a default or the composite as optional"
  )

  fileprivate func isAbsent(_ value: (Int) -> Bool) -> Bool { !slots.contains(where: value) }
}

extension EntitySchema {
  /// The innermost composite around slots, other than the composite of just these.
  fileprivate func composite(around slots: Range<Int>, depth: Int = Int.max) -> CompositeSchema? {
    composites.last { $0.depth < depth && $0.slots.contains(slots.lowerBound) }
  }

  /// Whether a save asks for the value of a required leaf: it does where what the leaf is in has one, and of an attribute
  /// of its own always.
  ///
  /// - Parameter value: Whether a slot has a value.
  func isRequired(_ slot: Int, _ value: (Int) -> Bool) -> Bool {
    composite(around: slot..<slot + 1).map { !$0.isAbsent(value) } ?? true
  }

  /// The required composites without a value, in those that have one.
  ///
  /// - Parameter value: Whether a slot has a value.
  fileprivate func absentComposites(_ value: (Int) -> Bool) -> [CompositeSchema] {
    composites.filter { composite in
      guard !composite.isOptional, composite.isAbsent(value) else { return false }
      let isIn = self.composite(around: composite.slots, depth: composite.depth)
      return isIn.map { !$0.isAbsent(value) } ?? true
    }
  }
}

extension ContextCore {
  /// Whether a required leaf needs a value.
  func isRequired(_ overlay: ObjectOverlay, _ slot: Int, _ row: RowView?) -> Bool {
    overlay.shape.schema.isRequired(slot) { !column(overlay, $0, row).isNull }
  }

  /// Adds the composites that must have a value and have none.
  func addAbsentComposites(
    _ overlay: ObjectOverlay, _ row: RowView?, to details: inout [PerdureError.Detail]
  ) {
    let schema = overlay.shape.schema
    guard let any = schema.composites.first, isConcerned(overlay, any.slots.lowerBound) else { return }
    for composite in schema.absentComposites({ !column(overlay, $0, row).isNull }) {
      details.append(.absent(composite, objectID(of: overlay.reference)))
    }
  }

  /// Adds the composites around a leaf that must have a value and would lose the last of it.
  func addAbsentComposites(
    of object: ManagedObject, without slot: Int, to details: inout [PerdureError.Detail]
  ) {
    let absent = object.shape.schema.absentComposites { $0 != slot && object.hasValue($0) }
    for composite in absent where composite.slots.contains(slot) && object.hasValue(slot) {
      details.append(.absent(composite, object.objectID))
    }
  }

  /// The declared rules that a value of a composite would break.
  func checkRules(
    _ value: Any?, _ composite: CompositeSchema, of object: ManagedObject
  ) throws(PerdureError) {
    let shape = object.shape
    if let value, !object.canHold(value, composite) {
      throw .validation([.unfit(value, composite.name, object.objectID)])
    }
    let leaves = object.leaves(of: value, composite)
    let present = Set(leaves.filter { $0.value != nil }.map(\.slot))
    // What is around the composite is as the object has it.
    let hasValue = { composite.slots.contains($0) ? present.contains($0) : object.hasValue($0) }
    var details: [PerdureError.Detail] = []
    for (slot, value) in leaves {
      if let value {
        if let held = object.held(value, slot) {
          addBrokenRules(of: held, shape, object.reference, slot, to: &details)
        } else {
          details.append(.unfit(value, shape.propertyName(slot), object.objectID))
        }
      } else if !shape.isOptional(slot), shape.schema.isRequired(slot, hasValue) {
        let missing = PropertyRules.missing(slot, of: shape, isNew: object.overlay?.isNew == true)
        details.append(
          PerdureError.Detail(
            code: missing.code, objectID: object.objectID, property: shape.propertyName(slot),
            value: .null, rule: missing.rule))
      }
    }
    for absent in shape.schema.absentComposites(hasValue)
    where absent.depth >= composite.depth && composite.slots.contains(absent.slots.lowerBound) {
      details.append(.absent(absent, object.objectID))
    }
    if !details.isEmpty { throw .validation(details) }
  }
}

extension ManagedObject {
  /// Whether an attribute has a value.
  fileprivate func hasValue(_ slot: Int) -> Bool { !attributeValue(slot).isNull }

  /// Whether a save would take a property without a value, as the others of the object are.
  func canLack(_ slot: Int) -> Bool {
    shape.isOptional(slot) || !shape.schema.isRequired(slot) { $0 != slot && hasValue($0) }
  }
}

extension PerdureError.Detail {
  fileprivate static func unfit(_ value: Any, _ property: String, _ object: ManagedObjectID) -> Self {
    let unfit = PropertyRules.unfit(value)
    return Self(
      code: unfit.code, objectID: object, property: property, value: unfit.value, rule: unfit.rule)
  }

  fileprivate static func absent(_ composite: CompositeSchema, _ object: ManagedObjectID) -> Self {
    let missing = CompositeSchema.missing
    return Self(
      code: missing.code, objectID: object, property: composite.name, value: missing.value,
      rule: missing.rule)
  }
}

// The rules that a save checks itself, before the commit.

internal import PerdureModel
internal import PerdurePredicates

/// A deletion that a relationship with the rule deny prevents.
struct DeniedDelete {
  let relationship: RelationshipShape
  let remaining: Int
}

/// Checks the rules of the model before a save.
final class RuleValidation {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  @Shared private var reading: ContextReading
  private let deleteRules: DeleteRules

  init(_ reading: Shared<ContextReading>, _ deleteRules: DeleteRules) {
    graph = reading.graph
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    _reading = reading
    self.deleteRules = deleteRules
  }

  /// Adds every rule that a changed object violates. The caller has applied the delete rules.
  func addViolations(_ overlay: ObjectOverlay, to details: inout [PerdureError.Detail]) {
    if overlay.isDeleted {
      details += deniedDeletes(overlay)
    } else if !viewState.hasVanished(overlay.reference) {
      addBrokenRules(overlay, to: &details)
      if graph.hasSpreadEntities { addLinksAcrossStores(overlay, to: &details) }
    }
  }

  func deniedDeletes(_ overlay: ObjectOverlay) -> [PerdureError.Detail] {
    deleteRules.deniedDeletes(of: overlay).map { denied in
      PerdureError.Detail(
        code: .relationshipDeniedDelete, objectID: pending.objectID(of: overlay.reference),
        property: denied.relationship.name, value: .integer(Int64(denied.remaining)),
        rule: "denies the deletion while it has objects: delete or disconnect them first")
    }
  }

  /// Adds every rule that the properties of a changed object violate. Reads the row at most once.
  func addBrokenRules(_ overlay: ObjectOverlay, to details: inout [PerdureError.Detail]) {
    let needsRow =
      overlay.changesRow && !overlay.isNew
      && overlay.shape.ruledSlots.contains { overlay.shape.isColumn($0) && overlay.value($0) == nil }
    if needsRow,
      reading.rows.withRow(overlay.reference, { row, _ in addBrokenRules(overlay, row, to: &details) }) != nil
    {
      return
    }
    addBrokenRules(overlay, nil, to: &details)
  }

  /// - Parameter row: The object's row, if unchanged columns may be needed.
  func addBrokenRules(
    _ overlay: ObjectOverlay, _ row: RowView?, to details: inout [PerdureError.Detail]
  ) {
    for slot in overlay.shape.ruledSlots where isConcerned(overlay, slot) {
      switch overlay.shape.properties[slot] {
      case .attribute(_, let isOptional):
        if let row, overlay.shape.needsOnlyPresence[slot], overlay.value(slot) == nil,
          row.isPresent(row.fields[slot])
        {
          continue
        }
        let value = column(overlay, slot, row)
        if !value.isNull {
          addBrokenRules(of: value, overlay.shape, overlay.reference, slot, to: &details)
        } else if !isOptional, isRequired(overlay, slot, row) {
          addViolation(
            PropertyRules.missing(slot, of: overlay.shape, isNew: overlay.isNew), overlay, slot, to: &details)
        }
      case .transient(_, let isOptional):
        addBrokenRules(ofTransient: slot, isOptional, overlay, to: &details)
      case .relationship(let relationship):
        let count =
          relationship.form == .column
          ? (leads(column(overlay, slot, row), from: overlay) ? 1 : 0)
          : reading.links.targetCount(of: overlay.reference, relationship)
        if let found = PropertyRules.violation(relationship, count: count) {
          addViolation(found, overlay, slot, to: &details)
        }
      case .count, .derived: break
      }
    }
    addAbsentComposites(overlay, row, to: &details)
  }

  /// The value of a column: the changed one, or the one in the row.
  func column(_ overlay: ObjectOverlay, _ slot: Int, _ row: RowView?) -> Value {
    overlay.value(slot) ?? row?.value(slot) ?? .null
  }

  func leads(_ value: Value, from overlay: ObjectOverlay) -> Bool {
    guard case .reference(let target) = value else { return false }
    return viewState.shown(target, of: overlay.reference) != nil
  }

  func addViolation(
    _ violation: PropertyRules.Violation, _ overlay: ObjectOverlay, _ slot: Int,
    to details: inout [PerdureError.Detail]
  ) {
    details.append(
      PerdureError.Detail(
        code: violation.code, objectID: pending.objectID(of: overlay.reference),
        property: overlay.shape.propertyName(slot), value: violation.value, rule: violation.rule))
  }

  /// Adds the rules that a transient attribute violates. Skips an object without an instance: it is
  /// not new, and has no transient values that were set.
  func addBrokenRules(
    ofTransient slot: Int, _ isOptional: Bool, _ overlay: ObjectOverlay,
    to details: inout [PerdureError.Detail]
  ) {
    guard let object = registry.identityMap.object(overlay.reference) else { return }
    if object.hasTransientValue(slot) {
      if overlay.shape.rules[slot] != nil || overlay.shape.transformableSlots.contains(slot) {
        addBrokenRules(
          of: object.transientValue(slot), overlay.shape, overlay.reference, slot, to: &details)
      }
    } else if !isOptional {
      addViolation(
        PropertyRules.missing(slot, of: overlay.shape, isNew: overlay.isNew), overlay, slot, to: &details)
    }
  }

  /// Adds the model's rules that a value violates.
  func addBrokenRules(
    of value: Value, _ shape: EntityShape, _ reference: ObjectReference, _ slot: Int,
    to details: inout [PerdureError.Detail]
  ) {
    if shape.attributeKinds[slot] == .reference, isForeign(value, in: reference) {
      details.append(
        PerdureError.Detail(
          code: .validation, objectID: pending.objectID(of: reference), property: shape.propertyName(slot),
          value: graph.shown(value),
          rule: "must be the id of an object of this store"))
    }
    if let problem = value.transformationProblem {
      details.append(
        PerdureError.Detail(
          code: .validation, objectID: pending.objectID(of: reference), property: shape.propertyName(slot),
          value: .null,
          rule: "must be a value that can be stored as bytes: \(problem)"))
      return
    }
    guard let rules = shape.rules[slot] else { return }
    for broken in rules.broken(by: value) {
      details.append(
        PerdureError.Detail(
          code: PropertyRules.code(of: broken.rule, shape.schema.properties[slot].attributeType),
          objectID: pending.objectID(of: reference), property: shape.propertyName(slot), value: value,
          rule: broken.cause.map { "\(broken.rule), which could not be checked: \($0)" } ?? "\(broken.rule)",
          validationRule: broken.rule))
    }
  }

  /// Whether the value of an id attribute does not identify an object of the same store.
  func isForeign(_ value: Value, in owner: ObjectReference) -> Bool {
    let held: Value
    if case .objectID(let text) = value { held = graph.heldIdentity(text) } else { held = value }
    switch held {
    case .objectID: return true
    case .reference(let named):
      return graph.place(ofEntity: named.entityNumber) != graph.place(ofEntity: owner.entityNumber)
    default: return false
    }
  }

  /// Whether a property of a changed object may have become invalid. True for all properties of a
  /// new object, all columns of a row to be written, other relationships that changed, and all
  /// transient attributes if one changed.
  func isConcerned(_ overlay: ObjectOverlay, _ slot: Int) -> Bool {
    if overlay.isNew { return true }
    if case .transient = overlay.shape.properties[slot] {
      return overlay.changesTransients
    }
    if case .relationship(let relationship) = overlay.shape.properties[slot], relationship.form != .column {
      return overlay.delta(slot) != nil
    }
    return overlay.changesRow
  }

  /// Whether a required attribute needs a value. An attribute in an absent composite needs none.
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
      details.append(.absent(composite, pending.objectID(of: overlay.reference)))
    }
  }

  /// Adds the required composites that contain a leaf and have no value without it.
  func addAbsentComposites(
    of object: ManagedObject, without slot: Int, to details: inout [PerdureError.Detail]
  ) {
    let absent = object.shape.schema.absentComposites { $0 != slot && object.hasValue($0) }
    for composite in absent where composite.slots.contains(slot) && object.hasValue(slot) {
      details.append(.absent(composite, object.objectID))
    }
  }

  /// Throws an error that lists the declared rules that a new value of a composite violates.
  func checkRules(
    _ value: Any?, _ composite: CompositeSchema, of object: ManagedObject
  ) throws(PerdureError) {
    let shape = object.shape
    if let value, !object.canHold(value, composite) {
      throw .validation([.unfit(value, composite.name, object.objectID)])
    }
    let leaves = object.leaves(of: value, composite)
    let present = Set(leaves.filter { $0.value != nil }.map(\.slot))
    // Attributes outside of the composite keep the object's values.
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

  /// Adds a violation for each link of a changed object to an object of another store (JoinedStore,
  /// JO1).
  func addLinksAcrossStores(_ overlay: ObjectOverlay, to details: inout [PerdureError.Detail]) {
    let place = graph.place(ofEntity: overlay.reference.entityNumber)
    func check(_ target: ObjectReference, _ slot: Int) {
      guard graph.place(ofEntity: target.entityNumber) != place else { return }
      details.append(
        PerdureError.Detail(
          code: .externalRelationship, objectID: pending.objectID(of: overlay.reference),
          property: overlay.shape.propertyName(slot), value: .objectID(pending.objectID(of: target).uri),
          rule: "must not lead to an object of another store: assign both to one store, or store its id"))
    }
    for slot in overlay.shape.columnSlots {
      if let target = overlay.reference(slot) { check(target, slot) }
    }
    for (slot, delta) in overlay.deltas {
      // A link in a column is checked at the other end.
      guard !overlay.shape.relationship(slot).isInColumn else { continue }
      for target in delta.added.ordered { check(target, slot) }
    }
  }
}

extension PerdureError {
  /// The error of a validation: the single violation itself, or 1560 with all of them.
  static func validation(_ details: [Detail]) -> PerdureError {
    let isSingle = details.count == 1
    var error = PerdureError(
      isSingle ? details[0].code : .multipleValidationErrors,
      isSingle
        ? "\(details[0].sentence) Nothing was saved."
        : "\(details.count) properties are invalid; see the details. Nothing was saved.")
    error.details = details
    error.cause = isSingle ? details[0].cause : nil
    return error
  }
}

extension PerdureError.Detail {
  /// The property, the violation, the value and the object: "age of Worker must be at least 18
  /// (value: 12). Object: x-perdure://…/Worker/p1."
  var sentence: String {
    let subject = property.isEmpty ? objectID.entityName : "\(property) of \(objectID.entityName)"
    let held = value.isNull ? "" : " (\(isCount ? "number of objects" : "value"): \("\(value)".shortened))"
    return "\(subject) \(rule)\(held). Object: \(objectID)."
  }

  /// Whether `value` is the number of objects of a relationship.
  private var isCount: Bool {
    [.relationshipLacksMinimumCount, .relationshipExceedsMaximumCount, .relationshipDeniedDelete].contains(
      code)
  }
}

extension [PerdureError.Detail] {
  /// Adds the violations that a class has found. A declared rule that the class has checked too is
  /// counted once.
  mutating func addNew(_ found: [PerdureError.Detail]) {
    var seen = Set(self)
    self += found.filter { seen.insert($0).inserted }
  }
}

// An entity in the form that contexts and objects use: all properties by slot. The form is built
// once, when a container opens its store.

internal import PerdureModel
internal import PerdurePredicates

/// The structure of the objects of one entity.
final class EntityShape: Sendable {
  /// The property in one slot.
  enum Property: Sendable {
    case attribute(FieldKind, isOptional: Bool)
    case relationship(RelationshipShape)
    /// A transient attribute: its values exist only in instances.
    case transient(AttributeType, isOptional: Bool)
    /// A derived attribute: the number of objects in the relationship of another slot.
    case count(ofSlot: Int)
    /// Any other derived attribute.
    case derived(DerivedStorage)
  }

  /// The entity in the program's model.
  let schema: EntitySchema
  let description: EntityDescription
  let storage: EntityStorage
  let identity: EntityIdentity
  /// The class of the objects.
  let objectClass: ManagedObject.Type
  /// The hooks that the class overrides.
  let lifeCycle: _LifeCycle
  /// The properties that `validateValue(_:forKey:)` is called for.
  let validatedKeys: [String]
  /// The validated keys that the class does not list, with their slots. A save validates them only
  /// if the values may have become invalid.
  let slotsOfUnlistedKeys: [String: Int]
  let properties: [Property]
  let slotCount: Int
  /// The kind of value in each slot of a stored attribute; `absent` for all other slots.
  let attributeKinds: [FieldKind]
  /// The relationships among the properties.
  let relationships: [RelationshipShape]
  /// The relationships by slot.
  private let relationshipsBySlot: [Unmanaged<RelationshipShape>?]
  /// The relationships that are stored in columns of the row.
  let columns: [RelationshipShape]
  /// The slots of `columns`.
  let columnSlots: [Int]
  /// The slots of the relationships without an inverse.
  let oneWaySlots: Set<Int>
  /// The slots whose values a save checks.
  let ruledSlots: [Int]
  /// By slot: whether every stored value of an attribute is valid, if it has one.
  let needsOnlyPresence: [Bool]
  /// The model's rules for the values of attributes, by slot; nil without rules.
  let rules: [CompiledRules?]
  /// The initial values of a new object by slot: the default or null. Also null for a default that
  /// is made for each object (`madeDefaults`).
  let template: [Value]
  private let madeDefaults: [(slot: Int, value: DefaultValue)]
  /// The relationships without an inverse whose destination is this entity or an ancestor of it.
  let incoming: [RelationshipShape]
  /// The indexes of links to or from an object of this entity. A save that deletes the object
  /// requires that no other context has changed its entries in these indexes.
  let deletionGuards: [StoreIndex]

  /// The fetched properties by name, including inherited ones. They have no slots.
  let fetchedProperties: [String: FetchedShape]

  var name: String { schema.name }
  var number: UInt16 { storage.number }

  /// The value transformers, by the slot of the attribute that names them.
  let transformers: [Int: any ValueTransformer]
  /// The slots of transformable attributes.
  let transformableSlots: Set<Int>

  /// The Swift types of the attributes by slot, without optionality. Nil if the class has no key
  /// path for the property.
  let valueTypes: [Any.Type?]

  /// The slots of attributes that a save sets to the time of the save.
  let saveTimeSlots: [Int]

  /// The slots of the accessors of a class with `@Accessors`, by the accessors' numbers.
  let accessorSlots: [Int]

  /// The slots of the attributes for which the class implements accessors (CustomAccessors.swift).
  let customSlots: Set<Int>

  /// Whether a save must call hooks or validation functions before it writes.
  let hasSaveHooks: Bool
  /// Whether the class has hooks that depend on an object's row (`_LifeCycle.faulting`).
  let followsRow: Bool

  init(_ parts: EntityShapeParts, storeIdentifier: String) {
    schema = parts.schema
    description = parts.description
    storage = parts.storage
    identity = EntityIdentity(
      storeIdentifier: storeIdentifier, entityName: parts.schema.name, number: parts.storage.number)
    objectClass = parts.objectClass
    lifeCycle = parts.objectClass._lifeCycle
    followsRow = !lifeCycle.isDisjoint(with: .faulting)
    let keys = ValidatedKeys(parts.objectClass, parts.schema, parts.properties)
    (validatedKeys, slotsOfUnlistedKeys) = (keys.keys, keys.slotsOfUnlisted)
    hasSaveHooks =
      lifeCycle.contains(.willSave) || !lifeCycle.isDisjoint(with: .validating) || !validatedKeys.isEmpty
    properties = parts.properties
    slotCount = parts.properties.count
    attributeKinds = parts.properties.map {
      if case .attribute(let kind, _) = $0 { kind } else { .absent }
    }
    relationships = parts.properties.compactMap {
      if case .relationship(let relationship) = $0 { relationship } else { nil }
    }
    relationshipsBySlot = parts.properties.map {
      if case .relationship(let relationship) = $0 { .passUnretained(relationship) } else { nil }
    }
    columns = relationships.filter { $0.form == .column }
    columnSlots = columns.map(\.slot)
    oneWaySlots = Set(relationships.filter { $0.inverseSlot == nil }.map(\.slot))
    rules = parts.rules
    let transformable = parts.schema.properties.filter { $0.attributeType == .transformable }
    transformableSlots = Set(transformable.map(\.slot))
    transformers = Dictionary(
      uniqueKeysWithValues: transformable.compactMap { property in
        property.transformerName.flatMap(ValueTransformers.transformer).map { (property.slot, $0) }
      })
    saveTimeSlots = parts.schema.properties.filter(\.isSetBySaves).map(\.slot)
    valueTypes = Self.valueTypes(parts)
    (accessorSlots, customSlots) = Self.accessors(parts)
    let leaves = Set(parts.schema.composites.flatMap(\.slots))
    ruledSlots = parts.properties.indices.filter {
      parts.rules[$0] != nil || PropertyRules.apply(to: parts.properties[$0])
        || parts.schema.properties[$0].attributeType == .transformable || leaves.contains($0)
    }
    needsOnlyPresence = Self.needsOnlyPresence(parts, attributeKinds)
    template = parts.schema.properties.map { $0.defaultValue?.value ?? .null }
    madeDefaults = parts.schema.properties.compactMap { property in
      property.defaultValue.flatMap { $0.isMade ? (property.slot, $0) : nil }
    }
    incoming = parts.incoming
    deletionGuards = parts.deletionGuards
    fetchedProperties = parts.fetchedProperties
  }

  /// The slots of the class's accessors. AccessorCheck.swift has already rejected names that the
  /// entity does not have.
  private static func accessors(_ parts: EntityShapeParts) -> (slots: [Int], custom: Set<Int>) {
    let (type, schema) = (parts.objectClass, parts.schema)
    let slots = type._accessorNames.map { name in
      schema.slot(named: name) ?? schema.composite(named: name)?.slots.lowerBound ?? -1
    }
    return (slots, Set(type._customAccessors.compactMap(schema.slot(named:))))
  }

  /// `needsOnlyPresence` by slot. The bytes of a URL may not be a URL, and the object of a
  /// reference may belong to another store.
  private static func needsOnlyPresence(_ parts: EntityShapeParts, _ kinds: [FieldKind]) -> [Bool] {
    parts.properties.indices.map { slot in
      parts.rules[slot] == nil && ![.absent, .url, .reference].contains(kinds[slot])
        && parts.schema.properties[slot].attributeType != .transformable
    }
  }

  private static func valueTypes(_ parts: EntityShapeParts) -> [Any.Type?] {
    let table = parts.objectClass._propertyNamesByKeyPath
    let types = Dictionary(table.map { ($0.value, $0.key.plainValueType) }) { first, _ in first }
    return parts.schema.properties.map { property in
      // A path names an element of a composite.
      let names = property.name.split(separator: ".").map(String.init)
      return names.dropFirst().reduce(names.first.flatMap { types[$0] }) { type, name in
        let composite = type as? any CompositeAttributeValue.Type
        return composite?.compositeNames.first { $0.value == name }?.key.plainValueType
      }
    }
  }

  /// Whether an attribute holds the JSON of a Codable value, and not the bytes of a transformer.
  func holdsJSON(_ slot: Int) -> Bool { transformableSlots.contains(slot) && transformers[slot] == nil }

  /// The relationship in a slot. Stops the program if the slot has another property.
  func relationship(_ slot: Int) -> RelationshipShape {
    guard properties.indices.contains(slot), case .relationship(let relationship) = properties[slot] else {
      stopWithoutRelationship(slot)
    }
    return relationship
  }

  /// The relationship in a slot, without reference counting, because walks call this at each step.
  /// The shape retains the relationship.
  @inline(__always)
  func uncountedRelationship(_ slot: Int) -> Unmanaged<RelationshipShape> {
    guard let relationship = relationshipsBySlot[slot] else { stopWithoutRelationship(slot) }
    return relationship
  }

  @inline(never)
  private func stopWithoutRelationship(_ slot: Int) -> Never {
    stop("An accessor reads slot \(slot) of \(name) as a relationship, but it is an attribute. \(slotList)")
  }

  /// The message for a program that sets an attribute of `saveTimeSlots`.
  func saveTimeComplaint(_ slot: Int) -> String {
    "\(name).\(propertyName(slot)) cannot be set: each save sets it."
  }

  /// The slots of the entity with their properties, for messages.
  var slotList: String {
    let slots = schema.properties.map { "\($0.slot) \($0.name)" }.joined(separator: ", ")
    return "The slots of \(name) are \(slots): in the order of its properties, inherited ones first."
  }

  func isRelationship(_ slot: Int) -> Bool {
    if case .relationship = properties[slot] { true } else { false }
  }

  /// Whether a slot is a column of the row: an attribute that is neither derived nor transient, or
  /// a reference.
  func isColumn(_ slot: Int) -> Bool {
    switch properties[slot] {
    case .attribute: true
    case .relationship(let relationship): relationship.form == .column
    case .count, .derived, .transient: false
    }
  }

  func isTransient(_ slot: Int) -> Bool {
    if case .transient = properties[slot] { true } else { false }
  }

  /// Whether any default is made for each new object.
  var hasMadeDefaults: Bool { !madeDefaults.isEmpty }

  func valuesOfNewObject() -> [Value] {
    if madeDefaults.isEmpty { return template }
    var values = template
    for (slot, value) in madeDefaults { values[slot] = value.made() }
    return values
  }

  /// Whether a save accepts a property without a value.
  func isOptional(_ slot: Int) -> Bool {
    switch properties[slot] {
    case .attribute(_, let isOptional), .transient(_, let isOptional): isOptional
    case .relationship(let relationship): relationship.isOptional
    case .count, .derived: true
    }
  }

  func propertyName(_ slot: Int) -> String { schema.properties[slot].name }

  /// The composite attribute with a path, or nil.
  func composite(named path: String) -> CompositeSchema? {
    schema.composites.isEmpty ? nil : schema.composite(named: path)
  }

  /// The slots of the property called `key`: one slot, or those of a composite's leaves.
  func slots(named key: String) -> Range<Int> {
    if let composite = composite(named: key) { return composite.slots }
    let slot = slot(named: key)
    return slot..<slot + 1
  }

  /// The slot of a property. Stops the program if the entity has no such property.
  func slot(named key: String, _ file: StaticString = #fileID, _ line: UInt = #line) -> Int {
    guard let slot = schema.slot(named: key) else { stop(complaint(about: key), file: file, line: line) }
    return slot
  }

  /// Whether a key is the name of a fetched property. A later version of the model may use the name
  /// for another property. The key then refers to that property.
  func hasFetchedProperty(_ key: String) -> Bool {
    !fetchedProperties.isEmpty && fetchedProperties[key] != nil && schema.slot(named: key) == nil
  }

  /// The message for a key that is not the name of a property.
  func complaint(about key: String) -> String {
    if hasFetchedProperty(key) {
      return "\(name).\(key) is a fetched property, which is read-only. Change the objects that it finds."
    }
    if composite(named: key) != nil {
      return "\(name).\(key) is a composite attribute, not a property. Name one of its elements."
    }
    let known =
      schema.properties.map(\.name) + schema.composites.map(\.name) + fetchedProperties.keys
    return "\(name) has no property \"\(key.shortened)\".\(NearMisses.question(key, in: known))"
  }
}

/// The parts of an entity's shape. They are complete before the first shape is made.
struct EntityShapeParts {
  let schema: EntitySchema
  let description: EntityDescription
  let storage: EntityStorage
  let objectClass: ManagedObject.Type
  let properties: [EntityShape.Property]
  let rules: [CompiledRules?]
  let fetchedProperties: [String: FetchedShape]
  var incoming: [RelationshipShape] = []
  var deletionGuards: [StoreIndex] = []
}

// All entities of the open stores, with the classes of their objects.
//
// If several stores have an entity, it has a number and a shape for each of them. The entity's name
// refers to its shape in the first writable store. `shapes(named:)` returns all of them.

internal import PerdureModel
internal import PerdurePredicates

/// The entities of the open stores, by number, name and class.
final class GraphSchema: Sendable {
  let store: StoreSchema
  /// The stores; one, or those of a `JoinedStore` in its order.
  let stores: [GraphStore]
  /// Whether any relationship is transient.
  let hasTransientRelationships: Bool
  private let shapes: [EntityShape?]
  /// The same shapes as unmanaged references, for code that visits many objects.
  private let uncountedShapes: [Unmanaged<EntityShape>?]
  private let shapesByName: [String: EntityShape]
  /// All shapes of each entity that several stores have, by name.
  private let spreadShapes: [String: [EntityShape]]
  /// The numbers of the entities with the same name, by entity number, in the order of their
  /// stores.
  private let numbersOfName: [[UInt16]]
  /// The position of each entity's store in `stores`, by entity number.
  private let places: [Int]
  private let shapesByClass: [ObjectIdentifier: EntityShape]
  /// The names of the entities of each class, sorted.
  private let entitiesByClass: [ObjectIdentifier: [String]]
  /// Whether the class of an entity or of a subentity overrides `prepareForDeletion`, by entity
  /// number.
  private let preparing: [Bool]
  /// The classes that the container was given.
  private let givenClasses: Set<ObjectIdentifier>
  /// The configuration with which the store was opened; nil for all entities of the model.
  let configuration: String?
  let model: ManagedObjectModel

  /// - Parameter classes: The classes of the objects, by entity name. An entity without a class
  ///   uses its parent's, and a root entity without a class uses `ManagedObject`.
  /// - Parameter givenClasses: The classes that the container was given, for messages.
  /// - Throws: `PredicateEvaluationError` if the pattern of a validation rule cannot be read.
  init(
    model: ManagedObjectModel, store: StoreSchema, stores: [GraphStore],
    classes: [String: ManagedObject.Type], givenClasses: [ManagedObject.Type] = [],
    configuration: String? = nil
  ) throws(PredicateEvaluationError) {
    self.store = store
    self.givenClasses = Set(givenClasses.map { ObjectIdentifier($0) })
    self.stores = stores
    self.model = model
    var made: [EntityShape] = []
    for part in stores {
      var builder = GraphSchemaBuilder(model: model, store: store, part: part, classes: classes)
      for parts in try builder.parts() {
        made.append(EntityShape(parts, storeIdentifier: part.identifier))
      }
    }
    var table = [EntityShape?](repeating: nil, count: Int(made.map(\.number).max() ?? 0) + 1)
    for shape in made { table[Int(shape.number)] = shape }
    hasTransientRelationships = made.contains { $0.relationships.contains(where: \.isTransient) }
    shapes = table
    uncountedShapes = table.map { $0.map(Unmanaged.passUnretained) }
    let primaryShapes = made.filter { store.entity(named: $0.name)?.number == $0.number }
    shapesByName = Dictionary(uniqueKeysWithValues: primaryShapes.map { ($0.name, $0) })
    spreadShapes = Dictionary(grouping: made, by: \.name).filter { $0.value.count > 1 }
    let spread = spreadShapes
    numbersOfName = table.map { shape in
      shape.map { shape in spread[shape.name]?.map(\.number) ?? [shape.number] } ?? []
    }
    places = table.indices.map { number in
      stores.firstIndex { $0.entityNumbers.contains(number) } ?? 0
    }
    let shapesWithClass = Dictionary(grouping: primaryShapes.filter { classes[$0.name] != nil }) {
      ObjectIdentifier($0.objectClass)
    }
    shapesByClass = shapesWithClass.compactMapValues { shapes in
      shapes.count == 1 ? shapes[0] : shapes.first { $0.name == $0.objectClass._entityName }
    }
    entitiesByClass = shapesWithClass.mapValues { $0.map(\.name).sorted() }
    self.configuration = configuration
    let prepared = made.filter { $0.lifeCycle.contains(.prepareForDeletion) }
    preparing = table.map { shape in
      shape.map { shape in prepared.contains { $0.schema.isKind(of: shape.schema.index) } } ?? false
    }
  }

  /// The names of an entity and its ancestors, from the entity upwards.
  func lineage(of shape: EntityShape) -> [String] { shape.schema.lineage.map { model.schemas[$0].name } }

  /// The message for an entity name that the stores do not have.
  func complaint(about entityName: String) -> String {
    let hint = NearMisses.question(entityName, in: shapesByName.keys)
    guard model.entities.contains(where: { $0.name == entityName }) else {
      return "The model has no entity \"\(entityName.shortened)\".\(hint)"
    }
    guard let configuration else {
      return "No store of the container has the entity \"\(entityName.shortened)\".\(hint)"
    }
    return "The store was opened with the configuration \"\(configuration)\", which has no entity "
      + "\"\(entityName.shortened)\".\(hint)"
  }

  /// The message for a class that is not the class of exactly one entity.
  func complaint(about type: ManagedObject.Type) -> String {
    if let entities = entitiesByClass[ObjectIdentifier(type)] {
      return "\(type) is the class of several entities, \(entities.joined(separator: ", ")): "
        + "use insertNewObject(forEntityName:)."
    }
    if configuration != nil, !type._entityName.isEmpty, shapesByName[type._entityName] == nil {
      return complaint(about: type._entityName)
    }
    if type._entityName.isEmpty, givenClasses.contains(ObjectIdentifier(type)) {
      return
        "\(type) has no entity: mark it with @Entity, override entityDescription, or give it to an entity by "
        + "classesByEntityName: in PersistentContainer(name:…)."
    }
    return "\(type) is not among the classes that the container was given: "
      + "add \(type).self to classes: in PersistentContainer(name:…)."
  }

  /// The entity of an object.
  @inline(__always)
  func shape(of reference: ObjectReference) -> EntityShape {
    shape(numbered: reference.entityNumber)
  }

  /// The entity of an object, as an unmanaged reference. The schema retains the entity.
  @inline(__always)
  func uncountedShape(of reference: ObjectReference) -> Unmanaged<EntityShape> {
    let number = Int(reference.entityNumber)
    guard number < uncountedShapes.count, let shape = uncountedShapes[number] else {
      preconditionFailure("The store has no entity with the number \(number).")
    }
    return shape
  }

  /// The entity with a number that the store has.
  @inline(__always)
  func shape(numbered number: UInt16) -> EntityShape {
    guard Int(number) < shapes.count, let shape = shapes[Int(number)] else {
      preconditionFailure("The store has no entity with the number \(number).")
    }
    return shape
  }

  func shape(named name: String) -> EntityShape? { shapesByName[name] }

  func shape(of type: ManagedObject.Type) -> EntityShape? { shapesByClass[ObjectIdentifier(type)] }

  /// The entity with a name in every store that has it, in the order of the stores.
  func shapes(named name: String) -> [EntityShape] {
    spreadShapes[name] ?? shapesByName[name].map { [$0] } ?? []
  }

  /// The numbers of all entities with the same name as this entity. Several stores may have an
  /// entity of one name.
  func entities(like number: UInt16) -> [UInt16] { numbersOfName[Int(number)] }

  /// The position of an entity's store in `stores`.
  @inline(__always)
  func place(ofEntity number: UInt16) -> Int {
    Int(number) < places.count ? places[Int(number)] : 0
  }

  /// Whether any entity is in several stores. If so, an object of the right entity may still belong
  /// to another store.
  var hasSpreadEntities: Bool { !spreadShapes.isEmpty }

  /// Whether objects of one entity are also objects of another.
  func isKind(_ number: UInt16, of other: UInt16) -> Bool {
    number == other || shape(numbered: number).schema.isKind(of: shape(numbered: other).schema.index)
  }

  /// An entity and its subentities, in every store that has them.
  func kinds(of shape: EntityShape) -> [EntityShape] {
    shapes.compactMap { other in other.flatMap { $0.schema.isKind(of: shape.schema.index) ? $0 : nil } }
  }

  /// Whether the class of an object at the other end of a relationship may override
  /// `prepareForDeletion`.
  func prepares(_ relationship: RelationshipShape) -> Bool { preparing[Int(relationship.destination)] }

  /// The reference of an id; nil if the id is not of these stores, or its entity is abstract.
  func reference(of id: ManagedObjectID) -> ObjectReference? {
    guard var shape = shapesByName[id.entityName], !shape.schema.isAbstract else { return nil }
    if !shape.identity.isSame(as: id.entity) {
      guard let other = spreadShapes[id.entityName]?.first(where: { $0.identity.isSame(as: id.entity) })
      else { return nil }
      shape = other
    }
    return ObjectReference(entity: shape.number, id: id.number)
  }

  /// Converts an id that is set as text in a column of ids. The result is the reference. Any other
  /// text, such as an id of another store, stays text, and a save rejects it.
  func heldIdentity(_ text: String) -> Value {
    ManagedObjectID(uri: text).flatMap { reference(of: $0) }.map(Value.reference) ?? .objectID(text)
  }

  /// A stored value in the form that programs get. A reference becomes an id as text; other values
  /// do not change. Null if the stores have no such entity, and for a value that cannot be saved.
  func shown(_ value: Value) -> Value {
    if case .list = value { return .null }
    guard case .reference(let reference) = value else { return value }
    let number = Int(reference.entityNumber)
    guard number < shapes.count, shapes[number] != nil else { return .null }
    return .objectID(id(of: reference).uri)
  }

  /// The same id, with the `EntityIdentity` of these stores; nil for an id of another store.
  func managedObjectID(_ id: ManagedObjectID?) -> ManagedObjectID? {
    id.flatMap { reference(of: $0) }.map { self.id(of: $0) }
  }

  /// The id of an object.
  func id(of reference: ObjectReference, isTemporary: Bool = false) -> ManagedObjectID {
    ManagedObjectID(shape(of: reference).identity, number: reference.id, isTemporary: isTemporary)
  }
}

/// One of the open stores, in the form that contexts use.
struct GraphStore: Sendable {
  let identifier: String
  let isReadOnly: Bool
  /// The numbers of its entities.
  let entityNumbers: Range<Int>
  /// The names of its entities.
  let entityNames: Set<String>

  /// - Parameter store: The schema of all open stores.
  init(identifier: String, isReadOnly: Bool, entityNumbers: Range<Int>, in store: StoreSchema) {
    self.identifier = identifier
    self.isReadOnly = isReadOnly
    self.entityNumbers = entityNumbers
    entityNames = Set(store.entities(numbered: entityNumbers).map(\.name))
  }
}

extension StoreSchema {
  func entities(numbered numbers: Range<Int>) -> [EntityStorage] {
    entities[numbers.clamped(to: entities.indices)].compactMap { $0 }
  }
}

private struct GraphSchemaBuilder {
  let model: ManagedObjectModel
  let store: StoreSchema
  /// The store whose entities are built.
  let part: GraphStore
  let classes: [String: ManagedObject.Type]
  private let storages: [String: EntityStorage]

  init(
    model: ManagedObjectModel, store: StoreSchema, part: GraphStore, classes: [String: ManagedObject.Type]
  ) {
    self.model = model
    self.store = store
    self.part = part
    self.classes = classes
    storages = Dictionary(
      uniqueKeysWithValues: store.entities(numbered: part.entityNumbers).map { ($0.name, $0) })
  }

  mutating func parts() throws(PredicateEvaluationError) -> [EntityShapeParts] {
    var parts: [EntityShapeParts] = []
    for schema in model.schemas where part.entityNames.contains(schema.name) {
      let description = model.entities[schema.index]
      parts.append(
        EntityShapeParts(
          schema: schema, description: description, storage: storage(schema),
          objectClass: objectClass(schema), properties: properties(schema), rules: try rules(schema),
          fetchedProperties: FetchedShape.all(of: description, in: model)))
    }
    let declared = parts.flatMap { entity in
      entity.properties.enumerated().compactMap { slot, property -> RelationshipShape? in
        guard entity.schema.properties[slot].declaringEntity == entity.schema.index else { return nil }
        if case .relationship(let relationship) = property { return relationship }
        return nil
      }
    }
    for position in parts.indices { connect(&parts[position], declared) }
    return parts
  }

  private func storage(_ schema: EntitySchema) -> EntityStorage {
    guard let storage = storages[schema.name] else {
      preconditionFailure("The store does not know the entity \(schema.name).")
    }
    return storage
  }

  private func objectClass(_ schema: EntitySchema) -> ManagedObject.Type {
    for ancestor in schema.lineage {
      if let found = classes[model.entities[ancestor].name] { return found }
    }
    return ManagedObject.self
  }

  private func properties(_ schema: EntitySchema) -> [EntityShape.Property] {
    let storage = storage(schema)
    return schema.properties.map { property in
      let stored = storage.properties[property.slot]
      let inverse = property.inverse.map { model.schemas[$0.entity].properties[$0.slot] }
      if let relationship = RelationshipShape(property, stored, inverse: inverse, schema: store) {
        return .relationship(relationship)
      }
      if property.isTransient, let destination = property.destination {
        let number = self.storage(model.schemas[destination]).number
        return .relationship(RelationshipShape(transient: property, inverse: inverse, to: number))
      }
      switch stored.form {
      case .attribute(.absent):
        return .transient(property.attributeType ?? .undefined, isOptional: property.isOptional)
      // A save sets the attributes with `isSetBySaves` before it checks for missing values.
      case .attribute(let kind):
        return .attribute(kind, isOptional: property.isOptional || property.isSetBySaves)
      case .count(let slot): return .count(ofSlot: slot)
      case .derived(let derived): return .derived(derived)
      case .toOne, .inverse: preconditionFailure("\(property.name) is a relationship.")
      }
    }
  }

  private func rules(_ schema: EntitySchema) throws(PredicateEvaluationError) -> [CompiledRules?] {
    var all: [CompiledRules?] = []
    for property in schema.properties {
      let rules = try property.attributeType.map { type throws(PredicateEvaluationError) in
        try CompiledRules(property.rules, type: type)
      }
      all.append(rules.flatMap { $0.isEmpty ? nil : $0 })
    }
    return all
  }

  /// Finds the relationships to objects of an entity, and the indexes for `deletionGuards`.
  private func connect(_ entity: inout EntityShapeParts, _ declared: [RelationshipShape]) {
    let kinds = Set(entity.schema.lineage.map { storages[model.entities[$0].name]?.number ?? 0 })
    let arriving = declared.filter { kinds.contains($0.destination) }
    entity.incoming = arriving.filter { $0.inverseSlot == nil }
    var guards: Set<StoreIndex> = []
    for relationship in arriving {
      switch relationship.form {
      case .column where leavesReferences(relationship, entity): break
      case .column: if let index = relationship.index { guards.insert(index) }
      case .inverseToOne, .inverseToMany, .transient: break
      case .links: if let owners = relationship.owners { guards.insert(owners) }
      }
    }
    for case .relationship(let relationship) in entity.properties {
      if case .links = relationship.form, let index = relationship.index { guards.insert(index) }
    }
    entity.deletionGuards = guards.sorted { $0.rawValue < $1.rawValue }
  }

  /// Whether the delete rule `.noAction` leaves references to a deleted object in this column.
  private func leavesReferences(_ column: RelationshipShape, _ entity: EntityShapeParts) -> Bool {
    guard let slot = column.inverseSlot, entity.schema.properties.indices.contains(slot) else { return false }
    return entity.schema.properties[slot].deleteRule == .noAction
  }
}

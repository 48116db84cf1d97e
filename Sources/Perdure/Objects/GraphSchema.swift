// All entities of an open store, with the classes of their objects.

internal import PerdureModel
internal import PerdurePredicates

/// The entities of one open store, by number, name and class.
final class GraphSchema: Sendable {
  let store: StoreSchema
  private let shapes: [EntityShape?]
  /// The same, for those who meet many objects: looking one up counts no reference.
  private let uncountedShapes: [Unmanaged<EntityShape>?]
  private let shapesByName: [String: EntityShape]
  private let shapesByClass: [ObjectIdentifier: EntityShape]
  /// The entities of classes that several have, none of which is the class's own.
  private let entitiesByClass: [ObjectIdentifier: [String]]
  /// By number, whether objects of the entity or of a sub-entity have a `prepareForDeletion`.
  private let preparing: [Bool]
  /// The configuration of the model that the store was opened with.
  let configuration: String?

  /// - Parameter classes: The classes of the objects, by entity name. An entity without one takes its
  ///   parent's, and at the root `ManagedObject` itself.
  /// - Throws: for a pattern of a validation rule that cannot be read.
  init(
    model: ManagedObjectModel, store: StoreSchema, storeIdentifier: String,
    classes: [String: ManagedObject.Type], configuration: String? = nil
  ) throws(PredicateEvaluationError) {
    self.store = store
    var builder = GraphSchemaBuilder(model: model, store: store, classes: classes)
    let made = try builder.parts().map { EntityShape($0, storeIdentifier: storeIdentifier) }
    var table = [EntityShape?](repeating: nil, count: Int(made.map(\.number).max() ?? 0) + 1)
    for shape in made { table[Int(shape.number)] = shape }
    shapes = table
    uncountedShapes = table.map { $0.map(Unmanaged.passUnretained) }
    shapesByName = Dictionary(uniqueKeysWithValues: made.map { ($0.name, $0) })
    let serving = Dictionary(grouping: made.filter { classes[$0.name] != nil }) {
      ObjectIdentifier($0.objectClass)
    }
    shapesByClass = serving.compactMapValues { shapes in
      shapes.count == 1 ? shapes[0] : shapes.first { $0.name == $0.objectClass._entityName }
    }
    entitiesByClass = serving.mapValues { $0.map(\.name).sorted() }
    self.configuration = configuration
    let prepared = made.filter { $0.lifeCycle.contains(.prepareForDeletion) }
    preparing = table.map { shape in
      shape.map { shape in prepared.contains { $0.schema.isKind(of: shape.schema.index) } } ?? false
    }
  }

  /// What to tell whoever asks for an entity that is not there.
  func complaint(about entityName: String) -> String {
    guard let configuration else { return "The model has no entity \"\(entityName)\"." }
    return
      "The store was opened with the configuration \"\(configuration)\", which has no entity \"\(entityName)\"."
  }

  /// What to tell whoever asks for the entity of a class that has none, or not one.
  func complaint(about type: ManagedObject.Type) -> String {
    if let entities = entitiesByClass[ObjectIdentifier(type)] {
      return "\(type) is the class of several entities, \(entities.joined(separator: ", ")): "
        + "use insertNewObject(forEntityName:)."
    }
    if configuration != nil, !type._entityName.isEmpty, shapesByName[type._entityName] == nil {
      return complaint(about: type._entityName)
    }
    return "\(type) is not among the classes that the container was given: "
      + "add \(type).self to classes: in PersistentContainer(name:…)."
  }

  /// The entity of an object.
  @inline(__always)
  func shape(of reference: ObjectReference) -> EntityShape {
    shape(numbered: reference.entityNumber)
  }

  /// The entity of an object, which lives as long as the schema.
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

  /// Whether objects of one entity are also objects of another.
  func isKind(_ number: UInt16, of other: UInt16) -> Bool {
    number == other || shape(numbered: number).schema.isKind(of: shape(numbered: other).schema.index)
  }

  /// An entity and those below it.
  func kinds(of shape: EntityShape) -> [EntityShape] {
    shapes.compactMap { other in other.flatMap { $0.schema.isKind(of: shape.schema.index) ? $0 : nil } }
  }

  /// Whether an object at the other end of a relationship may have a `prepareForDeletion`.
  func prepares(_ relationship: RelationshipShape) -> Bool { preparing[Int(relationship.destination)] }

  /// The reference of an id, when it belongs to this store. Nothing is of an abstract entity itself.
  func reference(of id: ManagedObjectID) -> ObjectReference? {
    guard let shape = shapesByName[id.entityName], !shape.schema.isAbstract,
      shape.identity.isSame(as: id.entity)
    else { return nil }
    return ObjectReference(entity: shape.number, id: id.number)
  }

  /// What a column of ids holds for an id in text: the reference; the text itself, which a save refuses, where the id is
  /// none of this store.
  func heldIdentity(_ text: String) -> Value {
    ManagedObjectID(uri: text).flatMap { reference(of: $0) }.map(Value.reference) ?? .objectID(text)
  }

  /// What a column of ids holds as an id in text, and what others hold as it is; null also where the store has no such
  /// entity, and for what cannot be saved.
  func shown(_ value: Value) -> Value {
    if case .list = value { return .null }
    guard case .reference(let reference) = value else { return value }
    let number = Int(reference.entityNumber)
    guard number < shapes.count, shapes[number] != nil else { return .null }
    return .objectID(id(of: reference).uri)
  }

  /// An id that was read, as this store knows it; nil for one of another.
  func managedObjectID(_ id: ManagedObjectID?) -> ManagedObjectID? {
    id.flatMap { reference(of: $0) }.map { self.id(of: $0) }
  }

  /// The id of an object that has a row.
  func id(of reference: ObjectReference, isTemporary: Bool = false) -> ManagedObjectID {
    ManagedObjectID(shape(of: reference).identity, number: reference.id, isTemporary: isTemporary)
  }
}

private struct GraphSchemaBuilder {
  let model: ManagedObjectModel
  let store: StoreSchema
  let classes: [String: ManagedObject.Type]

  mutating func parts() throws(PredicateEvaluationError) -> [EntityShapeParts] {
    var parts: [EntityShapeParts] = []
    for schema in model.schemas {
      parts.append(
        EntityShapeParts(
          schema: schema, description: model.entities[schema.index], storage: storage(schema),
          objectClass: objectClass(schema), properties: properties(schema), rules: try rules(schema)))
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
    guard let storage = store.entity(named: schema.name) else {
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
      switch stored.form {
      case .attribute(.absent):
        return .transient(property.attributeType ?? .undefined, isOptional: property.isOptional)
      case .attribute(let kind): return .attribute(kind, isOptional: property.isOptional)
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

  /// Finds what leads to the objects of an entity.
  private func connect(_ entity: inout EntityShapeParts, _ declared: [RelationshipShape]) {
    let kinds = Set(entity.schema.lineage.map { store.entity(named: model.entities[$0].name)?.number ?? 0 })
    let arriving = declared.filter { kinds.contains($0.destination) }
    entity.incoming = arriving.filter { $0.inverseSlot == nil }
    var guards: Set<StoreIndex> = []
    for relationship in arriving {
      switch relationship.form {
      case .column where leavesReferences(relationship, entity): break
      case .column: guards.insert(relationship.index)
      case .inverseToOne, .inverseToMany: break
      case .links: if let owners = relationship.owners { guards.insert(owners) }
      }
    }
    for case .relationship(let relationship) in entity.properties {
      if case .links = relationship.form { guards.insert(relationship.index) }
    }
    entity.deletionGuards = guards.sorted { $0.rawValue < $1.rawValue }
  }

  /// Whether deleting an object of the entity leaves references in this column behind, by its rule.
  private func leavesReferences(_ column: RelationshipShape, _ entity: EntityShapeParts) -> Bool {
    guard let slot = column.inverseSlot, entity.schema.properties.indices.contains(slot) else { return false }
    return entity.schema.properties[slot].deleteRule == .noAction
  }
}

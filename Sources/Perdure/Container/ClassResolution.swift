// Determines the class of the objects of each entity.
//
// Classes and entities form two trees, which may differ. For each entity, the first of these rules
// that applies decides:
//
//   1. the class that was passed to the container for the entity by name;
//   2. a given class with the name in the entity's description, `Class` or `Module.Class`; of
//      several, the class that describes the entity itself;
//   3. a given class that describes the entity; of several, the last one;
//   4. the class of the parent entity; for a root, `ManagedObject` (GraphSchema.swift).
//
// A class with a description accesses properties by position. So an entity must have the properties
// of its class at the same positions. This is true for the class's own entity, for entities with
// the same description, and for their subentities. The accessors of any class must match the
// properties in name and type (AccessorCheck.swift).

internal import PerdureModel
internal import PerdurePredicates

/// Pairs the classes of a container with the entities of its model.
struct ClassResolution {
  /// The input that determines the classes of a container.
  private struct Input: Equatable, Sendable {
    let model: ManagedObjectModel
    let given: [ObjectIdentifier]
    let byEntityName: [String: ObjectIdentifier]

    static func == (left: Input, right: Input) -> Bool {
      left.model === right.model && left.given == right.given && left.byEntityName == right.byEntityName
    }
  }

  private static let resolved = RecentValues<Input, [String: ManagedObject.Type]>(countMax: 4)

  let model: ManagedObjectModel
  let given: [ManagedObject.Type]
  let byEntityName: [String: ManagedObject.Type]

  /// The classes by entity name, for entities with their own class.
  ///
  /// - Throws: `PerdureError` with code 134080 if a name fits several classes or no entity. Also if
  ///   a class or its templates do not fit the entity.
  func classes() throws(PerdureError) -> [String: ManagedObject.Type] {
    let input = Input(
      model: model, given: given.map { ObjectIdentifier($0) },
      byEntityName: byEntityName.mapValues { ObjectIdentifier($0) })
    return try Self.resolved.value(of: input) { () throws(PerdureError) in try checkedClasses() }
  }

  private func checkedClasses() throws(PerdureError) -> [String: ManagedObject.Type] {
    if let name = byEntityName.keys.sorted().first(where: { model.entitiesByName[$0] == nil }) {
      throw PerdureError(
        .openFailed,
        "The container has a class for \"\(name)\", but the model has no entity of that name. Correct "
          + "classesByEntityName.\(NearMisses.question(name, in: model.entitiesByName.keys))")
    }
    return try DescriptionWatch.during(given + byEntityName.values) { () throws(PerdureError) in
      var result: [String: ManagedObject.Type] = [:]
      for entity in model.entities {
        guard let type = try objectClass(of: entity) else { continue }
        try check(type, entity)
        result[entity.name] = type
      }
      return result
    }
  }

  private func objectClass(of entity: EntityDescription) throws(PerdureError) -> ManagedObject.Type? {
    if let type = byEntityName[entity.name] { return type }
    let describing = given.last { $0._entityName == entity.name }
    let named = given.filter { Self.isCalled($0, entity.managedObjectClassName) }
    if let type = named.last(where: { $0._entityName == entity.name }) { return type }
    let different = Set(named.map { ObjectIdentifier($0) })
    if different.count > 1 {
      throw PerdureError(
        .openFailed,
        "The entity \(entity.name) names the class \(entity.managedObjectClassName), but the container has several: "
          + "\(named.map { String(reflecting: $0) }.joined(separator: ", ")). Name the module too.")
    }
    return named.first ?? describing
  }

  private static func isCalled(_ type: ManagedObject.Type, _ name: String) -> Bool {
    // A leading dot means the program's own module.
    let name = name.hasPrefix(".") ? name.dropFirst() : name[...]
    return String(describing: type) == name || String(reflecting: type) == name
  }

  private func check(_ type: ManagedObject.Type, _ entity: EntityDescription) throws(PerdureError) {
    try checkKeys(type, entity)
    try checkSlots(type, entity)
    try checkAccessors(type, entity)
    let problems = TemplateCheck(type: type, model: model).problems
    if !problems.isEmpty { throw PerdureError(.openFailed, problems.joined(separator: " ")) }
  }

  private func checkSlots(_ type: ManagedObject.Type, _ entity: EntityDescription) throws(PerdureError) {
    let description = type.entityDescription
    if description.name.isEmpty { return }
    let signature = description.slotSignature
    if entity.lineage.contains(where: { $0.slotSignature == signature }) { return }
    throw PerdureError(
      .openFailed,
      "\(type) describes \(description.name) as \(signature), but the model describes \(entity.name) as "
        + "\(entity.slotSignature). Make the model from the descriptions of the classes, or remove the class."
    )
  }

  private func checkAccessors(_ type: ManagedObject.Type, _ entity: EntityDescription) throws(PerdureError) {
    let schema = schema(of: entity)
    let fetched = entity.lineage.flatMap { $0.fetchedProperties.map(\.name) }
    let problems = AccessorCheck(
      type: type, schema: schema, model: model, fetchedProperties: Set(fetched)
    ).problems
    if !problems.isEmpty { throw PerdureError(.openFailed, problems.joined(separator: " ")) }
  }
}

extension ClassResolution {
  private func schema(of entity: EntityDescription) -> EntitySchema {
    guard let schema = model.schema(named: entity.name) else {
      preconditionFailure("The model must have a schema of the entity \(entity.name).")
    }
    return schema
  }

  /// Checks that `validatedKeys` names only properties. Without this check, only the first save of
  /// an object reports a misspelt key.
  private func checkKeys(_ type: ManagedObject.Type, _ entity: EntityDescription) throws(PerdureError) {
    let schema = schema(of: entity)
    guard
      let key = type.validatedKeys.first(where: {
        schema.slot(named: $0) == nil && schema.composite(named: $0) == nil
      })
    else { return }
    throw PerdureError(
      .openFailed,
      "\(type).validatedKeys names \"\(key)\", but \(entity.name) has no such property. Correct the key."
        + NearMisses.question(key, in: schema.properties.map(\.name) + schema.composites.map(\.name)))
  }
}

extension EntityDescription {
  /// The parent's name and the entity's own properties in the order of their slots, as text.
  fileprivate var slotSignature: String {
    let own = slotted.map { property in
      switch property {
      case .attribute(let attribute):
        "\(attribute.name): \(attribute.isTransient ? "transient " : "")\(attribute.type)"
      case .relationship(let relationship): "\(relationship.name): \(relationship.isToMany ? "many" : "one")"
      case .composite(let composite): composite.name
      }
    }
    return "\(superentityName ?? "")[\(own.joined(separator: ", "))]"
  }
}

import Perdure
import PerdureProving

// Checks a store's answers other than its rows. All objects are read row by row. The expected
// values of derived attributes, the expected members of relationships with a to-one inverse, and
// the expected results of requests are computed from these objects alone, without any index.

/// A context's answers about a store, compared with the rows.
struct GraphAnswers {
  private let context: ManagedObjectContext
  private let model: ManagedObjectModel
  private var objects: [String: [ManagedObject]] = [:]
  /// The members of each owner, for each relationship with a to-one inverse. The key of a
  /// relationship is its entity and name. The rows of the members contain the owner.
  private var members: [String: [ManagedObjectID: [ManagedObject]]] = [:]

  init(_ context: ManagedObjectContext, _ model: ManagedObjectModel) throws {
    (self.context, self.model) = (context, model)
    for entity in model.entities {
      objects[entity.name] = try context.fetch(FetchRequest<ManagedObject>(entityName: entity.name))
    }
    for entity in model.entities {
      for relationship in entity.relationships where !relationship.isToMany {
        guard let inverse = relationship.inverseName else { continue }
        var found: [ManagedObjectID: [ManagedObject]] = [:]
        for object in all(entity) {
          if let owner = object[relationship.name] as? ManagedObject {
            found[owner.objectID, default: []].append(object)
          }
        }
        members["\(relationship.destinationEntityName).\(inverse)"] = found
      }
    }
  }

  func check() throws {
    for entity in model.entities {
      try checkRelationships(entity)
      try checkDerived(entity)
      for attribute in indexed(entity) { try checkRequests(entity, attribute) }
    }
  }

  private func all(_ entity: EntityDescription) -> [ManagedObject] { objects[entity.name] ?? [] }

  // MARK: - Relationships

  private func checkRelationships(_ entity: EntityDescription) throws {
    for relationship in entity.relationships where relationship.isToMany {
      guard let byOwner = members["\(entity.name).\(relationship.name)"] else { continue }
      for object in all(entity) {
        let wanted = Set(byOwner[object.objectID] ?? [])
        let members = object[relationship.name]
        let found = members as? Set<ManagedObject> ?? (members as? [ManagedObject]).map { Set($0) }
        guard found == wanted else {
          throw Violation(
            "\(entity.name).\(relationship.name) of \(object.objectID) differs from the objects whose rows "
              + "refer to that owner")
        }
      }
    }
  }

  // MARK: - Derived attributes

  private func checkDerived(_ entity: EntityDescription) throws {
    for attribute in entity.attributes {
      guard let derivation = attribute.derivation else { continue }
      for object in all(entity) {
        let (wanted, found) = (value(of: derivation, object, entity), word(object[attribute.name]))
        guard wanted == found else {
          throw Violation(
            "\(entity.name).\(attribute.name) is \(found ?? "nothing"), not \(wanted ?? "nothing")")
        }
      }
    }
  }

  /// The expected value of a derived attribute: a count, a sum, or the value at the end of a path.
  /// This value may be in canonical form.
  private func value(
    of derivation: String, _ object: ManagedObject, _ entity: EntityDescription
  ) -> String? {
    let isText = derivation.hasPrefix("canonical:(")
    let path = isText ? String(derivation.dropFirst("canonical:(".count).dropLast()) : derivation
    var names = path.split(separator: ".").map(String.init)
    let isAggregate = names.contains { $0.hasPrefix("@") }
    names.removeAll { $0.hasPrefix("@") }
    guard isAggregate else {
      // Names contain only ASCII characters, so the canonical form is the lowercase form.
      let found = value(names, object, entity)
      return isText ? found?.lowercased() : found
    }
    let owned = members["\(entity.name).\(names[0])"]?[object.objectID] ?? []
    guard names.count == 2 else { return "\(owned.count)" }
    return sum(owned.map { $0[names[1]] }, isReal: isReal(names, entity))
  }

  private func value(_ names: [String], _ object: ManagedObject, _ entity: EntityDescription) -> String? {
    let attribute = entity.attributes.first { $0.name == names[0] }
    if let derivation = attribute?.derivation { return value(of: derivation, object, entity) }
    guard names.count > 1 else { return word(object[names[0]]) }
    let relationship = entity.relationships.first { $0.name == names[0] }
    guard let next = object[names[0]] as? ManagedObject,
      let destination = relationship.flatMap({ model.entitiesByName[$0.destinationEntityName] })
    else { return nil }
    return value(Array(names.dropFirst()), next, destination)
  }

  private func isReal(_ names: [String], _ entity: EntityDescription) -> Bool {
    let relationship = entity.relationships.first { $0.name == names[0] }
    let destination = relationship.flatMap { model.entitiesByName[$0.destinationEntityName] }
    return destination?.attributes.first { $0.name == names[1] }?.type == .double
  }

  /// The sum of numbers that add up without rounding.
  private func sum(_ values: [Any?], isReal: Bool) -> String {
    isReal
      ? "\(values.reduce(0.0) { $0 + ($1 as? Double ?? 0) })"
      : "\(values.reduce(0) { $0 + ($1 as? Int ?? 0) })"
  }

  // MARK: - Requests

  /// The attributes with an index. These are attributes and parts of composites in the entity's
  /// indexes and constraints. Requests for other attributes read rows, as this check does.
  private func indexed(_ entity: EntityDescription) -> Set<String> {
    let elements = entity.indexes.flatMap(\.elements).map(\.propertyName)
    let names = elements.map {
      $0.hasPrefix("canonical:(") ? $0.dropFirst("canonical:(".count).dropLast() : $0[...]
    }
    return Set(names.map(String.init) + entity.uniquenessConstraints.flatMap(\.self))
  }

  /// Checks that a request for nil, and one for each of the first three values, find exactly the
  /// objects with that value.
  private func checkRequests(_ entity: EntityDescription, _ attribute: String) throws {
    let byValue = Dictionary(grouping: all(entity)) { word($0[attribute]) }
    let values = byValue.keys.compactMap { $0 }.sorted().prefix(3)
    for value in [String?.none] + values.map(Optional.some) {
      let holders = byValue[value] ?? []
      let predicate = try predicate(attribute, holders.first?[attribute] ?? nil)
      let (found, wanted) = (try ids(entity, predicate), Set(holders.map(\.objectID)))
      let common = wanted.intersection(found).count
      guard common == wanted.count, common == found.count else {
        throw Violation(
          "\(entity.name) where \(attribute) == \(value ?? "nil") finds \(found.count) objects, not "
            + "\(wanted.count): \(wanted.count - common) are missing, \(found.count - common) are extra")
      }
    }
  }

  private func predicate(_ attribute: String, _ value: Any?) throws -> FetchPredicate {
    switch value {
    case let value as any PredicateArgument: try FetchPredicate(format: "\(attribute) == %@", value)
    default: try FetchPredicate(format: "\(attribute) == nil")
    }
  }

  private func ids(_ entity: EntityDescription, _ predicate: FetchPredicate) throws -> [ManagedObjectID] {
    var request = FetchRequest<ManagedObject>(entityName: entity.name)
    request.predicate = predicate
    return try context.fetchIDs(request)
  }

  private func word(_ value: Any?) -> String? {
    if let value = value as? any CustomStringConvertible { value.description } else { nil }
  }
}

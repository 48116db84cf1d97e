// Finds existing objects by the unique keys in JSON, and inserts new objects for the rest of the
// JSON.
//
//   J1. All objects are found before the first one is inserted or changed. Nothing fails after
//       that, so a call that throws has changed nothing.
//   J2. JSON objects with the same unique key represent one object of the context. Values of later
//       JSON objects replace values of earlier ones.

internal import PerdureModel
internal import PerdurePredicates

struct JSONInsertion {
  /// The values of a uniqueness constraint.
  private struct Key: Hashable {
    let constraint: EntitySchema.UniquenessConstraint
    let values: [Value]
  }

  private enum Match {
    case existing(ManagedObject)
    /// The new object for the JSON object at a position in the list.
    case new(Int)
  }

  private let context: ManagedObjectContext
  private let objects: [JSONObject]
  private var places: [Match] = []
  private var placesByKey: [Key: Match] = [:]

  private var graph: GraphSchema { context.core.graph }

  /// Finds all objects (J1).
  ///
  /// - Throws: `PerdureError` 139002 if an object is missing or has another entity, or if two
  ///   constraints identify different objects. Also for a new object of an abstract entity, and the
  ///   errors of a fetch.
  init(_ objects: [JSONObject], _ context: ManagedObjectContext) throws {
    (self.objects, self.context) = (objects, context)
    for index in objects.indices { places.append(try place(of: index)) }
    for object in objects {
      for link in object.links {
        for case .key(let constraint, let value, let path) in link.targets {
          let destination = graph.shape(numbered: object.shape.relationship(link.slot).destination)
          try findTarget(Key(constraint: constraint, values: [value]), destination, path)
        }
      }
    }
  }

  // MARK: Finding

  private mutating func place(of index: Int) throws -> Match {
    let object = objects[index]
    var found: Match?
    let keys = keys(of: object)
    for key in keys {
      guard let place = try placesByKey[key] ?? existing(key).map(Match.existing) else { continue }
      if let found, !isSame(found, place) {
        throw PerdureError.json(
          at: object.path, "Its unique values belong to two objects. Correct one, or remove a key")
      }
      found = place
    }
    let place = found ?? .new(index)
    try check(place, for: index)
    for key in keys { placesByKey[key] = place }
    return place
  }

  /// The unique keys of an object. A key with an absent value identifies no object.
  private func keys(of object: JSONObject) -> [Key] {
    object.shape.schema.uniquenessConstraints.compactMap { constraint in
      let values = constraint.slots.compactMap { object.values[$0] }.filter { !$0.isNull }
      return values.count == constraint.slots.count ? Key(constraint: constraint, values: values) : nil
    }
  }

  private func existing(_ key: Key) throws -> ManagedObject? {
    let entity = graph.model.schemas[key.constraint.declaringEntity]
    let comparisons = zip(key.constraint.slots, key.values).map { slot, value in
      let path = PropertyPath(entity.properties[slot].name.split(separator: ".").map(String.init))
      return FetchPredicate.comparison(FetchComparison(.keyPath(path), .equal, .constant(value)))
    }
    var request = FetchRequest<ManagedObject>(entityName: entity.name, predicate: .and(comparisons))
    request.fetchLimit = 1
    return try context.fetch(request).first
  }

  private func isSame(_ left: Match, _ right: Match) -> Bool {
    switch (left, right) {
    case (.existing(let left), .existing(let right)): left === right
    case (.new(let left), .new(let right)): left == right
    default: false
    }
  }

  /// Checks that a new object's entity is not abstract, and that a found object is of the entity
  /// that the JSON requires.
  private func check(_ place: Match, for index: Int) throws(PerdureError) {
    let object = objects[index]
    if case .new(index) = place {
      guard object.shape.schema.isAbstract else { return }
      throw .json(
        at: object.path, "\(object.shape.name) is abstract. Name a subentity with the key \"entity\"")
    }
    let found = shape(of: place)
    guard graph.isKind(found.number, of: object.shape.number) else {
      throw .json(
        at: object.path, "The object with this unique key is \(found.name), not \(object.shape.name)")
    }
  }

  private func shape(of place: Match) -> EntityShape {
    switch place {
    case .existing(let object): object.shape
    case .new(let index): objects[index].shape
    }
  }

  private mutating func findTarget(_ key: Key, _ destination: EntityShape, _ path: String) throws {
    guard let place = try placesByKey[key] ?? existing(key).map(Match.existing) else {
      let name = destination.propertyName(key.constraint.slots[0])
      throw PerdureError.json(
        at: path,
        "There is no \(destination.name) with \(name) \("\(key.values[0])".shortened). Insert it first, "
          + "or write an object")
    }
    guard graph.isKind(shape(of: place).number, of: destination.number) else {
      throw PerdureError.json(at: path, "The object is \(shape(of: place).name), not \(destination.name)")
    }
    placesByKey[key] = place
  }

  // MARK: Changing

  /// Inserts and changes the objects.
  ///
  /// - Returns: The objects, by their positions in the JSON.
  func apply() -> [ManagedObject] {
    var inserted: [Int: ManagedObject] = [:]
    func object(_ place: Match) -> ManagedObject {
      switch place {
      case .existing(let object): return object
      case .new(let index):
        if let object = inserted[index] { return object }
        let object = context.insertNewObject(forEntityName: objects[index].shape.name)
        inserted[index] = object
        return object
      }
    }
    let result = places.map(object)
    for (index, found) in result.enumerated() {
      for (slot, value) in objects[index].values.sorted(by: { $0.key < $1.key }) {
        found.setAttributeValue(value, slot)
      }
    }
    for (index, found) in result.enumerated() {
      for (slot, targets) in objects[index].links {
        connect(
          found, slot,
          targets.compactMap { target in
            switch target {
            case .object(let index): result[index]
            case .key(let constraint, let value, _):
              placesByKey[Key(constraint: constraint, values: [value])].map(object)
            }
          })
      }
    }
    return result
  }

  private func connect(_ object: ManagedObject, _ slot: Int, _ targets: [ManagedObject]) {
    let relationship = object.shape.relationship(slot)
    if !relationship.isToMany {
      object.setRelated(targets.first, slot)
    } else if relationship.order != nil {
      OrderedToMany<ManagedObject>(object, slot).replace(with: targets)
    } else {
      ToMany<ManagedObject>(object, slot).replace(with: targets)
    }
  }
}

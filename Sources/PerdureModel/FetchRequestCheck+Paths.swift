internal import PerdurePredicates

extension FetchRequestCheck {
  /// The kind of the value of a path, after its aggregate operator was applied.
  mutating func follow(_ path: PropertyPath, from start: Kind) -> Kind {
    let end = follow(path.names[...], from: start)
    switch path.aggregate {
    case nil: return end
    case .count: return .value(.int64)
    case .min, .max: return end.element
    case .sum, .avg: return .value(.double)
    case .unionOfObjects, .distinctUnionOfObjects: return .many(end.element)
    }
  }

  /// The kind at the end of a path. After an error, it is `any`.
  mutating func follow(_ names: ArraySlice<String>, from start: Kind) -> Kind {
    var here = start
    for name in names {
      let isMany = if case .many = here { true } else { false }
      var next = step(name, from: here.element)
      if isMany, case .many = next {} else if isMany { next = .many(next) }
      here = next
    }
    return here
  }

  /// Whether the value at the end of a path can be absent, because a property of the path is
  /// optional. Elements of a collection are not absent.
  func canBeAbsent(_ path: PropertyPath, from start: Kind) -> Bool {
    guard path.aggregate == nil else { return false }
    var walk = self  // The walk notes errors in a copy, because `follow` has already noted them.
    var (here, isAbsent) = (start, false)
    for name in path.names {
      let property = declared(name, by: here.element)
      here = walk.step(name, from: here.element)
      if case .many = here { isAbsent = false } else { isAbsent = isAbsent || property?.isOptional == true }
    }
    return isAbsent
  }

  private func declared(_ name: String, by kind: Kind) -> PropertyDescription? {
    switch kind {
    case .object(let entity): model.visible[entity][name]?.property
    case .composite(let entity, let path): model.visible[entity]["\(path).\(name)"]?.property
    case .any, .value, .many: nil
    }
  }

  private mutating func step(_ name: String, from start: Kind) -> Kind {
    switch start {
    case .any, .many: return .any
    case .value(.string) where name == "length": return .value(.int64)
    case .value(.undefined), .value(.objectID): return .any
    case .value(let type):
      note(
        "\"\(name.shortened)\" is read from a value of type \(type), which has no properties.",
        "End the path at the attribute.")
      return .any
    case .composite(let entity, let path): return property("\(path).\(name)", of: entity)
    case .object(let entity): return property(name, of: entity)
    }
  }

  private mutating func property(_ name: String, of index: Int) -> Kind {
    let entity = model.entities[index].name
    guard let found = model.visible[index][name]?.property else {
      // Every object has the path `entity.name`, unless the entity has a property called `entity`.
      if name == "entity" { return .any }
      noteUnknown(name, of: index)
      return .any
    }
    if found.isTransient {
      note(
        "\(entity).\(name) is transient, so no store has its values.",
        "Store it, or name another property.")
      return .any
    }
    switch found {
    case .attribute(let attribute): return .value(attribute.type)
    case .composite: return .composite(index, path: name)
    case .relationship(let relationship):
      let end = model.indicesByName[relationship.destinationEntityName].map { Kind.object($0) } ?? .any
      return relationship.isToMany ? .many(end) : end
    }
  }

  private mutating func noteUnknown(_ name: String, of index: Int) {
    let entity = model.entities[index].name
    if model.isFetchedProperty(name, of: index) {
      note(
        "\(entity).\(name) is a fetched property, which a predicate or an order cannot name.",
        "Name stored properties, or filter the objects after the fetch.")
    } else {
      note(
        "\(entity) has no property \"\(name.shortened)\".",
        "Correct the name, or declare the property.\(model.question(name, in: model.visible[index].keys))")
    }
  }
}

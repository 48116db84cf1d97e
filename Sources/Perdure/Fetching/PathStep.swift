// Key paths resolved against the store schema.

internal import PerdurePredicates

/// The type of the value of a path.
enum PathType {
  /// A value of one kind.
  case value(FieldKind)
  /// An object of an entity.
  indirect case object(EntityStorage)
  /// Any number of values or objects.
  indirect case many(PathType)
  /// A value of one of several types. The type of the value differs between objects
  /// (ExpressionTypes.swift).
  case either([PathType])
  /// A value whose type is unknown before the evaluation.
  case any
}

extension StoreSchema {
  /// The type of a path of names that begins at a type.
  ///
  /// - Throws: `FetchError` for a name that does not exist, that follows a value without
  ///   properties, or that names a transient property. Also for a path that is too long.
  func type(
    of names: ArraySlice<String>, from start: PathType, asked: EntityStorage
  ) throws(FetchError) -> PathType {
    guard let name = names.first else { return start }
    guard names.count <= FetchPredicate.levelMax else { throw .longPath(asked) }
    let rest = names.dropFirst()
    switch start {
    case .any: return .any
    case .many(let element): return .many(try type(of: names, from: element, asked: asked).element)
    case .either(let types):
      var ends: [PathType] = []
      for type in types { ends.append(try self.type(of: names, from: type, asked: asked)) }
      return PathType(anyOf: ends)
    case .value(let kind):
      if kind == .string, name == "length", rest.isEmpty { return .value(.int64) }
      throw FetchError(
        .notARelationship,
        "\(name.shortened) is read from an attribute of \(asked.name), which has no properties of its own.",
        entity: asked.name, key: name)
    case .object(let entity):
      guard let slot = entity.slot(named: name) else {
        if name == EntityStorage.ownName, rest.isEmpty { return .value(.string) }
        throw .unknownProperty(name, of: entity)
      }
      if case .attribute(.absent) = entity.properties[slot].form {
        throw .transientAttribute(name, of: entity)
      }
      return try type(of: rest, from: type(of: entity.properties[slot]), asked: entity)
    }
  }

  private func type(of property: PropertyStorage) -> PathType {
    switch property.form {
    case .attribute(let kind): .value(kind)
    case .count: .value(.int64)
    case .derived(let derived): .value(derived.kind)
    case .toOne(let destination, _): .object(entity(destination))
    case .inverse(let destination, _, _, let isToMany):
      isToMany ? .many(.object(entity(destination))) : .object(entity(destination))
    }
  }

  /// The type of a path with its collection operator.
  func type(
    of path: PropertyPath, from start: PathType, asked: EntityStorage
  ) throws(FetchError) -> PathType {
    let end = try type(of: path.names[...], from: start, asked: asked)
    if let aggregate = path.aggregate, aggregate.takesValues {
      try end.spread.checkAggregate(
        FetchExpression.keyPath(path).shortDescription, "@\(aggregate.rawValue)", asked,
        addsUp: aggregate == .sum || aggregate == .avg)
    }
    return path.aggregate?.result(of: end) ?? end
  }

  /// Whether a path without a count ends at a transformable attribute.
  func isOpaque(_ path: PropertyPath, from start: EntityStorage) -> Bool {
    if path.aggregate == .count { return false }
    var entity: EntityStorage? = start
    var last: PropertyStorage?
    for name in path.names {
      guard let here = entity, let slot = here.slot(named: name) else { return false }
      last = here.properties[slot]
      entity = here.properties[slot].destination.map { self.entity($0) }
    }
    return last?.isOpaque ?? false
  }

  /// Whether every to-many relationship along a path is ordered. If true, the targets of the path
  /// have an order.
  func isOrdered(_ path: PropertyPath, from start: EntityStorage) -> Bool {
    var entity: EntityStorage? = start
    for name in path.names {
      guard let here = entity, let slot = here.slot(named: name) else { return true }
      let property = here.properties[slot]
      if property.isToMany, property.order == nil { return false }
      entity = property.destination.map { self.entity($0) }
    }
    return true
  }

  /// Whether a path with a collection operator crosses several to-many relationships. If true, ANY
  /// and ALL apply the operator to each group (EV7 in PredicateEvaluator.swift).
  func hasGroups(_ path: PropertyPath, from start: EntityStorage) -> Bool {
    guard path.aggregate?.givesOneValue == true else { return false }
    var manyCount = 0
    var entity: EntityStorage? = start
    for name in path.names {
      guard let here = entity, let slot = here.slot(named: name) else { break }
      if here.properties[slot].isToMany { manyCount += 1 }
      entity = here.properties[slot].destination.map { self.entity($0) }
    }
    return manyCount > 1
  }

  /// Whether every object of an entity is also an object of the entity with a number.
  func isAncestor(_ number: UInt16, of entity: EntityStorage) -> Bool {
    guard Int(number) < entities.count, let ancestor = entities[Int(number)] else { return false }
    return entity.concrete.allSatisfy(ancestor.concrete.contains)
  }
}

extension PathType {
  /// The type of the elements of a collection, also of nested collections. Any other type is its
  /// own element type.
  var element: PathType {
    switch self {
    case .many(let element): element.element
    case .either(let types): PathType(anyOf: types.map(\.element))
    case .value, .object, .any: self
    }
  }
}

extension PathType {
  /// Checks that an aggregate can work on elements of this type. Objects have no minimum, no
  /// maximum and no sum. Other values that are not numbers have no sum.
  ///
  /// - Throws: `FetchError.Code.typeMismatch`.
  func checkAggregate(
    _ key: String, _ operation: String, _ asked: EntityStorage, addsUp: Bool
  ) throws(FetchError) {
    for part in alternatives {
      let found: String
      switch part {
      case .object(let entity): found = "objects of \(entity.name): name one of their attributes"
      case .many where addsUp: found = "collections: name values with numbers"
      case .value(let kind) where addsUp && !kind.isNumeric:
        found = "\(kind.words): name an attribute with numbers"
      case .value, .many, .either, .any: continue
      }
      throw FetchError(
        .typeMismatch,
        "\(operation) works on \(addsUp ? "numbers" : "values"), but \(key) of \(asked.name) gives it "
          + "\(found), or ask for @count.", entity: asked.name, key: key)
    }
  }
}

extension CollectionOperator {
  /// Whether the operator computes a value from other values.
  fileprivate var takesValues: Bool {
    switch self {
    case .sum, .avg, .min, .max: true
    case .count, .unionOfObjects, .distinctUnionOfObjects: false
    }
  }
}

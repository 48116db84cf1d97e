// Reads JSON into a list of objects to find or insert. The context is neither read nor changed, so
// an error in the JSON is found before the first change.

internal import PerdureModel
internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// An object of JSON.
struct JSONObject {
  /// The target of a relationship.
  enum Target {
    /// Another object of the JSON, by its position in the list.
    case object(Int)
    /// The object with a unique value.
    case key(EntitySchema.UniquenessConstraint, Value, path: String)
  }

  let shape: EntityShape
  /// The path of the object in the JSON.
  let path: String
  /// The values of the attributes in the JSON, by slot.
  var values: [Int: Value] = [:]
  /// The targets of the relationships in the JSON.
  var links: [(slot: Int, targets: [Target])] = []
}

/// Reads the JSON of one call.
final class JSONReading {
  static let key = CodingUserInfoKey(rawValue: "perdure.json")

  private let graph: GraphSchema
  private let root: EntityShape
  private let isArray: Bool
  /// All objects. Each precedes the objects within it.
  private(set) var objects: [JSONObject] = []
  /// The positions of the outermost objects.
  private(set) var roots: [Int] = []

  init(_ graph: GraphSchema, _ root: EntityShape, isArray: Bool) {
    self.graph = graph
    self.root = root
    self.isArray = isArray
  }

  fileprivate func readRoot(_ decoder: any Decoder) throws {
    guard isArray else {
      roots = [try readObject(decoder, root, depth: 1)]
      return
    }
    var container = try decoder.unkeyedContainer()
    while !container.isAtEnd {
      roots.append(try readObject(container.superDecoder(), root, depth: 1))
    }
  }

  private func readObject(_ decoder: any Decoder, _ expected: EntityShape, depth: Int) throws -> Int {
    if depth > JSONMapping.depthLimit {
      throw Self.error(decoder.codingPath, "Objects are nested deeper than \(JSONMapping.depthLimit) levels")
    }
    let container = try decoder.container(keyedBy: JSONKey.self)
    let shape = try entity(container, expected)
    let index = objects.count
    objects.append(JSONObject(shape: shape, path: JSONMapping.path(decoder.codingPath)))
    try readMembers(container, "", of: index, depth)
    return index
  }

  /// The entity of an object: the expected entity, or the subentity that the object names.
  private func entity(
    _ container: KeyedDecodingContainer<JSONKey>, _ expected: EntityShape
  ) throws -> EntityShape {
    guard container.contains(JSONMapping.entityKey) else { return expected }
    let name = try container.decode(String.self, forKey: JSONMapping.entityKey)
    guard let shape = graph.shape(named: name),
      graph.isKind(shape.number, of: expected.number)
    else {
      throw Self.error(
        container.codingPath + [JSONMapping.entityKey],
        "\"\(name.shortened)\" is not \(expected.name) or a subentity of it")
    }
    return shape
  }

  /// Reads the members of an object, or of a composite in it. Skips unknown keys, and the keys of
  /// properties that are transient, derived or set by saves.
  private func readMembers(
    _ container: KeyedDecodingContainer<JSONKey>, _ prefix: String, of index: Int, _ depth: Int
  ) throws {
    let shape = objects[index].shape
    for key in container.allKeys {
      let name = prefix + key.stringValue
      if let composite = shape.composite(named: name) {
        if try container.decodeNil(forKey: key) {
          guard composite.isOptional else { throw Self.required(name, of: shape, container, key) }
          for slot in composite.slots { objects[index].values[slot] = .null }
        } else {
          let inner = try container.nestedContainer(keyedBy: JSONKey.self, forKey: key)
          try readMembers(inner, "\(name).", of: index, depth)
        }
      } else if let slot = shape.schema.slot(named: name) {
        try readProperty(container, key, slot, of: index, depth)
      }
    }
  }

  private func readProperty(
    _ container: KeyedDecodingContainer<JSONKey>, _ key: JSONKey, _ slot: Int, of index: Int, _ depth: Int
  ) throws {
    let shape = objects[index].shape
    switch shape.properties[slot] {
    case .transient, .count, .derived: break
    case .attribute where shape.saveTimeSlots.contains(slot): break
    case .attribute(_, let isOptional):
      if try container.decodeNil(forKey: key) {
        guard isOptional else { throw Self.required(key.stringValue, of: shape, container, key) }
        objects[index].values[slot] = .null
      } else {
        objects[index].values[slot] = try value(container.superDecoder(forKey: key), slot, of: shape)
      }
    case .relationship(let relationship):
      if !relationship.isToMany, !relationship.isOptional, try container.decodeNil(forKey: key) {
        throw Self.required(key.stringValue, of: shape, container, key)
      }
      let targets = try targets(container, key, relationship, depth)
      objects[index].links.append((slot, targets))
    }
  }

  // MARK: Relationships

  private func targets(
    _ container: KeyedDecodingContainer<JSONKey>, _ key: JSONKey, _ relationship: RelationshipShape,
    _ depth: Int
  ) throws -> [JSONObject.Target] {
    let destination = graph.shape(numbered: relationship.destination)
    guard relationship.isToMany else {
      if try container.decodeNil(forKey: key) { return [] }
      return [try target(container.superDecoder(forKey: key), destination, depth)]
    }
    var elements = try container.nestedUnkeyedContainer(forKey: key)
    var targets: [JSONObject.Target] = []
    while !elements.isAtEnd { targets.append(try target(elements.superDecoder(), destination, depth)) }
    return targets
  }

  /// The target of a relationship: an object, or the unique value of an object.
  private func target(
    _ decoder: any Decoder, _ destination: EntityShape, _ depth: Int
  ) throws -> JSONObject.Target {
    if (try? decoder.container(keyedBy: JSONKey.self)) != nil {
      return .object(try readObject(decoder, destination, depth: depth + 1))
    }
    guard let constraint = JSONMapping.keyConstraint(of: destination) else {
      throw Self.error(
        decoder.codingPath,
        "Expected an object: \(destination.name) has no unique attribute that could identify it")
    }
    let value = try value(decoder, constraint.slots[0], of: destination)
    return .key(constraint, value, path: JSONMapping.path(decoder.codingPath))
  }

  // MARK: Attributes

  private func value(_ decoder: any Decoder, _ slot: Int, of shape: EntityShape) throws -> Value {
    let container = try decoder.singleValueContainer()
    guard case .attribute(let kind, _) = shape.properties[slot] else {
      throw Self.error(decoder.codingPath, "\(shape.propertyName(slot)) is not a stored attribute")
    }
    let type = shape.valueTypes[slot]
    let value = try Self.value(container, kind, type, isJSON: shape.holdsJSON(slot))
    if let problem = value.transformationProblem { throw Self.error(decoder.codingPath, problem) }
    if kind != .data, let type = type as? any AttributeValue.Type, type.init(attributeValue: value) == nil {
      throw Self.error(decoder.codingPath, "\("\(value)".shortened) is not a \(type)")
    }
    if kind != .reference, value.stored(as: kind) == nil {
      throw Self.error(decoder.codingPath, "\(shape.name).\(shape.propertyName(slot)) cannot have the value")
    }
    return value
  }

  private static func value(
    _ container: any SingleValueDecodingContainer, _ kind: FieldKind, _ type: Any.Type?, isJSON: Bool
  ) throws -> Value {
    switch kind {
    case .bool: return .bool(try decoded(Bool.self, container))
    case .int16: return .integer(Int64(try decoded(Int16.self, container)))
    case .int32: return .integer(Int64(try decoded(Int32.self, container)))
    case .int64: return .integer(try decoded(Int64.self, container))
    case .float: return .double(Double(try decoded(Float.self, container)))
    case .double: return .double(try decoded(Double.self, container))
    case .decimal: return .decimal(try decoded(Decimal.self, container))
    case .date: return .date(try decoded(Date.self, container))
    case .uuid: return .uuid(try decoded(UUID.self, container))
    case .url: return .url(try decoded(URL.self, container))
    case .string: return .string(try decoded(String.self, container))
    case .reference: return .objectID(try decoded(ManagedObjectID.self, container).uri)
    case .data:
      if isJSON {
        if let type = type as? any CodableCollection.Type { return try json(container, type) }
        if let type = type as? any CodableAttributeValue.Type { return try json(container, type) }
      }
      return .data(try decoded(Data.self, container))
    case .absent: return .null
    }
  }

  private static func json<C: Codable>(
    _ container: any SingleValueDecodingContainer, _ type: C.Type
  ) throws -> Value {
    StoredJSON.stored(try decoded(type, container))
  }

  /// Decodes a value. Errors contain the path of the value. For a number that does not fit in its
  /// type, Foundation's decoder throws an error without a path.
  private static func decoded<T: Decodable>(
    _ type: T.Type, _ container: any SingleValueDecodingContainer
  ) throws -> T {
    do { return try container.decode(type) } catch let error as DecodingError { throw error } catch {
      throw Self.error(container.codingPath, "The value does not fit in \(type)")
    }
  }

  private static func required(
    _ name: String, of shape: EntityShape, _ container: KeyedDecodingContainer<JSONKey>, _ key: JSONKey
  ) -> DecodingError {
    error(container.codingPath + [key], "\(shape.name).\(name) must have a value")
  }

  private static func error(_ path: [any CodingKey], _ what: String) -> DecodingError {
    .dataCorrupted(.init(codingPath: path, debugDescription: what))
  }
}

// Unchecked: a decoder's user info holds only Sendable values. One call uses the reading on one
// thread, and removes it from the decoder at its end.
extension JSONReading: @unchecked Sendable {}

/// The type that the decoder decodes. Its initializer adds the objects to the reading.
struct JSONRoot: Decodable {
  init(from decoder: any Decoder) throws {
    guard let key = JSONReading.key, let reading = decoder.userInfo[key] as? JSONReading else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "The decoder lost its user info"))
    }
    try reading.readRoot(decoder)
  }
}

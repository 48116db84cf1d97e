// Writes objects as JSON, in the form that JSONReading.swift reads.

internal import PerdureModel
internal import PerdurePredicates

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An object that an encoder writes.
struct JSONWriting: Encodable {
  let object: ManagedObject
  /// The relationships to follow.
  let tree: PathTree
  /// The entity that the reader expects here.
  let expected: EntityShape
  let graph: GraphSchema
  /// The nesting level of the object; 1 for an object that the program passes.
  let depth: Int

  private var shape: EntityShape { object.shape }

  func encode(to encoder: any Encoder) throws {
    if depth > JSONMapping.depthLimit {
      throw EncodingError.invalidValue(
        object.objectID,
        .init(
          codingPath: encoder.codingPath,
          debugDescription: "Objects are nested deeper than \(JSONMapping.depthLimit) levels"))
    }
    if object.header.pointee.isGone {
      throw PerdureError(.objectNotFound, "\(object.objectID) no longer exists. Fetch again.")
    }
    try object.requireRow()
    var container = encoder.container(keyedBy: JSONKey.self)
    if shape.number != expected.number { try container.encode(shape.name, forKey: JSONMapping.entityKey) }
    let composites = shape.schema.composites.filter { $0.depth == 0 }
    for composite in composites { try encode(composite, composite.name, into: &container) }
    for slot in shape.properties.indices where !composites.contains(where: { $0.slots.contains(slot) }) {
      try encode(slot, JSONKey(shape.propertyName(slot)), into: &container)
    }
  }

  private func encode(
    _ composite: CompositeSchema, _ name: String, into container: inout KeyedEncodingContainer<JSONKey>
  ) throws {
    if composite.slots.allSatisfy({ object.attributeValue($0).isNull }) {
      return try container.encodeNil(forKey: JSONKey(name))
    }
    var inner = container.nestedContainer(keyedBy: JSONKey.self, forKey: JSONKey(name))
    for element in composite.elements {
      if element.isLeaf {
        try encode(element.slots.lowerBound, JSONKey(element.name), into: &inner)
      } else if let composite = shape.composite(named: "\(composite.name).\(element.name)") {
        try encode(composite, element.name, into: &inner)
      }
    }
  }

  private func encode(
    _ slot: Int, _ key: JSONKey, into container: inout KeyedEncodingContainer<JSONKey>
  ) throws {
    switch shape.properties[slot] {
    case .transient: break
    case .attribute, .count, .derived: try encodeValue(slot, of: object, key, into: &container)
    case .relationship(let relationship):
      try encode(relationship, key, tree.branches[shape.propertyName(slot)], into: &container)
    }
  }

  // MARK: Relationships

  private func encode(
    _ relationship: RelationshipShape, _ key: JSONKey, _ branch: PathTree?,
    into container: inout KeyedEncodingContainer<JSONKey>
  ) throws {
    let destination = graph.shape(numbered: relationship.destination)
    func writing(_ object: ManagedObject, _ branch: PathTree) -> JSONWriting {
      JSONWriting(
        object: object, tree: branch, expected: destination, graph: graph, depth: depth + 1)
    }
    if relationship.isToMany {
      guard let branch else { return }
      var objects = Array(ToMany<ManagedObject>(object, relationship.slot))
      if relationship.order == nil { objects.sort { $0.reference.rawValue < $1.reference.rawValue } }
      return try container.encode(objects.map { writing($0, branch) }, forKey: key)
    }
    guard let target = object.related(relationship.slot) else { return try container.encodeNil(forKey: key) }
    if let branch { return try container.encode(writing(target, branch), forKey: key) }
    guard let constraint = JSONMapping.keyConstraint(of: destination),
      !target.attributeValue(constraint.slots[0]).isNull
    else { return }
    try encodeValue(constraint.slots[0], of: target, key, into: &container)
  }

  // MARK: Attributes

  private func encodeValue(
    _ slot: Int, of object: ManagedObject, _ key: JSONKey,
    into container: inout KeyedEncodingContainer<JSONKey>
  ) throws {
    let value = object.attributeValue(slot)
    switch value {
    case .null, .list, .reference: try container.encodeNil(forKey: key)
    case .bool(let bool): try container.encode(bool, forKey: key)
    case .integer(let integer): try container.encode(integer, forKey: key)
    case .double(let double):
      if object.shape.kind(ofValueIn: slot) == .float {
        try container.encode(Float(double), forKey: key)
      } else {
        try container.encode(double, forKey: key)
      }
    case .decimal(let decimal): try container.encode(decimal, forKey: key)
    case .string(let text), .objectID(let text): try container.encode(text, forKey: key)
    case .date(let date): try container.encode(date, forKey: key)
    case .uuid(let uuid): try container.encode(uuid, forKey: key)
    case .url(let url): try container.encode(url, forKey: key)
    case .data(let data):
      guard let value = try codable(slot, of: object, data, container.codingPath + [key]) else {
        return try container.encode(data, forKey: key)
      }
      try container.encode(value, forKey: key)
    }
  }

  /// The value of a transformable attribute of a Codable type; nil for other attributes.
  private func codable(
    _ slot: Int, of object: ManagedObject, _ data: Data, _ path: [any CodingKey]
  ) throws -> (any Encodable)? {
    guard object.shape.holdsJSON(slot), let type = object.shape.valueTypes[slot] else { return nil }
    var value: (any Encodable)?
    if let type = type as? any CodableCollection.Type {
      value = type.init(storedValue: .data(data))
    } else if let type = type as? any CodableAttributeValue.Type {
      value = type.init(attributeValue: .data(data))
    } else {
      return nil
    }
    if let value { return value }
    throw EncodingError.invalidValue(
      data, .init(codingPath: path, debugDescription: "The stored bytes are not the JSON of a \(type)"))
  }
}

extension EntityShape {
  fileprivate func kind(ofValueIn slot: Int) -> FieldKind {
    if case .derived(let derived) = properties[slot] { derived.kind } else { attributeKinds[slot] }
  }
}

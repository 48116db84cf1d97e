// Entities and their properties in a stored model; StoredModel+Coding.swift has the grammar.

internal import PerdurePredicates

extension ByteWriter {
  mutating func entity(_ entity: EntityDescription) {
    string(entity.name)
    optional(entity.superentityName) { $0.string($1) }
    bool(entity.isAbstract)
    string(entity.managedObjectClassName)
    optional(entity.renamingIdentifier) { $0.string($1) }
    list(entity.properties) { $0.property($1) }
    list(entity.indexes) { writer, index in
      writer.string(index.name)
      writer.list(index.elements) { writer, element in
        writer.string(element.propertyName)
        writer.bool(element.isAscending)
      }
      writer.optional(index.partialPredicate?.predicateFormat ?? index.unreadablePartialPredicate) {
        $0.string($1)
      }
    }
    list(entity.uniquenessConstraints) { writer, names in writer.list(names) { $0.string($1) } }
    info(entity.userInfo, entity.versionHashModifier)
  }

  private mutating func property(_ property: PropertyDescription) {
    switch property {
    case .attribute(let attribute):
      integer(UInt8(0))
      string(attribute.name)
      integer(attribute.type.rawValue)
      bool(attribute.isOptional)
      optional(attribute.defaultValue) { $0.value($1) }
      optional(attribute.derivation) { $0.string($1) }
      optional(attribute.renamingIdentifier) { $0.string($1) }
      bool(attribute.isTransient)
      list(attribute.rules) { $0.rule($1) }
      optional(attribute.valueTransformerName) { $0.string($1) }
      info(attribute.userInfo, attribute.versionHashModifier)
    case .relationship(let relationship):
      integer(UInt8(1))
      string(relationship.name)
      string(relationship.destinationEntityName)
      optional(relationship.inverseName) { $0.string($1) }
      integer(UInt32(relationship.minCount))
      integer(UInt32(relationship.maxCount))
      bool(relationship.isOptional)
      integer(relationship.deleteRule.rawValue)
      optional(relationship.renamingIdentifier) { $0.string($1) }
      bool(relationship.isOrdered)
      bool(relationship.isTransient)
      info(relationship.userInfo, relationship.versionHashModifier)
    case .composite(let composite):
      integer(UInt8(2))
      string(composite.name)
      bool(composite.isOptional)
      optional(composite.renamingIdentifier) { $0.string($1) }
      list(composite.elements) { $0.property($1) }
      info(composite.userInfo, composite.versionHashModifier)
    }
  }
}

extension ByteReader {
  mutating func entity() throws(ModelError) -> EntityDescription {
    var entity = EntityDescription(try string(), properties: [])
    entity.superentityName = try optional(readString)
    entity.isAbstract = try bool()
    entity.managedObjectClassName = try string()
    entity.renamingIdentifier = try optional(readString)
    entity.properties = try list(minimumSizeBytes: 10) { reader throws(ModelError) in try reader.property() }
    entity.indexes = try list(minimumSizeBytes: 8) { reader throws(ModelError) in try reader.index() }
    entity.uniquenessConstraints = try list(minimumSizeBytes: 4) { reader throws(ModelError) in
      try reader.list(minimumSizeBytes: 4, readString)
    }
    (entity.userInfo, entity.versionHashModifier) = try info()
    return entity
  }

  private mutating func index() throws(ModelError) -> FetchIndexDescription {
    var index = FetchIndexDescription(
      try string(),
      try list(minimumSizeBytes: 5) { reader throws(ModelError) in
        FetchIndexDescription.Element(try reader.string(), ascending: try reader.bool())
      })
    guard version >= 3, let text = try optional(readString) else { return index }
    // Rows can be read without the index, so an unreadable predicate is kept as text.
    if let predicate = Self.readable(text) {
      index.partialPredicate = predicate
    } else {
      index.unreadablePartialPredicate = text
    }
    return index
  }

  /// - Parameter depth: The number of composites that contain the property.
  private mutating func property(depth: Int = 0) throws(ModelError) -> PropertyDescription {
    switch try integer(UInt8.self) {
    case 0: return .attribute(try attribute())
    case 1: return .relationship(try relationship())
    case 2 where version >= 3: return .composite(try composite(depth: depth + 1))
    case let kind: throw fail("\(kind) is not a kind of property")
    }
  }

  private mutating func attribute() throws(ModelError) -> AttributeDescription {
    let name = try string()
    let number = try integer(UInt16.self)
    guard let type = AttributeType(rawValue: number) else { throw fail("\(number) is not an attribute type") }
    var attribute = AttributeDescription(
      name, type, isOptional: try bool(),
      defaultValue: try optional { reader throws(ModelError) in try reader.value() },
      derivation: try optional(readString), renamingIdentifier: try optional(readString))
    guard version >= 2 else { return attribute }
    attribute.isTransient = try bool()
    attribute.rules = try list(minimumSizeBytes: 5) { reader throws(ModelError) in try reader.rule() }
    if version >= 3 { attribute.valueTransformerName = try optional(readString) }
    (attribute.userInfo, attribute.versionHashModifier) = try info()
    return attribute
  }

  private mutating func composite(depth: Int) throws(ModelError) -> CompositeAttributeDescription {
    guard depth <= ModelLimits.compositeDepth else {
      throw fail("composites are nested more than \(depth - 1) levels deep")
    }
    var composite = CompositeAttributeDescription(try string(), [])
    composite.isOptional = try bool()
    composite.renamingIdentifier = try optional(readString)
    composite.elements = try list(minimumSizeBytes: 10) { reader throws(ModelError) in
      try reader.property(depth: depth)
    }
    (composite.userInfo, composite.versionHashModifier) = try info()
    return composite
  }

  private mutating func relationship() throws(ModelError) -> RelationshipDescription {
    var relationship = RelationshipDescription(try string(), to: try string(), maxCount: 0)
    relationship.inverseName = try optional(readString)
    relationship.minCount = Int(clamping: try integer(UInt32.self))
    relationship.maxCount = Int(clamping: try integer(UInt32.self))
    relationship.isOptional = try bool()
    let number = try integer(UInt8.self)
    guard let rule = DeleteRule(rawValue: number) else { throw fail("\(number) is not a delete rule") }
    relationship.deleteRule = rule
    relationship.renamingIdentifier = try optional(readString)
    if version >= 4 {
      relationship.isOrdered = try bool()
      relationship.isTransient = try bool()
    }
    (relationship.userInfo, relationship.versionHashModifier) = try info()
    return relationship
  }
}

// The bytes of a stored model, versions 1 to 4. What version 2 has and version 1 has not is marked (2), what came with
// versions 3 and 4 is marked (3) and (4). A model of an older version is read as having none of it; version 4 is what is
// written.
// Integers are little-endian; `text` is a 4-byte count of bytes
// and UTF-8; `list` is a 4-byte count and the elements; `optional` is a byte 0 or 1 and, after 1, the
// value; `bool` is a byte 0 or 1. The bytes carry no checksum: the record that holds them has one.
//
//     model        magic "PMDL", version u16, last entity u16, last property u32, last layout u16,
//                  list of entity, list of layout, (2) version identifiers list of text,
//                  (2) list of (configuration text, entity names list of text); nothing behind
//     entity       name text, superentity optional text, abstract bool, class text,
//                  renaming optional text, list of property, list of index,
//                  constraints list of list of text, (2) info, number u16, current layout u16,
//                  numbers of the declared properties list of u32, of a composite those of its leaves
//     property     0 u8 attribute | 1 u8 relationship | (3) 2 u8 composite
//     attribute    name text, type u16, optional bool, default optional value,
//                  derivation optional text, renaming optional text, (2) transient bool,
//                  (2) list of rule, (3) value transformer name optional text, (2) info
//     relationship name text, destination text, inverse optional text, least u32, greatest u32,
//                  optional bool, delete rule u8, renaming optional text, (4) ordered bool, (4) transient bool,
//                  (2) info
//     composite    name text, optional bool, renaming optional text, elements list of property, info;
//                  an element is an attribute or a composite, at most 8 deep
//     info         user info list of (key text, value text), hash modifier optional text
//     rule         kind u8, then: 0 least value | 1 greatest value | 2 least length u32 |
//                  3 greatest length u32 | 4 pattern text | 5 predicate text, message text
//     index        name text, list of (property text, ascending bool), (3) partial predicate optional text
//     value        kind u8, then: 0 bool | 1 integer u64 | 2 double, its bits u64 | 3 decimal text |
//                  4 text | 5 date, seconds since the reference date as the bits of a double u64 |
//                  6 UUID 16 bytes | 7 bytes with a 4-byte count | 8 URL text |
//                  (3) 9 the moment of insertion | (3) 10 a new UUID for each object
//     layout       number u16, entity number u16, list of property number u32
//
// Version identifiers, configurations by name, and user info by key are strictly ascending by their bytes.
// Reading checks the invariants of `StoredModel` and every rule of `ManagedObjectModel`.

internal import PerdurePredicates

private let magic: [UInt8] = Array("PMDL".utf8)
private let formatVersion: UInt16 = 4

extension StoredModel {
  /// The bytes that `init(decoding:as:)` reads.
  package func encode() -> [UInt8] { Self.encode(model, entries, layouts, lastNumbers) }

  private static func encode(
    _ model: ManagedObjectModel, _ entries: [Entry], _ layouts: [LayoutSchema], _ lastNumbers: LastNumbers
  ) -> [UInt8] {
    var writer = ByteWriter()
    for byte in magic { writer.integer(byte) }
    writer.integer(formatVersion)
    writer.integer(lastNumbers.entity)
    writer.integer(lastNumbers.property)
    writer.integer(lastNumbers.layout)
    writer.list(Array(zip(model.entities, entries))) { writer, pair in
      writer.entity(pair.0)
      writer.integer(pair.1.number)
      writer.integer(pair.1.currentLayout)
      writer.list(pair.1.propertyNumbers) { $0.integer($1) }
    }
    writer.list(layouts) { writer, layout in
      writer.integer(layout.number)
      writer.integer(layout.entityNumber)
      writer.list(layout.propertyNumbers) { $0.integer($1) }
    }
    writer.list(model.versionIdentifiers.sortedByBytes { $0 }) { $0.string($1) }
    writer.list(model.entityNamesByConfiguration.sortedByBytes(\.key)) { writer, configuration in
      writer.string(configuration.key)
      writer.list(configuration.value) { $0.string($1) }
    }
    return writer.bytes
  }

  /// Reads what `encode()` wrote.
  ///
  /// - Parameter known: The model that the bytes probably have. Where they are just what would be written for it, it is
  ///   taken, and need not be made and checked a second time.
  /// - Throws: `ModelError` `unreadableModel` with the offset, for any other bytes; never traps.
  package init(decoding bytes: [UInt8], as known: ManagedObjectModel? = nil) throws(ModelError) {
    var reader = ByteReader(bytes)
    guard try reader.bytes(magic.count).elementsEqual(magic) else { throw reader.fail("this is no model") }
    let version = try reader.integer(UInt16.self)
    guard (1...formatVersion).contains(version) else {
      throw reader.fail("format version \(version) is unknown; use a newer version of Perdure")
    }
    reader.version = version
    let last = LastNumbers(
      entity: try reader.integer(UInt16.self), property: try reader.integer(UInt32.self),
      layout: try reader.integer(UInt16.self))
    var descriptions: [EntityDescription] = []
    var entries: [Entry] = []
    for _ in 0..<(try reader.count(minimumSizeBytes: 16)) {
      descriptions.append(try reader.entity())
      entries.append(
        Entry(
          number: try reader.integer(UInt16.self), currentLayout: try reader.integer(UInt16.self),
          propertyNumbers: try reader.list(minimumSizeBytes: 4, readUInt32)))
    }
    let layouts = try reader.list(minimumSizeBytes: 8) { reader throws(ModelError) in
      LayoutSchema(
        number: try reader.integer(UInt16.self), entityNumber: try reader.integer(UInt16.self),
        propertyNumbers: try reader.list(minimumSizeBytes: 4, readUInt32))
    }
    let identifiers = version < 2 ? [] : try reader.identifiers()
    let configurations = version < 2 ? [:] : try reader.configurations()
    guard reader.remainingCount == 0 else { throw reader.fail("bytes follow the end") }
    let model: ManagedObjectModel
    if let known, known.entities.count == entries.count,
      Self.encode(known, entries, layouts, last) == bytes
    {
      model = known
    } else {
      model = try Self.checkedModel(descriptions, configurations, identifiers, at: reader.offset)
    }
    if let flaw = Self.flaw(model, entries, layouts, last) { throw reader.fail(flaw) }
    self.init(model: model, entries: entries, layouts: layouts, lastNumbers: last)
  }

  private static func checkedModel(
    _ descriptions: [EntityDescription], _ configurations: [String: [String]], _ identifiers: Set<String>,
    at offset: Int
  ) throws(ModelError) -> ManagedObjectModel {
    do throws(ModelError) {
      return try ManagedObjectModel(
        descriptions, configurations: configurations, versionIdentifiers: identifiers, isStored: true)
    } catch {
      throw ModelError(
        .unreadableModel, "The stored model breaks rules, so it is damaged or from a newer version.",
        problems: error.problems, offset: offset)
    }
  }
}

private func readUInt32(_ reader: inout ByteReader) throws(ModelError) -> UInt32 {
  try reader.integer(UInt32.self)
}

func readString(_ reader: inout ByteReader) throws(ModelError) -> String {
  try reader.string()
}

// MARK: - Entities

extension ByteWriter {
  fileprivate mutating func entity(_ entity: EntityDescription) {
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
  fileprivate mutating func entity() throws(ModelError) -> EntityDescription {
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
    // Without the index everything can be read: text that this version does not understand stays text.
    if let predicate = Self.readable(text) {
      index.partialPredicate = predicate
    } else {
      index.unreadablePartialPredicate = text
    }
    return index
  }

  /// - Parameter depth: How many composites the property is in.
  private mutating func property(depth: Int = 0) throws(ModelError) -> PropertyDescription {
    switch try integer(UInt8.self) {
    case 0: return .attribute(try attribute())
    case 1: return .relationship(try relationship())
    case 2 where version >= 3: return .composite(try composite(depth: depth + 1))
    case let kind: throw fail("\(kind) is no kind of property")
    }
  }

  private mutating func attribute() throws(ModelError) -> AttributeDescription {
    let name = try string()
    let number = try integer(UInt16.self)
    guard let type = AttributeType(rawValue: number) else { throw fail("\(number) is no attribute type") }
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
      throw fail("more than \(depth - 1) composites are in each other")
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
    guard let rule = DeleteRule(rawValue: number) else { throw fail("\(number) is no delete rule") }
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

// The bytes of a stored model. Version 5 is written. Versions 1 to 4 can be read, but lack the
// parts that were added later.
//
//     model        magic "PMDL", version u16, list of section; no bytes after them
//     section      number u16, flags u16, length u32, content (StoredModel+Sections.swift)
//     numbers      1: last entity u16, last property u32, last layout u16
//     entities     2: list of entity
//     layouts      3: list of layout
//     names        4: version identifiers list of text, list of (configuration text, entity names list of text)
//     origins      5: list of (property number u32, version of the model u32, stand-in optional value), ascending
//     history      6: list of (number u32, hash u64, sequence u64, version identifiers list of text), ascending
//     templates   32, fetched properties 33: StoredModel+FetchCoding.swift; absent if there are none
//
//     model until version 4
//                  magic "PMDL", version u16, numbers, entities, layouts, (2) names; no bytes after them
//
// Additions of versions 2, 3 and 4 are marked (2), (3) and (4). Integers are little-endian. A
// `text` is a 4-byte count of bytes, and then UTF-8. A `list` is a 4-byte count, and then the
// elements. An `optional` is a byte 0 or 1, and after 1 the value. A `bool` is a byte 0 or 1. The
// bytes have no checksum, because their record has one.
//
//     entity       name text, superentity optional text, abstract bool, class text,
//                  renaming optional text, list of property, list of index,
//                  constraints list of list of text, (2) info, number u16, current layout u16,
//                  property numbers list of u32: the declared properties, with the leaves of each
//                  composite in place of the composite
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
// Version identifiers, configurations by name, and user info by key are strictly ascending by their
// bytes. Reading checks the invariants of `StoredModel` and the rules of `ManagedObjectModel` for
// stored models.

private let magic: [UInt8] = Array("PMDL".utf8)
private let formatVersion: UInt16 = 5

extension StoredModel {
  /// The bytes that `init(decoding:as:)` reads.
  package func encode() -> [UInt8] {
    var writer = ByteWriter()
    for byte in magic { writer.integer(byte) }
    writer.integer(formatVersion)
    writer.sections(skippedSections) { section, writer in
      switch section {
      case .numbers: writer.numbers(lastNumbers)
      case .entities: writer.entities(model, entries)
      case .layouts: writer.layouts(layouts)
      case .names: writer.names(model)
      case .origins: writer.origins(origins)
      case .history: writer.history(history)
      case .templates: writer.templates(model)
      case .fetchedProperties: writer.fetchedProperties(model, entries)
      }
    }
    return writer.bytes
  }

  /// Whether the bytes begin like the result of `encode()`, in any format version.
  package static func hasHeader(_ bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

  /// Decodes the bytes of `encode()`, and those of earlier format versions.
  ///
  /// - Parameter known: The model that the bytes probably contain. If the bytes equal the encoding
  ///   of this model, the result uses it, and no second model is made and checked.
  /// - Throws: `ModelError` `unreadableModel` with the offset, for any other bytes; never traps.
  package init(decoding bytes: [UInt8], as known: ManagedObjectModel? = nil) throws(ModelError) {
    var reader = ByteReader(bytes)
    guard try reader.bytes(magic.count).elementsEqual(magic) else { throw reader.fail("this is not a model") }
    let version = try reader.integer(UInt16.self)
    guard (1...formatVersion).contains(version) else {
      throw reader.fail("format version \(version) is unknown")
    }
    reader.version = version
    let parts = version < 5 ? try reader.partsWithoutSections() : try reader.partsInSections()
    guard reader.remainingCount == 0 else { throw reader.fail("bytes follow the end") }
    let model: ManagedObjectModel
    if let known, parts.areOf(known) {
      model = known
    } else {
      model = try Self.checkedModel(parts, at: reader.offset)
    }
    if let flaw = Self.flaw(model, parts.entries, parts.layouts, parts.lastNumbers) {
      throw reader.fail(flaw)
    }
    let origins = parts.origins ?? Self.origins(of: model, parts.entries)
    let history = parts.history ?? ModelHistory(of: model, at: 0)
    if let flaw = Self.flawInOrigins(model, parts.entries, origins, history) { throw reader.fail(flaw) }
    self.init(
      model: model, entries: parts.entries, layouts: parts.layouts, lastNumbers: parts.lastNumbers,
      origins: origins, history: history, skippedSections: parts.skippedSections)
  }

  private static func checkedModel(
    _ parts: StoredModelParts, at offset: Int
  ) throws(ModelError) -> ManagedObjectModel {
    do throws(ModelError) {
      return try ManagedObjectModel(
        parts.entities, configurations: parts.configurations, versionIdentifiers: parts.identifiers,
        templates: parts.templates, isStored: true)
    } catch {
      throw ModelError(
        .unreadableModel,
        "The stored model breaks rules. Verify the store, or use a newer version of Perdure.",
        problems: error.problems, offset: offset)
    }
  }
}

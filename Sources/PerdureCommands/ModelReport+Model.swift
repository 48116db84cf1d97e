import Perdure
import PerdureText

extension ModelReport {
  /// The report about some entities of a model.
  init(_ model: ManagedObjectModel, _ entities: [EntityDescription]) {
    summary = Self.summary(of: model)
    fields = [
      // This is a string, because many programs lose digits of a 64-bit JSON number.
      ("versionHash", .string(String(model.versionHash, radix: 16))),
      ("versionIdentifiers", .strings(model.versionIdentifiers.sorted())),
      ("configurations", .strings(model.configurations)),
      ("templates", RequestText.json(model, entities)),
    ]
    templates = RequestText.templates(model, entities)
    self.entities = entities.map { Entity($0, configurations: model.configurations(containing: $0)) }
  }

  private static func summary(of model: ManagedObjectModel) -> String {
    let versions = model.versionIdentifiers.sorted().joined(separator: ", ")
    return VisibleText.line(
      "\(counted(model.entities.count, "entity", plural: "entities")), version hash "
        + String(model.versionHash, radix: 16) + (versions.isEmpty ? "" : ", versions \(versions)")
        + (model.configurations.isEmpty
          ? "" : ", configurations \(model.configurations.joined(separator: ", "))"))
  }
}

extension ManagedObjectModel {
  fileprivate func configurations(containing entity: EntityDescription) -> [String] {
    configurations.filter { name in
      entities(forConfigurationName: name)?.contains { $0.name == entity.name } ?? false
    }
  }
}

extension ModelReport.Entity {
  fileprivate init(_ entity: EntityDescription, configurations: [String]) {
    heading = Self.heading(of: entity)
    parts = [
      .field("name", .string(entity.name)), .field("superentity", .optional(entity.superentityName)),
      .field("abstract", .bool(entity.isAbstract)), .field("class", .string(entity.managedObjectClassName)),
      .field("renamingIdentifier", .optional(entity.renamingIdentifier)),
      .field("configurations", .strings(configurations)), .table(.attributes(of: entity)),
      .table(.relationships(of: entity)),
      .field("fetchedProperties", .array(entity.fetchedProperties.map(RequestText.json))),
      .field("uniquenessConstraints", .array(entity.uniquenessConstraints.map(JSONText.strings))),
      .table(.indexes(of: entity)), .field("userInfo", .userInfo(entity.userInfo)),
    ]
    notes = ModelNotes.notes(of: entity, configurations: configurations)
  }

  private static func heading(of entity: EntityDescription) -> String {
    let parent = entity.superentityName.map { ": \($0)" } ?? ""
    let className = entity.managedObjectClassName
    return VisibleText.line(
      entity.name + parent + (entity.isAbstract ? ", abstract" : "")
        + (className == entity.name ? "" : ", class \(className)"))
  }
}

extension ModelReport.Table {
  fileprivate static func attributes(of entity: EntityDescription) -> Self {
    Self(
      member: "attributes",
      columns: [
        .init("attribute", "name"), .init("type", "type"), .init("optional", "optional"),
        .init("default", "default"), .init("derived", "derivation"), .init("transient", "transient"),
        .init("indexed", "indexed"), .init(nil, "rules"), .init(nil, "valueTransformer"),
        .init(nil, "renamingIdentifier"), .init(nil, "userInfo"),
      ],
      rows: entity.properties.flatMap(\.parts).compactMap { property in
        switch property {
        case .attribute(let attribute):
          row(attribute, isIndexed: ModelWords.isIndexed(attribute.name, in: entity))
        case .composite(let composite): row(composite)
        case .relationship: nil
        }
      })
  }

  /// A composite, before the rows of its elements.
  private static func row(_ composite: CompositeAttributeDescription) -> [ModelReport.Cell] {
    [
      .init(composite.name), .init("composite"), .init(composite.isOptional), .init(nil as String?),
      .init(nil as String?), .init(false), .init(false), .init(.strings([])), .init(nil as String?),
      .init(composite.renamingIdentifier), .init(.userInfo(composite.userInfo)),
    ]
  }

  private static func row(_ attribute: AttributeDescription, isIndexed: Bool) -> [ModelReport.Cell] {
    let initial = attribute.defaultValue
    return [
      .init(attribute.name), .init("\(attribute.type)"), .init(attribute.isOptional),
      .init(shown: initial.map(ModelWords.text) ?? "", json: initial.map(ModelWords.json) ?? .null),
      .init(attribute.derivation), .init(attribute.isTransient), .init(isIndexed),
      .init(.strings(attribute.rules.map { "\($0)" })), .init(attribute.valueTransformerName),
      .init(attribute.renamingIdentifier), .init(.userInfo(attribute.userInfo)),
    ]
  }

  fileprivate static func relationships(of entity: EntityDescription) -> Self {
    Self(
      member: "relationships",
      columns: [
        .init("relationship", "name"), .init("leads to", "destination"), .init("inverse", "inverse"),
        .init("objects", "objects"), .init(nil, "minCount"), .init(nil, "maxCount"),
        .init("optional", "optional"), .init("delete rule", "deleteRule"), .init("ordered", "ordered"),
        .init("transient", "transient"), .init(nil, "renamingIdentifier"), .init(nil, "userInfo"),
      ],
      rows: entity.relationships.map(row))
  }

  private static func row(_ relationship: RelationshipDescription) -> [ModelReport.Cell] {
    [
      .init(relationship.name), .init(relationship.destinationEntityName), .init(relationship.inverseName),
      .init(ModelWords.range(relationship)), .init(.integer(relationship.minCount)),
      .init(.integer(relationship.maxCount)), .init(relationship.isOptional),
      .init("\(relationship.deleteRule)"), .init(relationship.isOrdered), .init(relationship.isTransient),
      .init(relationship.renamingIdentifier), .init(.userInfo(relationship.userInfo)),
    ]
  }

  /// A table for JSON only. The formats for human readers have notes instead, because most entities
  /// have few indexes.
  fileprivate static func indexes(of entity: EntityDescription) -> Self {
    Self(
      member: "indexes", columns: [.init(nil, "name"), .init(nil, "elements"), .init(nil, "where")],
      rows: entity.indexes.map { index in
        [
          .init(index.name), .init(.strings(index.elements.map(ModelWords.text))),
          .init(ModelWords.condition(of: index)),
        ]
      })
  }
}

extension JSONText {
  fileprivate static func strings(_ strings: [String]) -> JSONText { .array(strings.map(JSONText.string)) }

  fileprivate static func optional(_ string: String?) -> JSONText { string.map(JSONText.string) ?? .null }

  fileprivate static func userInfo(_ userInfo: [String: String]) -> JSONText {
    .object(userInfo.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
  }
}

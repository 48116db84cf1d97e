import Perdure
import PerdureText

/// A model as JSON.
enum ModelJSON {
  static func text(of model: ManagedObjectModel, _ entities: [EntityDescription]) -> JSONText {
    .object([
      // A string, because many programs lose digits of a 64-bit JSON number.
      ("versionHash", .string(String(model.versionHash, radix: 16))),
      ("versionIdentifiers", strings(model.versionIdentifiers.sorted())),
      ("configurations", strings(model.configurations)), ("entities", .array(entities.map(text))),
    ])
  }

  private static func text(of entity: EntityDescription) -> JSONText {
    let attributes = entity.slotted.compactMap { property -> JSONText? in
      if case .attribute(let attribute) = property { text(of: attribute, entity) } else { nil }
    }
    return .object([
      ("name", .string(entity.name)), ("superentity", optional(entity.superentityName)),
      ("abstract", .bool(entity.isAbstract)), ("class", .string(entity.managedObjectClassName)),
      ("renamingIdentifier", optional(entity.renamingIdentifier)),
      ("attributes", .array(attributes)), ("relationships", .array(entity.relationships.map(text))),
      ("uniquenessConstraints", .array(entity.uniquenessConstraints.map(strings))),
      ("indexes", .array(entity.indexes.map(text))), ("userInfo", text(of: entity.userInfo)),
    ])
  }

  private static func text(of attribute: AttributeDescription, _ entity: EntityDescription) -> JSONText {
    .object([
      ("name", .string(attribute.name)), ("type", .string("\(attribute.type)")),
      ("optional", .bool(attribute.isOptional)),
      ("default", attribute.defaultValue.map(ModelWords.json) ?? .null),
      ("derivation", optional(attribute.derivation)), ("transient", .bool(attribute.isTransient)),
      ("indexed", .bool(ModelWords.isIndexed(attribute.name, in: entity))),
      ("rules", strings(attribute.rules.map { "\($0)" })),
      ("valueTransformer", optional(attribute.valueTransformerName)),
      ("renamingIdentifier", optional(attribute.renamingIdentifier)),
      ("userInfo", text(of: attribute.userInfo)),
    ])
  }

  private static func text(of relationship: RelationshipDescription) -> JSONText {
    .object([
      ("name", .string(relationship.name)), ("destination", .string(relationship.destinationEntityName)),
      ("inverse", optional(relationship.inverseName)), ("minCount", .integer(relationship.minCount)),
      ("maxCount", .integer(relationship.maxCount)), ("optional", .bool(relationship.isOptional)),
      ("deleteRule", .string("\(relationship.deleteRule)")), ("ordered", .bool(relationship.isOrdered)),
      ("transient", .bool(relationship.isTransient)),
      ("renamingIdentifier", optional(relationship.renamingIdentifier)),
      ("userInfo", text(of: relationship.userInfo)),
    ])
  }

  private static func text(of index: FetchIndexDescription) -> JSONText {
    .object([
      ("name", .string(index.name)), ("elements", strings(index.elements.map(ModelWords.text))),
      ("where", optional(ModelWords.condition(of: index))),
    ])
  }

  private static func text(of userInfo: [String: String]) -> JSONText {
    .object(userInfo.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
  }

  private static func strings(_ strings: [String]) -> JSONText { .array(strings.map(JSONText.string)) }

  private static func optional(_ string: String?) -> JSONText { string.map(JSONText.string) ?? .null }
}

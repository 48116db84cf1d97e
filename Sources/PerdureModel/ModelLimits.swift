/// The maximum sizes of a model. They limit the cost of reading hostile bytes, and are far above
/// the needs of real models.
package enum ModelLimits {
  /// The number of entities in a model. Their stored numbers have 16 bits and begin at 1.
  package static let entityCount = 16_384
  /// The number of properties in an entity, including inherited ones.
  package static let propertyCount = 4_096
  /// The number of entities from a root to its deepest subentity, including both.
  package static let hierarchyDepth = 64
  /// The nesting depth of composite attributes.
  package static let compositeDepth = 8
  /// The number of names in the path of a derived attribute, including the paths of the derived
  /// attributes that it depends on.
  package static let derivationLength = 64
  /// The length of a name in UTF-8 bytes.
  package static let nameLengthBytes = 255
}

/// The sizes that a model may have. They bound what hostile bytes can cost, and stay far above what
/// models in use need.
package enum ModelLimits {
  /// Entities of a model; their stored numbers are 16 bits wide and begin at 1.
  package static let entityCount = 16_384
  /// Properties of an entity, inherited ones included.
  package static let propertyCount = 4_096
  /// Entities from a root to its deepest subentity, both counted.
  package static let hierarchyDepth = 64
  /// Composite attributes in each other.
  package static let compositeDepth = 8
  /// Names that are followed to derive an attribute, those of attributes that it is derived from
  /// included.
  package static let derivationLength = 64
  /// UTF-8 bytes of a name.
  package static let nameLengthBytes = 255
}

// Declarations that a program with the generated code contains itself.

import Foundation
public import Perdure

/// The class of an entity whose properties are generated as an extension. It has a hook.
public final class Shelf: ManagedObject {
  public override class var entityDescription: EntityDescription { ShelfEntity.description }
  public override class var _propertyNamesByKeyPath: [AnyKeyPath: String] { ShelfEntity.namesByKeyPath }

  public override func awakeFromInsert() { label = "new" }
}

/// The class of an entity without generated properties.
@Accessors public final class Note: ManagedObject {
  /// The text.
  public var text: String
}

/// The type of a transformable attribute.
public struct Stamp: Hashable {
  var number: UInt8
}

/// Converts stamps.
struct StampTransformer: Perdure.ValueTransformer {
  func data(from value: Any) throws -> Data { Data([(value as? Stamp)?.number ?? 0]) }
  func value(from data: Data) throws -> Any { Stamp(number: data.first ?? 0) }
}

/// The type of a transformable attribute of the public model.
public struct Cut: Hashable {
  var scenes: UInt8
}

/// Converts cuts.
struct CutTransformer: Perdure.ValueTransformer {
  func data(from value: Any) throws -> Data { Data([(value as? Cut)?.scenes ?? 0]) }
  func value(from data: Data) throws -> Any { Cut(scenes: data.first ?? 0) }
}

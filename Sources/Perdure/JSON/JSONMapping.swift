// How JSON and objects correspond. Attribute values have the JSON of their Swift types, as
// `JSONEncoder` and `JSONDecoder` write and read it. The classes tell these types: the model knows
// that a status is a text, and the class that only some texts are.

internal import PerdureModel
internal import PerdurePredicates

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The entities of a context, as JSON has them.
struct JSONMapping {
  /// The levels of objects in objects that JSON can have. Each level takes stack space.
  static let depthLimit = 64
  /// The key for the entity of an object. No property can have this name.
  static let entityKey = JSONKey("entity")

  let graph: GraphSchema

  /// The Swift type of an attribute of a class, without optional; nil if the class has no such
  /// property. A path names an element of a composite.
  func type(_ slot: Int, of shape: EntityShape) -> Any.Type? {
    let names = shape.propertyName(slot).split(separator: ".").map(String.init)
    let table = shape.objectClass._propertyNamesByKeyPath
    guard let name = names.first, var type = Self.type(name, in: table) else { return nil }
    for name in names.dropFirst() {
      guard let composite = type as? any CompositeAttributeValue.Type,
        let element = Self.type(name, in: composite.compositeNames)
      else { return nil }
      type = element
    }
    return type
  }

  private static func type(_ name: String, in table: [AnyKeyPath: String]) -> Any.Type? {
    guard let keyPath = table.first(where: { $0.value == name })?.key else { return nil }
    let type: Any.Type = Swift.type(of: keyPath).valueType
    return (type as? any MayBeNothing.Type)?.somethingType ?? type
  }

  /// The slot of the unique attribute whose value represents an object of an entity; nil if the
  /// entity has none.
  static func keySlot(of shape: EntityShape) -> EntitySchema.UniquenessConstraint? {
    shape.schema.uniquenessConstraints.first { $0.slots.count == 1 }
  }

  /// A place in JSON: `[3].company.name`.
  static func path(_ codingPath: [any CodingKey]) -> String {
    codingPath.reduce("") { path, key in
      if let index = key.intValue { return "\(path)[\(index)]" }
      return path.isEmpty ? key.stringValue : "\(path).\(key.stringValue)"
    }
  }
}

/// The name of a property as a key of JSON.
struct JSONKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(_ name: String) { stringValue = name }
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

extension PerdureError {
  /// The error for JSON that cannot be read or written.
  static func json(_ error: any Error) -> PerdureError {
    if let error = error as? PerdureError { return error }
    let (context, what) = JSONProblem.of(error)
    let path = JSONMapping.path(context?.codingPath ?? [])
    var result = PerdureError.json(at: path, what ?? context?.debugDescription ?? "\(error)")
    result.cause = error
    return result
  }

  /// The error for a place in JSON.
  static func json(at path: String, _ what: String) -> PerdureError {
    let sentence = what.hasSuffix(".") ? what : what + "."
    return PerdureError(.invalidJSON, "\(path.isEmpty ? "JSON" : path): \(sentence) Nothing was changed.")
  }
}

/// The errors of Swift's decoders and encoders in words.
private enum JSONProblem {
  static func of(_ error: any Error) -> (context: CodingErrorContext?, what: String?) {
    switch error {
    case DecodingError.dataCorrupted(let context):
      return (.init(context.codingPath, context.debugDescription), nil)
    case DecodingError.typeMismatch(_, let context):
      return (.init(context.codingPath, context.debugDescription), nil)
    case DecodingError.valueNotFound(_, let context):
      return (.init(context.codingPath, context.debugDescription), nil)
    case DecodingError.keyNotFound(let key, let context):
      return (.init(context.codingPath, ""), "The key \"\(key.stringValue)\" is missing.")
    case EncodingError.invalidValue(_, let context):
      return (.init(context.codingPath, context.debugDescription), nil)
    default: return (nil, nil)
    }
  }
}

private struct CodingErrorContext {
  let codingPath: [any CodingKey]
  let debugDescription: String

  init(_ codingPath: [any CodingKey], _ debugDescription: String) {
    self.codingPath = codingPath
    self.debugDescription = debugDescription
  }
}

// The mapping between JSON and objects. Attribute values have the JSON of their Swift types, in the
// form of `JSONEncoder` and `JSONDecoder`. The classes provide these types. For example, the model
// defines that a status is a string, and the class defines which strings are valid.

internal import PerdureModel
internal import PerdurePredicates

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The rules that reading and writing share.
enum JSONMapping {
  /// The maximum nesting of objects in JSON. Each level needs stack space.
  static let depthLimit = 64
  /// The key for the entity of an object. No property can have this name.
  static let entityKey = JSONKey("entity")

  /// The constraint of the unique attribute whose value represents an object of an entity; nil if
  /// the entity has none. A Codable value is not used, because its JSON can be an object, which
  /// could not be distinguished from a nested object.
  static func keyConstraint(of shape: EntityShape) -> EntitySchema.UniquenessConstraint? {
    shape.schema.uniquenessConstraints.first { constraint in
      constraint.slots.count == 1 && !shape.holdsJSON(constraint.slots[0])
    }
  }

  /// The path of a value in JSON: `[3].company.name`.
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
    let (path, what) = JSONProblem.of(error)
    var result = PerdureError.json(at: JSONMapping.path(path), what)
    result.cause = error
    return result
  }

  /// The error for the value at a path in JSON.
  static func json(at path: String, _ what: String) -> PerdureError {
    let sentence = what.hasSuffix(".") ? what : what + "."
    return PerdureError(.invalidJSON, "\(path.isEmpty ? "JSON" : path): \(sentence) Nothing was changed.")
  }
}

/// Converts the errors of Swift's decoders and encoders to text, with the paths of the values.
private enum JSONProblem {
  static func of(_ error: any Error) -> (path: [any CodingKey], what: String) {
    switch error {
    case DecodingError.dataCorrupted(let context):
      (context.codingPath, reason(context, or: "Expected another value."))
    case DecodingError.typeMismatch(let type, let context),
      DecodingError.valueNotFound(let type, let context):
      (context.codingPath, reason(context, or: "Expected to decode \(type)."))
    case DecodingError.keyNotFound(let key, let context):
      (context.codingPath, "The key \"\(key.stringValue)\" is missing.")
    case EncodingError.invalidValue(_, let context): (context.codingPath, context.debugDescription)
    default: ([], "\(error)")
    }
  }

  /// The reason that a decoder gives. Some types of Foundation give none.
  private static func reason(_ context: DecodingError.Context, or other: String) -> String {
    context.debugDescription.isEmpty ? other : context.debugDescription
  }
}

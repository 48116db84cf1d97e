public import PerdureModel
public import PerdurePredicates

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A Codable type that an attribute can have, stored as its JSON.
///
///     struct Preferences: CodableAttributeValue { var theme = "light", size = 12 }
///
///     @Entity final class Account: ManagedObject {
///       var preferences: Preferences = Preferences()
///       var draft: Preferences?
///     }
///
/// Changing a part of the value through the property (`account.preferences.size = 14`) sets the
/// whole value. Predicates test whether there is a value, and compare whole values by the bytes of
/// their JSON, with sorted keys. Sets, and dictionaries whose keys are neither text nor whole
/// numbers, have no fixed order. Their bytes may differ between runs, so compare values with such
/// parts in memory.
///
/// A property that is not optional needs an initial value, or a type with a `zeroValue`. Otherwise
/// the program stops when the description of the class is created. JSON that the type cannot
/// decode, for example JSON of an older version, reads as the initial value or the `zeroValue`. An
/// optional property then reads as nil. The stored JSON stays until the attribute is set, and
/// `checkedValue(forKey:)` throws for it. NaN and infinities are stored as text.
public protocol CodableAttributeValue: AttributeValue, Codable {}

extension CodableAttributeValue {
  /// Stored as bytes.
  public static var attributeType: AttributeType { .transformable }

  /// A type has no zero value unless it defines one. Without one, describing a required attribute
  /// without an initial value stops the program.
  public static var zeroValue: Self {
    let name = RequiredAttribute.name.map { "The attribute \($0)" } ?? "An attribute"
    stop(
      "\(name) of type \(Self.self) has no initial value and no zeroValue, so it cannot be read if no value is stored. "
        + "Declare the property with an initial value or as optional, or give the type a zeroValue.")
  }

  /// The decoded value; nil if the type cannot decode it.
  public init?(attributeValue: Value) {
    guard let value = StoredJSON.held(Self.self, attributeValue) else { return nil }
    self = value
  }

  /// The JSON. A value that cannot be encoded cannot be saved.
  public var predicateValue: Value { StoredJSON.stored(self) }
}

/// A transformer that stores JSON, for a Codable type that is not a `CodableAttributeValue`, or for
/// an entity without a class.
public struct CodableTransformer<Content: Codable>: ValueTransformer {
  /// Makes a transformer, to be registered under a name.
  public init(_ type: Content.Type) {}

  /// The JSON of a value.
  ///
  /// - Throws: `PerdureError` 1550 for a value of another type; the errors of encoding.
  public func data(from value: Any) throws -> Data {
    guard let content = value as? Content else {
      throw PerdureError(
        .validation, "A \(Swift.type(of: value)) is not a \(Content.self). Set a value of that type.")
    }
    return try StoredJSON.data(content)
  }

  /// Decodes a value from JSON.
  ///
  /// - Throws: The errors of decoding.
  public func value(from data: Data) throws -> Any { try StoredJSON.value(Content.self, data) }
}

/// JSON in its stored form. Equal values have equal JSON, unless their order of encoding is not
/// fixed, as in sets.
enum StoredJSON {
  private static let names = ("inf", "-inf", "nan")

  static func data(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: names.0, negativeInfinity: names.1, nan: names.2)
    return try encoder.encode(value)
  }

  static func value<T: Decodable>(_ type: T.Type, _ data: Data) throws -> T {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: names.0, negativeInfinity: names.1, nan: names.2)
    return try decoder.decode(type, from: data)
  }

  /// The stored form of a value.
  static func stored(_ value: some Encodable) -> Value {
    do { return .data(try data(value)) } catch { return .untransformable(error) }
  }

  /// Decodes a stored value; nil without a value, and for JSON of another type.
  static func held<T: Decodable>(_ type: T.Type, _ stored: Value?) -> T? {
    guard case .data(let data)? = stored else { return nil }
    return try? value(type, data)
  }
}

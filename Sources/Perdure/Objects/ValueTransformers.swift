// Converts values of types that Perdure does not know into bytes, and back.
//
//   VT1. A value is converted to bytes when it is set. Each read makes a new value from the bytes.
//        Changing a value that was read does not change the row. Set the attribute again to store
//        the change.
//   VT2. An attribute can be set to a value that cannot be converted, except by
//        `setCheckedValue(_:forKey:)`. The attribute then has no value to read, and the next save
//        rejects it. In memory, a `Value.list` with a mark and the reason represents this value. No
//        attribute holds a list, and no argument has the mark.
//   VT3. Bytes that cannot be converted to a value read as nil. They stay stored until the
//        attribute is set.

internal import PerdureModel
internal import PerdurePredicates
internal import Synchronization

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Converts the values of a transformable attribute into bytes, and back.
///
///     struct ColorTransformer: ValueTransformer {
///       func data(from value: Any) throws -> Data { try (value as! Color).archived() }
///       func value(from data: Data) throws -> Any { try Color(archive: data) }
///     }
///     ValueTransformers.register(ColorTransformer(), named: "Color")
///
/// Both functions may be called on any thread. If predicates compare the attribute, equal values
/// must give equal bytes. A Codable type needs no transformer: use `CodableAttributeValue`.
public protocol ValueTransformer: Sendable {
  /// Converts a value to the bytes that are stored.
  ///
  /// - Throws: Any error, if the value cannot be converted. The next save then fails, and its
  ///   message has this error.
  func data(from value: Any) throws -> Data

  /// Converts stored bytes to a value.
  ///
  /// - Throws: Any error, if the bytes cannot be converted. The attribute then reads as nil.
  func value(from data: Data) throws -> Any
}

/// The value transformers of the program, by name.
///
/// A container looks up its model's transformers when it opens its store, so register them before
/// that.
public enum ValueTransformers {
  private static let registered = Mutex<[String: any ValueTransformer]>([:])

  /// Registers a transformer under a name; it replaces an earlier one of that name. Open containers
  /// keep the earlier one.
  public static func register(_ transformer: any ValueTransformer, named name: String) {
    registered.withLock { $0[name] = transformer }
  }

  /// The transformer with a name, or nil.
  public static func transformer(named name: String) -> (any ValueTransformer)? {
    registered.withLock { $0[name] }
  }

  /// The names of all transformers, ascending.
  public static var names: [String] { registered.withLock { $0.keys.sorted() } }
}

extension ManagedObjectModel {
  /// - Throws: `PerdureError` 134080 if an attribute names a transformer that is not registered.
  func checkTransformers() throws(PerdureError) {
    for entity in entities {
      for case .attribute(let attribute) in entity.slotted {
        guard let name = attribute.valueTransformerName, ValueTransformers.transformer(named: name) == nil
        else {
          continue
        }
        let isArchive = name == AttributeDescription.secureArchiveTransformerName
        throw PerdureError(
          .openFailed,
          "\(entity.name).\(attribute.name) uses the value transformer \"\(name)\", which is not registered. Call "
            + (isArchive
              ? "KeyedArchiveTransformer.register(allowing:) of PerdureKeyedArchives"
              : "ValueTransformers.register(_:named:)") + " before the store is opened."
            + NearMisses.question(name, in: ValueTransformers.names))
      }
    }
  }
}

extension Value {
  /// Represents a value that could not be converted to bytes (VT2).
  static func untransformable(_ error: any Error) -> Value {
    .list([untransformableMark, .string("\(error)")])
  }

  /// The mark of such a list: an id that no object has. No list from a program has an object id
  /// followed by a text.
  private static var untransformableMark: Value { .objectID("no value transformed") }

  /// The reason why the value cannot be saved; nil for other values.
  var transformationProblem: String? {
    guard case .list(let parts) = self, parts.count == 2, parts[0] == Self.untransformableMark,
      case .string(let text) = parts[1]
    else { return nil }
    return text
  }
}

// MARK: - Objects

extension ManagedObject {
  /// The value of a transformable attribute. Its transformer or its Swift type converts the bytes.
  /// If it has neither, the value is the bytes.
  func transformedValue(_ slot: Int) -> Any? {
    guard case .data(let data) = attributeValue(slot) else { return nil }
    if let transformer = shape.transformers[slot] { return try? transformer.value(from: data) }
    if let type = shape.valueTypes[slot] as? any CodableAttributeValue.Type {
      return type.init(attributeValue: .data(data))
    }
    let name = shape.propertyName(slot)
    let table = type(of: self)._propertyNamesByKeyPath
    if let keyPath = table.first(where: { $0.value == name })?.key {
      return Self.unwrapped(self[keyPath: keyPath])
    }
    if let typed = typedLeaf(slot) { return typed }
    return data
  }

  /// Converts a value to its stored form; nil if the attribute has no transformer. Bytes from a
  /// composite's type are stored unchanged.
  func transformed(_ value: Any?, _ slot: Int) -> Value? {
    guard let transformer = shape.transformers[slot] else { return nil }
    guard let value else { return .null }
    if let value = value as? Value, case .data = value { return value }
    do {
      return .data(try transformer.data(from: value))
    } catch {
      return .untransformable(error)
    }
  }

  /// Reads an attribute with a transformer; nil if it has no value, or a value of another type. For
  /// generated code.
  public final func _transformed<T>(_ slot: Int, _ type: T?.Type) -> T? {
    core.checkOwner()
    checkSlot(slot)
    // A cast of nil to Any succeeds, so nil is returned before the cast.
    guard let value = transformedValue(slot) else { return nil }
    return value as? T
  }

  /// Explains that an attribute with a transformer must be optional.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message: """
      An attribute with a transformer must be optional, because the transformer may be unable to convert the stored \
      bytes. Add a question mark to the type.
      """
  )
  public final func _transformed<T>(_ slot: Int, _ type: T.Type) -> T {
    stop("\(shape.name).\(shape.propertyName(slot)) is not optional.")
  }

  /// Sets an attribute with a transformer; nil removes its value. For generated code.
  public final func _setTransformed<T>(_ slot: Int, _ value: T?) {
    setAttributeValue(transformed(value, slot) ?? .null, slot)
  }
}

extension AnyKeyPath {
  /// The type of the value, without optionality.
  var plainValueType: Any.Type {
    let type: Any.Type = Swift.type(of: self).valueType
    return (type as? any AnyOptional.Type)?.wrappedType ?? type
  }
}

/// Distinguishes optionals from other types.
protocol AnyOptional {
  var unwrapped: Any? { get }
  /// The type that the optional wraps.
  static var wrappedType: Any.Type { get }
}

extension Optional: AnyOptional {
  var unwrapped: Any? { self }
  static var wrappedType: Any.Type { Wrapped.self }
}

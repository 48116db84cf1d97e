// Values of types that Perdure does not know: something makes bytes of them and back.
//
//   T1. A value becomes bytes when it is set, and a value is made of the bytes each time it is read. What is changed
//       within a value after that is changed in nobody's row: set it again.
//   T2. What cannot be made bytes of is no error yet. The attribute then has no value to read, and the next save refuses
//       it. A `Value.list` of the reason behind a mark that no argument has stands for it in memory, as no attribute
//       holds a list.
//   T3. Bytes that nothing can be made of read as no value. They stay as they are until the attribute is set.

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
/// should give equal bytes. A Codable type needs no transformer: use `CodableAttributeValue`.
public protocol ValueTransformer: Sendable {
  /// The bytes that a store keeps of a value.
  ///
  /// - Throws: Anything, for a value that cannot be kept; the next save refuses it with the error in its message.
  func data(from value: Any) throws -> Data

  /// The value that bytes stand for.
  ///
  /// - Throws: Anything, for bytes that stand for no value; the attribute then reads as having none.
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
  /// - Throws: `PerdureError` 134080 when an attribute names a transformer that is not registered.
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
  /// Stands for a value of which no bytes could be made (T2).
  static func untransformable(_ error: any Error) -> Value {
    .list([untransformableMark, .string("\(error)")])
  }

  /// The id of no object: no list that a program gives has one beside a text.
  private static var untransformableMark: Value { .objectID("no value transformed") }

  /// What stands in the way of saving the value, in words.
  var transformationProblem: String? {
    guard case .list(let parts) = self, parts.count == 2, parts[0] == Self.untransformableMark,
      case .string(let text) = parts[1]
    else { return nil }
    return text
  }
}

// MARK: - Objects

extension ManagedObject {
  /// A transformable attribute's value by name: what its transformer makes of the bytes, or what the class does; the
  /// bytes themselves where there is neither.
  func transformedValue(_ slot: Int) -> Any? {
    guard case .data(let data) = attributeValue(slot) else { return nil }
    if let transformer = shape.transformers[slot] { return try? transformer.value(from: data) }
    if let type = shape.valueTypes[slot] as? any CodableAttributeValue.Type {
      return type.init(attributeValue: .data(data))
    }
    let name = shape.propertyName(slot)
    let table = type(of: self)._propertyNamesByKeyPath
    if let keyPath = table.first(where: { $0.value == name })?.key {
      return Self.something(self[keyPath: keyPath])
    }
    if let typed = typedLeaf(slot) { return typed }
    return data
  }

  /// The form in which a transformable attribute keeps a value that was given by name; nil for others. What a type of
  /// composites gives are bytes.
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

  /// Reads an attribute with a transformer; nil when it has no value, or one of another type. For
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
      An attribute with a transformer is optional: stored bytes may be of a value that the transformer cannot make. \
      Add a question mark to the type.
      """
  )
  public final func _transformed<T>(_ slot: Int, _ type: T.Type) -> T {
    stop("\(shape.name).\(shape.propertyName(slot)) is not optional.")
  }

  /// Changes an attribute with a transformer; nil takes its value away. For generated code.
  public final func _setTransformed<T>(_ slot: Int, _ value: T?) {
    setAttributeValue(transformed(value, slot) ?? .null, slot)
  }
}

extension AnyKeyPath {
  /// The type of the value, without optionality.
  var plainValueType: Any.Type {
    let type: Any.Type = Swift.type(of: self).valueType
    return (type as? any MayBeNothing.Type)?.somethingType ?? type
  }
}

/// Tells optionals from other types.
protocol MayBeNothing {
  var something: Any? { get }
  /// The type that the optional wraps.
  static var somethingType: Any.Type { get }
}

extension Optional: MayBeNothing {
  var something: Any? { self }
  static var somethingType: Any.Type { Wrapped.self }
}

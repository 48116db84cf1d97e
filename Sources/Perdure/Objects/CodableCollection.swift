// Arrays and dictionaries of Codable values as attributes. They are stored like a
// `CodableAttributeValue`: as JSON in a transformable attribute. They cannot conform to
// `AttributeValue`, because as predicate arguments they are lists.

internal import PerdureModel
public import PerdurePredicates

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An array or a dictionary of Codable values. An attribute can have this type. The store keeps the
/// JSON of the collection.
///
///     @Entity final class Player: ManagedObject {
///       var tags: [String] = []
///       var scores: [String: Int] = [:]
///       var moves: [[Int]]?
///     }
///
/// Without a value, a property that is not optional reads as empty. A save rejects the object until
/// the property is set, unless the property has an initial value. JSON that the type cannot decode,
/// for example JSON of an earlier version of the program, reads like an absent value. It stays
/// stored until the property is set, and `ManagedObject.checkedValue(forKey:)` throws for it.
/// Queries in Swift test whether there is a value, and compare whole values (`$0.tags == ["a"]`).
///
/// Each read decodes the whole collection, and each change encodes it: O(n) for n bytes of JSON.
/// Read the property once before a loop. For large collections, or if a fetch must find elements,
/// use objects of a to-many relationship.
public protocol CodableCollection: Codable {
  /// The empty collection.
  init()
}

extension Array: CodableCollection where Element: Codable {}
extension Dictionary: CodableCollection where Key: Codable, Value: Codable {}

extension CodableCollection {
  /// The stored form of the collection.
  var storedValue: PerdurePredicates.Value {
    StoredJSON.stored(self)
  }

  /// Decodes a stored value; nil without a value, and for JSON of another type.
  init?(storedValue: PerdurePredicates.Value?) {
    guard let value = StoredJSON.held(Self.self, storedValue) else { return nil }
    self = value
  }

  /// Converts a value that is set by name to the stored form of this type; nil if this is not
  /// possible. The elements may have other types with the same JSON: integers for floating-point
  /// numbers.
  static func converted(_ value: Any) -> PerdurePredicates.Value? {
    if let collection = value as? Self { return collection.storedValue }
    var data = value as? Data
    if case .data(let held)? = value as? PerdurePredicates.Value { data = held }
    if let data { return Self(storedValue: .data(data)) == nil ? nil : .data(data) }
    guard let other = value as? any CodableCollection, case .data(let data) = other.storedValue else {
      return nil
    }
    return Self(storedValue: .data(data))?.storedValue
  }
}

// MARK: - Objects

extension ManagedObject {
  /// Reads an array or dictionary; empty if it has no value, or JSON of another type.
  public final func _get<C: CodableCollection>(_ slot: Int) -> C {
    C(storedValue: attributeValue(slot)) ?? C()
  }

  /// Reads an array or dictionary; nil if it has no value, or JSON of another type.
  public final func _get<C: CodableCollection>(_ slot: Int) -> C? { C(storedValue: attributeValue(slot)) }

  /// Changes an array or dictionary.
  public final func _set<C: CodableCollection>(_ slot: Int, _ value: C) {
    setAttributeValue(value.storedValue, slot)
  }

  /// Changes an array or dictionary; nil removes its value.
  public final func _set<C: CodableCollection>(_ slot: Int, _ value: C?) {
    setAttributeValue(value?.storedValue ?? .null, slot)
  }

  /// The type of a property that is an array or dictionary in the class; nil for other properties.
  func collectionType(_ slot: Int) -> (any CodableCollection.Type)? {
    shape.holdsJSON(slot) ? shape.valueTypes[slot] as? any CodableCollection.Type : nil
  }
}

// MARK: - Descriptions

extension _EntityAssembly {
  /// Adds an array or dictionary that always has a value.
  public mutating func add<C: CodableCollection>(
    _ name: String, _ type: C.Type, default value: C? = nil, _ options: AttributeOption...,
    derived: String? = nil, originalName: String? = nil
  ) {
    addAttribute(.collection(name, value, isOptional: false, derived, originalName), options)
  }

  /// Adds an array or dictionary that may have no value.
  public mutating func add<C: CodableCollection>(
    _ name: String, _ type: C?.Type, default value: C? = nil, _ options: AttributeOption...,
    derived: String? = nil, originalName: String? = nil
  ) {
    addAttribute(.collection(name, value, isOptional: true, derived, originalName), options)
  }
}

extension _CompositeAssembly {
  /// Adds an array or dictionary that always has a value.
  public mutating func add<C: CodableCollection>(
    _ name: String, _ type: C.Type, default value: C? = nil, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    add(.collection(name, value, isOptional: false, nil, originalName), options)
  }

  /// Adds an array or dictionary that may have no value.
  public mutating func add<C: CodableCollection>(
    _ name: String, _ type: C?.Type, default value: C? = nil, _ options: AttributeOption...,
    originalName: String? = nil
  ) {
    add(.collection(name, value, isOptional: true, nil, originalName), options)
  }
}

extension AttributeDescription {
  fileprivate static func collection<C: CodableCollection>(
    _ name: String, _ value: C?, isOptional: Bool, _ derived: String?, _ originalName: String?
  ) -> AttributeDescription {
    AttributeDescription(
      name, .transformable, isOptional: isOptional,
      defaultValue: DefaultValue(initial: value?.storedValue, of: name), derivation: derived,
      renamingIdentifier: originalName)
  }
}

// MARK: - Composites

extension CompositeContent {
  /// An element that is an array or dictionary; empty if it has no value. For generated code.
  public func _get<C: CodableCollection>(_ name: String, _ type: C.Type) -> C {
    C(storedValue: values[name]) ?? C()
  }

  /// An element that is an array or dictionary, or nil. For generated code.
  public func _get<C: CodableCollection>(_ name: String, _ type: C?.Type) -> C? {
    C(storedValue: values[name])
  }

  /// Sets an element that is an array or dictionary. For generated code.
  public mutating func _set<C: CodableCollection>(_ name: String, _ value: C?) {
    values[name] = value?.storedValue
  }
}

// MARK: - Snapshots

extension TypedSnapshot {
  /// An array or dictionary; empty if it had no value.
  public subscript<C: CodableCollection>(dynamicMember keyPath: KeyPath<Root, C>) -> C {
    C(storedValue: property(keyPath).value) ?? C()
  }

  /// An array or dictionary, or nil.
  public subscript<C: CodableCollection>(dynamicMember keyPath: KeyPath<Root, C?>) -> C? {
    C(storedValue: property(keyPath).value)
  }
}

// MARK: - Queries

extension EntityRef {
  /// An array or dictionary.
  @_disfavoredOverload
  public subscript<C: CodableCollection>(dynamicMember keyPath: KeyPath<Root, C>) -> PropertyRef<C> {
    PropertyRef(path(keyPath))
  }

  /// An optional array or dictionary.
  @_disfavoredOverload
  public subscript<C: CodableCollection>(dynamicMember keyPath: KeyPath<Root, C?>) -> PropertyRef<C> {
    PropertyRef(path(keyPath))
  }
}

extension PropertyRef where V: CodableCollection {
  fileprivate func compare(_ op: FetchComparison.Operator, _ value: V?) -> FetchPredicate {
    .comparison(FetchComparison(expression, op, .constant(value?.storedValue ?? .null)))
  }

  /// Whether the property has this value as a whole; `nil` tests for an absent value.
  public static func == (left: Self, right: V?) -> FetchPredicate { left.compare(.equal, right) }
  /// Whether the property has another value, or none.
  public static func != (left: Self, right: V?) -> FetchPredicate { left.compare(.notEqual, right) }
}

extension PropertyRef where V: CodableCollection & PredicateArgument {
  /// Whether the property has this value as a whole; `nil` tests for an absent value.
  public static func == (left: Self, right: V?) -> FetchPredicate { left.compare(.equal, right) }
  /// Whether the property has another value, or none.
  public static func != (left: Self, right: V?) -> FetchPredicate { left.compare(.notEqual, right) }
}

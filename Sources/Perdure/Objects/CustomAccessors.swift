// Accessors that a class implements itself for an attribute: `@Attribute` on a computed variable
// with `get` and `set`.
//
// Access by name uses these accessors, as in Core Data: `value(forKey:)` calls the getter, and
// `setValue(_:forKey:)` the setter. The accessors reach the stored value by `primitiveName`, which
// the macro generates, or by `primitiveValue(forKey:)`.
//
// Fetches, saves, validation, snapshots and JSON need the stored value, so they do not use these
// accessors. Exception: a snapshot calls the getter of a transient attribute, which may compute the
// value and store none.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The value that `setValue(_:forKey:)` passes to a setter of the class, in the form of the
/// attribute. For generated code.
public struct _CustomValue {
  enum Content {
    case value(Value)
    case object(Any?)
  }

  let content: Content

  private var value: Value? { if case .value(let value) = content { value } else { nil } }

  /// The value, converted to the type of a variable; nil if the variable cannot hold it.
  public func typed<T: AttributeValue>(_ type: T.Type) -> T? { value.flatMap(T.init(attributeValue:)) }

  /// The value, converted to the type of an optional variable; nil if the variable cannot hold it.
  public func typed<T: AttributeValue>(_ type: T?.Type) -> T?? {
    guard let value else { return nil }
    if value.isNull { return .some(nil) }
    return T(attributeValue: value).map { .some($0) }
  }

  /// The value as an array or dictionary; nil if the variable cannot hold it.
  public func typed<C: CodableCollection>(_ type: C.Type) -> C? { value.flatMap { C(storedValue: $0) } }

  /// The value as an optional array or dictionary; nil if the variable cannot hold it.
  public func typed<C: CodableCollection>(_ type: C?.Type) -> C?? {
    guard let value else { return nil }
    if value.isNull { return .some(nil) }
    return C(storedValue: value).map { .some($0) }
  }

  /// The value of a transient attribute of any type; nil if the variable cannot hold it.
  @_disfavoredOverload
  public func typed<T>(_ type: T.Type) -> T? {
    guard case .object(let object) = content else { return nil }
    return object as? T
  }

  /// The value of an optional transient attribute of any type; nil if the variable cannot hold it.
  @_disfavoredOverload
  public func typed<T>(_ type: T?.Type) -> T?? {
    guard case .object(let object) = content else { return nil }
    guard let object else { return .some(nil) }
    return (object as? T).map { .some($0) }
  }
}

@available(*, unavailable)
extension _CustomValue: Sendable {}

extension ManagedObject {
  /// The slot of an attribute for which the class implements accessors; nil for all others.
  func customSlot(_ key: String) -> Int? {
    guard !shape.customSlots.isEmpty, let slot = shape.schema.slot(named: key),
      shape.customSlots.contains(slot)
    else { return nil }
    return slot
  }

  /// The value that the class's getter of an attribute returns, in the form of `value(forKey:)`.
  func customValue(_ slot: Int) -> Any? {
    let value = Self.unwrapped(_customValue(forKey: shape.propertyName(slot)))
    let argument = (value as? any PredicateArgument)?.predicateValue
    switch shape.properties[slot] {
    case .attribute(let kind, _) where !shape.transformableSlots.contains(slot):
      return argument.flatMap { ($0.date(for: kind) ?? $0).swiftValue(of: kind) }
    case .transient(let type, _) where type != .undefined && type != .transformable:
      let kind = FieldKind(type)
      return argument.flatMap { ($0.date(for: kind) ?? $0).swiftValue(of: kind) }
    default: return value
    }
  }

  /// The value of a transient attribute from the getter of the class, in the form of the attribute.
  /// Nil for all other attributes, and for a transient attribute of undefined or transformable
  /// type.
  func customTransientValue(_ slot: Int) -> Value? {
    guard shape.customSlots.contains(slot), case .transient(let type, _) = shape.properties[slot],
      type != .undefined, type != .transformable
    else { return nil }
    guard let value = customValue(slot).flatMap(KeyedValue.content) else { return .null }
    return KeyedValue.exact(value, as: FieldKind(type)) ?? .null
  }

  /// Calls the class's setter of an attribute. Returns false, and changes nothing, if the variable
  /// cannot hold the value.
  func setCustomValue(_ content: _CustomValue.Content, _ slot: Int) -> Bool {
    _setCustomValue(_CustomValue(content: content), forKey: shape.propertyName(slot))
  }

  /// Changes the stored value of an attribute, as `setPrimitiveValue(_:forKey:)`. For generated
  /// code.
  public final func _setPrimitive<T: AttributeValue>(_ slot: Int, _ value: T?) {
    setPrimitiveAttributeValue(value?.predicateValue ?? .null, slot)
  }

  /// Changes the stored array or dictionary of an attribute. For generated code.
  public final func _setPrimitive<C: CodableCollection>(_ slot: Int, _ value: C?) {
    setPrimitiveAttributeValue(value?.storedValue ?? .null, slot)
  }

  /// Changes a transient attribute of any type. For generated code.
  @_disfavoredOverload
  public final func _setPrimitive<T>(_ slot: Int, _ value: T?) { setPrimitiveObject(value, slot) }
}

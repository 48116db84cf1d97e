// Calls the functions with which a class validates single properties (`validateAge(_:)`). Overloads
// choose the conversion of the argument by the type of the function.

internal import PerdurePredicates

/// Calls validation functions with values in the form that `value(forKey:)` returns. For generated
/// code.
///
/// Each overload rethrows the function's error. Overloads with a typed value that can be replaced
/// take O(n) for a value of n bytes, because they compare it. The others take O(1).
public enum _PropertyValidation {
  /// Calls a function that takes any value and may replace it.
  public static func call(_ validate: (inout Any?) throws -> Void, _ value: inout Any?) throws {
    try validate(&value)
  }

  /// Calls a function that takes any value.
  public static func call(_ validate: (Any?) throws -> Void, _ value: inout Any?) throws {
    try validate(value)
  }

  /// Calls a function that takes an optional value and may replace it.
  public static func call<T: AttributeValue>(
    _ validate: (inout T?) throws -> Void, _ value: inout Any?
  ) throws {
    var typed = typed(value, as: T.self)
    let before = typed?.predicateValue
    try validate(&typed)
    if typed?.predicateValue != before { value = typed }
  }

  /// Calls a function that takes a value and may replace it. Without a value, does nothing.
  public static func call<T: AttributeValue>(
    _ validate: (inout T) throws -> Void, _ value: inout Any?
  ) throws {
    guard var typed = typed(value, as: T.self) else { return }
    let before = typed.predicateValue
    try validate(&typed)
    if typed.predicateValue != before { value = typed }
  }

  /// Calls a function that takes an optional value.
  public static func call<T: AttributeValue>(_ validate: (T?) throws -> Void, _ value: inout Any?) throws {
    try validate(typed(value, as: T.self))
  }

  /// Calls a function that takes a value. Without a value, does nothing.
  public static func call<T: AttributeValue>(_ validate: (T) throws -> Void, _ value: inout Any?) throws {
    if let typed = typed(value, as: T.self) { try validate(typed) }
  }

  /// Calls a function that takes an optional object.
  public static func call<T: ManagedObject>(_ validate: (T?) throws -> Void, _ value: inout Any?) throws {
    try validate(value as? T)
  }

  /// Calls a function that takes an object. Without an object, does nothing.
  public static func call<T: ManagedObject>(_ validate: (T) throws -> Void, _ value: inout Any?) throws {
    if let object = value as? T { try validate(object) }
  }

  /// Contains the compiler's message for functions of other types.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message: """
      The validation of a property takes a value of the property's type, optional or not, or Any?. That of a \
      composite or of a to-many relationship takes Any?.
      """
  )
  public static func call<Other>(_ validate: (Other) throws -> Void, _ value: inout Any?) throws {}

  private static func typed<T: AttributeValue>(_ value: Any?, as type: T.Type) -> T? {
    if let typed = value as? T { return typed }
    return value.flatMap(KeyedValue.content).flatMap { T(attributeValue: $0) }
  }
}

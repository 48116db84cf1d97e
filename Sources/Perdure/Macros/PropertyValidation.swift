// How the functions are called that a class has for the validation of single properties
// (`validateAge(_:)`). The compiler decides by overloads what such a function takes.

internal import PerdurePredicates

/// Calls validations of properties with values as `value(forKey:)` gives them. For generated code.
public enum _PropertyValidation {
  /// Of any value, which it may replace.
  public static func call(_ validate: (inout Any?) throws -> Void, _ value: inout Any?) throws {
    try validate(&value)
  }

  /// Of any value.
  public static func call(_ validate: (Any?) throws -> Void, _ value: inout Any?) throws {
    try validate(value)
  }

  /// Of a value that may be absent, which it may replace.
  public static func call<T: AttributeValue>(
    _ validate: (inout T?) throws -> Void, _ value: inout Any?
  ) throws {
    var typed = typed(value, as: T.self)
    let before = typed?.predicateValue
    try validate(&typed)
    if typed?.predicateValue != before { value = typed }
  }

  /// Of a value, which it may replace.
  public static func call<T: AttributeValue>(
    _ validate: (inout T) throws -> Void, _ value: inout Any?
  ) throws {
    guard var typed = typed(value, as: T.self) else { return }
    let before = typed.predicateValue
    try validate(&typed)
    if typed.predicateValue != before { value = typed }
  }

  /// Of a value that may be absent.
  public static func call<T: AttributeValue>(_ validate: (T?) throws -> Void, _ value: inout Any?) throws {
    try validate(typed(value, as: T.self))
  }

  /// Of a value.
  public static func call<T: AttributeValue>(_ validate: (T) throws -> Void, _ value: inout Any?) throws {
    if let typed = typed(value, as: T.self) { try validate(typed) }
  }

  /// Of an object that may be absent.
  public static func call<T: ManagedObject>(_ validate: (T?) throws -> Void, _ value: inout Any?) throws {
    try validate(value as? T)
  }

  /// Of an object.
  public static func call<T: ManagedObject>(_ validate: (T) throws -> Void, _ value: inout Any?) throws {
    if let object = value as? T { try validate(object) }
  }

  /// Explains what a validation can take.
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
    return (value as? any PredicateArgument).flatMap { T(attributeValue: $0.predicateValue) }
  }
}

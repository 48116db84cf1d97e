// The functions that generated accessors of `@Attribute(.transient)` call.
//
// The macro knows only the text of a type, so the compiler selects an overload. Some overloads are
// for types of the model (`AttributeValue`), whose values predicates and rules can use. The others
// are for any type. The compiler also selects between optional and other types, however the type is
// written. The type is an argument: if two functions fit, the one for an optional type is more
// specialized. Functions that differ only in their results are ambiguous for the compiler.

internal import PerdurePredicates

extension ManagedObject {
  // MARK: A type of the model

  /// Reads a transient attribute; its zero value if it has no value. For generated code.
  public final func _transient<T: AttributeValue>(_ slot: Int, _ type: T.Type) -> T { _get(slot) }

  /// Reads a transient attribute whose default is in the model. For generated code.
  public final func _transient<T: AttributeValue>(
    _ slot: Int, _ type: T.Type, default value: @autoclosure () -> T
  ) -> T { _get(slot) }

  /// Reads a transient attribute; nil if it has no value. For generated code.
  public final func _transient<T: AttributeValue>(_ slot: Int, _ type: T?.Type) -> T? { _get(slot) }

  /// Reads a transient attribute whose default is in the model. For generated code.
  public final func _transient<T: AttributeValue>(
    _ slot: Int, _ type: T?.Type, default value: @autoclosure () -> T?
  ) -> T? { _get(slot) }

  /// Reads a transient attribute. Its default is made when the attribute is first read, as for
  /// attributes of any type (below). For generated code.
  public final func _transient<T: AttributeValue>(
    _ slot: Int, _ type: T.Type, made value: @autoclosure () -> T
  ) -> T {
    if let value: T = _get(slot) { return value }
    let made = value()
    if !isTransientHeld(slot) { holdDefault(.value(made.predicateValue), slot) }
    return made
  }

  /// Reads a transient attribute whose default is made when it is first read. For generated code.
  public final func _transient<T: AttributeValue>(
    _ slot: Int, _ type: T?.Type, made value: @autoclosure () -> T?
  ) -> T? {
    if isTransientHeld(slot) { return _get(slot) }
    guard let made = value() else { return nil }
    holdDefault(.value(made.predicateValue), slot)
    return made
  }

  /// Sets a transient attribute; nil removes its value. For generated code.
  public final func _setTransient<T: AttributeValue>(_ slot: Int, _ value: T?) { _set(slot, value) }

  // MARK: Any type

  /// Explains that such an attribute must be optional or have a default.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message: """
      A transient attribute of this type must be optional or have an initial value. Otherwise there is no value to \
      read from an object that another context has deleted. Add a question mark to the type, or an initial value.
      """
  )
  public final func _transient<T>(_ slot: Int, _ type: T.Type) -> T {
    stop("\(shape.name).\(shape.propertyName(slot)) is not optional.")
  }

  /// Reads a transient attribute whose default is made when it is first read. If its value was
  /// removed by name, this returns the default, but the attribute stays without a value. For
  /// generated code.
  @_disfavoredOverload
  public final func _transient<T>(_ slot: Int, _ type: T.Type, default value: @autoclosure () -> T) -> T {
    if let value: T = object(slot) { return value }
    let made = value()
    if !isTransientHeld(slot) { holdDefault(.newObject(made), slot) }
    return made
  }

  /// Reads a transient attribute; nil if it has no value. For generated code.
  @_disfavoredOverload
  public final func _transient<T>(_ slot: Int, _ type: T?.Type) -> T? { object(slot) }

  /// Reads a transient attribute whose default is made when it is first read. For generated code.
  @_disfavoredOverload
  public final func _transient<T>(_ slot: Int, _ type: T?.Type, default value: @autoclosure () -> T?) -> T? {
    if isTransientHeld(slot) { return object(slot) }
    guard let made = value() else { return nil }
    holdDefault(.newObject(made), slot)
    return made
  }

  /// Sets a transient attribute; nil removes its value. For generated code.
  @_disfavoredOverload
  public final func _setTransient<T>(_ slot: Int, _ value: T?) { setTransientObject(value, slot) }

  /// The current value; nil if there is none, or if it is of another type. `setValue(_:forKey:)`
  /// can set a value of another type if the class does not declare the type.
  private func object<T>(_ slot: Int) -> T? {
    checkSlot(slot)
    return transientObject(slot).flatMap { $0 as? T }
  }
}

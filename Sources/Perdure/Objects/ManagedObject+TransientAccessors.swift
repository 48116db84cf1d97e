// What generated accessors of `@Attribute(.transient)` call. The macro sees no types: these overloads let the compiler
// decide whether the attribute has a type of the model, which it shares with predicates and rules, or holds anything,
// and whether it may have no value, however its type is written. The type is an argument: of two functions that fit it,
// the one for an optional is the more special, which results alone do not decide.

internal import PerdurePredicates

extension ManagedObject {
  // MARK: A type of the model

  /// Reads a transient attribute; its zero when it has no value. For generated code.
  public final func _transient<T: AttributeValue>(_ slot: Int, _ type: T.Type) -> T { _get(slot) }

  /// Reads a transient attribute whose default is in the model. For generated code.
  public final func _transient<T: AttributeValue>(
    _ slot: Int, _ type: T.Type, default value: @autoclosure () -> T
  ) -> T { _get(slot) }

  /// Reads a transient attribute; nil when it has no value. For generated code.
  public final func _transient<T: AttributeValue>(_ slot: Int, _ type: T?.Type) -> T? { _get(slot) }

  /// Reads a transient attribute whose default is in the model. For generated code.
  public final func _transient<T: AttributeValue>(
    _ slot: Int, _ type: T?.Type, default value: @autoclosure () -> T?
  ) -> T? { _get(slot) }

  /// Reads a transient attribute whose default is made when it is first read, as that of anything
  /// (below). For generated code.
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

  // MARK: Anything

  /// Explains that such an attribute is optional or has a default.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message: """
      A transient attribute of this type is optional or has an initial value: there is no other value to read on an \
      object that another context has deleted. Add a question mark to the type, or an initial value.
      """
  )
  public final func _transient<T>(_ slot: Int, _ type: T.Type) -> T {
    stop("\(shape.name).\(shape.propertyName(slot)) is not optional.")
  }

  /// Reads a transient attribute whose default is made when it is first read. Where its value was taken away by name,
  /// it reads as the default, and has none. For generated code.
  @_disfavoredOverload
  public final func _transient<T>(_ slot: Int, _ type: T.Type, default value: @autoclosure () -> T) -> T {
    if let value: T = object(slot) { return value }
    let made = value()
    if !isTransientHeld(slot) { holdDefault(.object(made), slot) }
    return made
  }

  /// Reads a transient attribute; nil when it has no value. For generated code.
  @_disfavoredOverload
  public final func _transient<T>(_ slot: Int, _ type: T?.Type) -> T? { object(slot) }

  /// Reads a transient attribute whose default is made when it is first read. For generated code.
  @_disfavoredOverload
  public final func _transient<T>(_ slot: Int, _ type: T?.Type, default value: @autoclosure () -> T?) -> T? {
    if isTransientHeld(slot) { return object(slot) }
    guard let made = value() else { return nil }
    holdDefault(.object(made), slot)
    return made
  }

  /// Sets a transient attribute; nil takes its value away. For generated code.
  @_disfavoredOverload
  public final func _setTransient<T>(_ slot: Int, _ value: T?) { setTransientObject(value, slot) }

  /// The value that is held; nil if it is of another type. If the class does not declare the type,
  /// the attribute accepts any value by name.
  private func object<T>(_ slot: Int) -> T? {
    checkSlot(slot)
    return transientObject(slot).flatMap { $0 as? T }
  }
}

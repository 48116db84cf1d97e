// The functions that a variable's accessors call if no property can have its type, so that the
// compiler reports the error at the variable. `_EntityAssembly.add` reports it at the class.

extension ManagedObject {
  /// Explains what types a property can have.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message: """
      A managed property is a type of AttributeValue, an optional of one, an optional managed object, or ToMany of \
      managed objects. A Codable type of your own says CodableAttributeValue. Mark any other variable @Transient.
      """
  )
  public final func _get<Other>(_ slot: Int) -> Other { stop("No property has the type \(Other.self).") }

  /// Explains what types a property can have.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message: """
      A managed property is a type of AttributeValue, an optional of one, an optional managed object, or ToMany of \
      managed objects. A Codable type of your own says CodableAttributeValue. Mark any other variable @Transient.
      """
  )
  public final func _set<Other>(_ slot: Int, _ value: Other) {
    stop("No property has the type \(Other.self).")
  }

  /// Explains how a struct becomes a composite attribute.
  @available(*, unavailable, message: "A composite attribute says so: mark it @Attribute(.composite).")
  public final func _get<C: CompositeAttributeValue>(_ slot: Int) -> C { stop("\(C.self) is a composite.") }

  /// Explains how a struct becomes a composite attribute.
  @available(*, unavailable, message: "A composite attribute says so: mark it @Attribute(.composite).")
  public final func _get<C: CompositeAttributeValue>(_ slot: Int) -> C? { stop("\(C.self) is a composite.") }

  /// Explains how a struct becomes a composite attribute.
  @available(*, unavailable, message: "A composite attribute says so: mark it @Attribute(.composite).")
  public final func _set<C: CompositeAttributeValue>(_ slot: Int, _ value: C?) {
    stop("\(C.self) is a composite.")
  }
}

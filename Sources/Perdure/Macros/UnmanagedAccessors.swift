// The accessors of a variable call these functions if no property can have the type of the
// variable. The getter is unavailable, and the compiler reports its message. The setter, and the
// generated code that describes the property, accept any type. So the compiler reports only the
// getter, once for each property.

extension ManagedObject {
  /// Explains what types a property can have.
  @_disfavoredOverload
  @available(
    *, unavailable,
    message: """
      No property can have this type. Attributes are Bool, Int, Int16, Int32, Int64, Double, Float, Decimal, String, \
      Date, Data, UUID, URL, ManagedObjectID, types that conform to AttributeValue or CodableAttributeValue, and arrays \
      and dictionaries of Codable values, each optional or not. Relationships are optional managed objects and ToMany. \
      Mark any other variable @Transient.
      """
  )
  public final func _get<Other>(_ slot: Int) -> Other { stopUnmanaged(Other.self) }

  // The following functions are not marked as disfavoured: otherwise they are ambiguous with the
  // function above. The compiler prefers a function that is available.

  /// Explains what elements an array can have.
  @available(
    *, unavailable,
    message: """
      An array is an attribute if its elements are Codable. A relationship to several objects is ToMany, or \
      OrderedToMany if their order is to be kept: write ToMany<Issue> instead of [Issue].
      """
  )
  public final func _get<Element>(_ slot: Int) -> [Element] { stopUnmanaged([Element].self) }

  /// Explains what elements an array can have.
  @available(
    *, unavailable,
    message: """
      An array is an attribute if its elements are Codable. A relationship to several objects is ToMany, or \
      OrderedToMany if their order is to be kept: write ToMany<Issue> instead of [Issue].
      """
  )
  public final func _get<Element>(_ slot: Int) -> [Element]? { stopUnmanaged([Element].self) }

  /// Explains how a struct becomes a composite attribute.
  @available(*, unavailable, message: "A composite attribute must be marked @Attribute(.composite).")
  public final func _get<C: CompositeAttributeValue>(_ slot: Int) -> C { stopUnmanaged(C.self) }

  /// Explains how a struct becomes a composite attribute.
  @available(*, unavailable, message: "A composite attribute must be marked @Attribute(.composite).")
  public final func _get<C: CompositeAttributeValue>(_ slot: Int) -> C? { stopUnmanaged(C.self) }

  /// Accepts any other type, because the compiler already reports the getter.
  @_disfavoredOverload
  public final func _set<Other>(_ slot: Int, _ value: Other) { stopUnmanaged(Other.self) }

  private func stopUnmanaged(_ type: Any.Type) -> Never { stop("No property can have the type \(type).") }
}

// The value that an accessor of a required attribute returns if no value is stored.
//
// A correct program can read such an attribute. For example, another context deleted the object
// before it was read, the container is closed, or another version of the type wrote the stored
// JSON. Such a read must not stop the program.
//
//   1. An attribute whose type is an `AttributeValue` reads as the type's `zeroValue`.
//   2. Exception: a `CodableAttributeValue` reads as the initial value in the model. If the model
//      has none, it reads as the initial value that the class declares. If the class declares none,
//      it reads as the type's `zeroValue`. An element of a composite reads as the initial value
//      that the composite type declares, or as `zeroValue`; the model is not used.
//   3. A required `CodableAttributeValue` without an initial value needs a `zeroValue`. The
//      description of the class evaluates `zeroValue`. If the type does not define it, the program
//      stops there, whatever a store contains.
//   4. An array or a dictionary reads as empty. A composite reads as a composite without elements.
//   5. An attribute of any other type must be optional, or transient with a default. The compiler
//      rejects other declarations.

internal import PerdureModel
internal import PerdurePredicates

extension ManagedObject {
  /// The value that is returned for a required attribute without a stored value.
  @inline(never)
  func absentValue<T: AttributeValue>(_ slot: Int) -> T {
    guard T.self is any CodableAttributeValue.Type else { return T.zeroValue }
    return T(attributeValue: shape.template[slot]) ?? type(of: self).absentValue(shape.propertyName(slot))
  }

  /// The same value for a snapshot. A snapshot has no model, so the declared initial value is used.
  static func absentValue<T: AttributeValue>(_ name: String) -> T {
    guard T.self is any CodableAttributeValue.Type else { return T.zeroValue }
    return declaredDefault(name).flatMap(T.init(attributeValue:)) ?? T.zeroValue
  }

  /// The initial value that the class, or a class that it inherits from, declares.
  private static func declaredDefault(_ name: String) -> Value? {
    var next: AnyClass? = self
    while let type = next as? ManagedObject.Type {
      if let value = type.entityDescription.properties.defaultValue(of: name) { return value }
      next = _getSuperclass(type)
    }
    return nil
  }
}

extension CompositeContent {
  /// The value that is returned for a required element without a stored value.
  func absentValue<T: AttributeValue>(_ name: String) -> T {
    guard T.self is any CodableAttributeValue.Type, let reader = reader as? any CompositeAttributeValue.Type
    else { return T.zeroValue }
    let value = reader.compositeElements.defaultValue(of: name)
    return value.flatMap(T.init(attributeValue:)) ?? T.zeroValue
  }
}

extension CompositeAttributeValue {
  /// Makes the value from stored elements.
  init(reading content: CompositeContent) {
    var content = content
    content.reader = Self.self
    self.init(compositeContent: content)
  }
}

extension [PropertyDescription] {
  /// The initial value of an attribute; nil if it has none.
  fileprivate func defaultValue(of name: String) -> Value? {
    for case .attribute(let attribute) in self where attribute.name == name {
      return attribute.defaultValue?.value
    }
    return nil
  }
}

/// Checks that a required attribute can be read without a value (3).
enum RequiredAttribute {
  /// The name of the attribute that is being described, for the message.
  @TaskLocal static var name: String?

  /// Stops the program if the attribute has no initial value and its type has no `zeroValue`.
  static func check<T: AttributeValue>(_ name: String, _ type: T.Type, default value: T?) {
    guard value == nil, type is any CodableAttributeValue.Type else { return }
    $name.withValue(name) { _ = T.zeroValue }
  }
}

// Access to composite attributes by name, as dictionaries of their elements. Only the leaves of a
// composite attribute have slots.

internal import PerdureModel
internal import PerdurePredicates

extension ManagedObject {
  /// The value of a composite as nested dictionaries; nil if none of its leaves has a value.
  func compositeValue(_ composite: CompositeSchema, _ leaf: (Int) -> Any?) -> [String: Any?]? {
    var values: [String: Any?] = [:]
    var isAbsent = true
    for element in composite.elements {
      let value: Any? = element.isLeaf ? leaf(element.slots.lowerBound) : inner(composite, element, leaf)
      if value != nil { isAbsent = false }
      values.updateValue(value, forKey: element.name)
    }
    return isAbsent ? nil : values
  }

  private func inner(
    _ composite: CompositeSchema, _ element: CompositeSchema.Element, _ leaf: (Int) -> Any?
  ) -> [String: Any?]? {
    shape.schema.composite(named: "\(composite.name).\(element.name)").flatMap { compositeValue($0, leaf) }
  }

  /// The leaves of a composite with their new values. `value` consists of nested dictionaries, is a
  /// value of the composite's type, or is nil. Any other value, or an unknown element, stops the
  /// program.
  func leaves(of value: Any?, _ composite: CompositeSchema) -> [(slot: Int, value: Any?)] {
    let values = elements(value, composite)
    let names = Set(composite.elements.map(\.name))
    if let unknown = values.keys.filter({ !names.contains($0) }).min() {
      stop(
        "\(shape.name).\(composite.name) has no element \"\(unknown)\"."
          + NearMisses.question(unknown, in: names))
    }
    return composite.elements.flatMap { element -> [(slot: Int, value: Any?)] in
      let value = values[element.name] ?? nil
      if element.isLeaf { return [(element.slots.lowerBound, value)] }
      let inner = shape.schema.composite(named: "\(composite.name).\(element.name)")
      return inner.map { leaves(of: value, $0) } ?? []
    }
  }

  /// Whether a value has only elements of a composite. The values of the leaves are not checked.
  func canHold(_ value: Any, _ composite: CompositeSchema) -> Bool {
    if let value = value as? any CompositeAttributeValue {
      return canHold(value.compositeContent.dictionary, composite)
    }
    guard let values = value as? [String: Any?],
      Set(values.keys).isSubset(of: composite.elements.map(\.name))
    else { return false }
    return composite.elements.allSatisfy { element in
      let inner = shape.schema.composite(named: "\(composite.name).\(element.name)")
      guard let inner, let value = KeyedValue.present(values[element.name] ?? nil) else { return true }
      return canHold(value, inner)
    }
  }

  private func elements(_ value: Any?, _ composite: CompositeSchema) -> [String: Any?] {
    switch KeyedValue.present(value) {
    case nil: [:]
    case let values as [String: Any?]: values
    case let value as any CompositeAttributeValue: value.compositeContent.dictionary
    case .some(let value):
      stop(
        "\(shape.name).\(composite.name) is a composite attribute and cannot hold a \(type(of: value)). Set a "
          + "dictionary of its elements, or a value of its type.")
    }
  }

  /// The name under which a change of a slot is reported: the name of the composite with this leaf,
  /// or the name of the property.
  func changedName(_ slot: Int) -> String {
    shape.schema.composites.first { $0.slots.contains(slot) }?.name ?? shape.propertyName(slot)
  }
}

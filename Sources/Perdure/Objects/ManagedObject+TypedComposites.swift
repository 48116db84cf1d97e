// Composite attributes as values of the types that classes declare for them.
//
//   TC1. A type may lack variables for some stored leaves, because another version of the
//        program may have saved them. So a leaf stays unchanged if the type shows the same value
//        for it before and after. For example, `value.part = …` changes no leaf outside of `part`.
//        A leaf is removed with the whole composite, and with a removed composite around it.
//        Setting a composite to equal values marks the object as updated, as for any attribute.
//   TC2. If a type's content names an element that does not exist, the program stops. Otherwise the
//        value is lost without a message.

internal import PerdureModel
internal import PerdurePredicates

extension ManagedObject {
  /// Reads a composite attribute; nil if it has no value. For generated code.
  public final func _composite<C: CompositeAttributeValue>(_ slot: Int, _ type: C?.Type) -> C? {
    let content = compositeContent(slot)
    return content.isEmpty ? nil : C(reading: content)
  }

  /// Reads a composite attribute; without a value its elements read as absent. For generated code.
  public final func _composite<C: CompositeAttributeValue>(_ slot: Int, _ type: C.Type) -> C {
    C(reading: compositeContent(slot))
  }

  /// Changes a whole composite attribute; nil removes its value. For generated code.
  public final func _setComposite<C: CompositeAttributeValue>(_ slot: Int, _ value: C?) {
    let composite = typedComposite(slot)
    guard let new = value?.compositeContent.values else {
      for slot in composite.slots { setAttributeValue(.null, slot) }
      return
    }
    checkElements(new, composite)
    let old = compositeContent(slot)
    let shown = old.isEmpty ? [:] : C(reading: old).compositeContent.values
    let changed = composite.slots.filter { slot in
      let name = name(slot, in: composite)
      guard shown[name] == new[name] else { return true }
      // A leaf without a value reads as a zero or a default, which is stored now.
      if old.values[name] == nil { return new[name] != nil }
      return new[name] == nil && isRemovedWithParent(slot, composite, shown, new)
    }
    for slot in changed { setAttributeValue(new[name(slot, in: composite)] ?? .null, slot) }
    if changed.isEmpty {
      let slot = composite.slots.lowerBound
      setAttributeValue(attributeValue(slot), slot)
    }
  }

  /// Whether a composite around a leaf had a visible value and has none now (TC1).
  private func isRemovedWithParent(
    _ slot: Int, _ whole: CompositeSchema, _ shown: [String: Value], _ new: [String: Value]
  ) -> Bool {
    shape.schema.composites.contains { around in
      around.slots.contains(slot) && around.slots.contains { shown[name($0, in: whole)] != nil }
        && !around.slots.contains { new[name($0, in: whole)] != nil }
    }
  }

  /// Stops the program if a type's content names an element that does not exist (TC2).
  private func checkElements(_ values: [String: Value], _ composite: CompositeSchema) {
    if composite.slots.count(where: { values[name($0, in: composite)] != nil }) == values.count { return }
    let names = Set(composite.slots.map { name($0, in: composite) })
    let unknown = values.keys.filter { !names.contains($0) }.min() ?? ""
    stop(
      "The compositeContent of a value for \(shape.name).\(composite.name) names \"\(unknown)\", which is not an "
        + "element. Its elements are \(names.sorted().joined(separator: ", ")).\(NearMisses.question(unknown, in: names))"
    )
  }

  private func compositeContent(_ slot: Int) -> CompositeContent {
    core.checkOwner()
    checkSlot(slot)
    let composite = typedComposite(slot)
    var content = CompositeContent()
    for slot in composite.slots {
      let value = attributeValue(slot)
      if !value.isNull { content.values[name(slot, in: composite)] = value }
    }
    return content
  }

  /// The path of a leaf within a composite.
  private func name(_ slot: Int, in composite: CompositeSchema) -> String {
    String(shape.propertyName(slot).dropFirst(composite.name.count + 1))
  }

  /// The composite attribute whose leaves begin at a slot.
  private func typedComposite(_ slot: Int) -> CompositeSchema {
    guard
      let composite = shape.schema.composites.first(where: { $0.slots.lowerBound == slot && $0.depth == 0 })
    else { stop("\(shape.name) has no composite attribute in slot \(slot).") }
    return composite
  }
}

// MARK: - Leaves by name

extension ManagedObject {
  /// The value of a leaf from the class's variable for the composite; nil if there is no variable
  /// for the leaf. `.some(nil)` if the leaf has no value.
  func typedLeaf(_ slot: Int) -> Any?? {
    guard let composite = shape.schema.composites.first(where: { $0.slots.contains(slot) })
    else { return nil }
    let table = type(of: self)._propertyNamesByKeyPath
    guard let keyPath = table.first(where: { $0.value == composite.name })?.key else { return nil }
    var value = Self.unwrapped(self[keyPath: keyPath])
    for part in name(slot, in: composite).split(separator: ".") {
      guard let whole = value as? any CompositeAttributeValue else { return .some(nil) }
      guard let found = whole.part(String(part)) else { return nil }
      value = found
    }
    return .some(value)
  }

  /// The value in an optional, or the value itself if it is not an optional.
  static func unwrapped(_ value: Any?) -> Any? {
    guard let value else { return nil }
    if let optional = value as? any AnyOptional { return optional.unwrapped }
    return value
  }
}

extension CompositeAttributeValue {
  /// The value of the variable for an element; nil if there is no such variable.
  fileprivate func part(_ name: String) -> Any?? {
    guard let keyPath = Self.compositeNames.first(where: { $0.value == name })?.key,
      let value = self[keyPath: keyPath]
    else { return nil }
    return .some(ManagedObject.unwrapped(value))
  }
}

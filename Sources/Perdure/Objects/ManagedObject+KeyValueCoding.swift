// Reads and changes of properties by name.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ManagedObject {
  /// The value of the property called `key`.
  ///
  /// The type of the value depends on the property:
  ///
  /// | property | value |
  /// |---|---|
  /// | an attribute | its Swift value, an `Int` for 64 bits; nil without a value |
  /// | a transient attribute of undefined type | the value that was set, or nil |
  /// | a transformable attribute | a new result of its transformer or class for each call |
  /// | an array or dictionary | the collection, decoded for each call |
  /// | a composite attribute | `[String: Any?]`; nil if no element has a value |
  /// | a to-one relationship | the object or nil |
  /// | a to-many relationship | `Set<ManagedObject>`; `[ManagedObject]` if it is ordered |
  /// | a fetched property | `[ManagedObject]` |
  ///
  /// The Swift values are `Int16`, `Int32`, `Int`, `Bool`, `Float`, `Double`, `Decimal`, `String`,
  /// `Date`, `UUID`, `Data`, `URL` and `ManagedObjectID`. The key of an element of a composite
  /// attribute is its path: `address.street`.
  ///
  /// If the class implements accessors for an attribute (`@Attribute` of a computed variable), the
  /// getter is called. Its value is returned in the form of the table.
  ///
  /// - Parameter key: The name of a property of the entity. An unknown name stops the program;
  ///   `checkedValue(forKey:)` throws instead.
  /// - Complexity: O(1); O(n) for a relationship to n objects, or for a value that is decoded from
  ///   n bytes. Reads the row if it is not loaded. A fetched property may run its fetch.
  public func value(forKey key: String) -> Any? {
    if let slot = customSlot(key) { return customValue(slot) }
    return storedValue(forKey: key)
  }

  /// The value of a property, without calling accessors that the class implements.
  func storedValue(forKey key: String) -> Any? {
    if let composite = shape.composite(named: key) {
      return compositeValue(composite) { value(forKey: shape.propertyName($0)) }
    }
    if let reads = core.reading.retirement.probedReads {
      reads.noteName()
      // `probedReads` records the reads of a key path that is probed (KeyPathProbe.swift). If the
      // class has no entity, the object of the probe has an entity without properties.
      if shape.schema.slot(named: key) == nil { return nil }
    }
    if let objects = fetchedValue(key) { return objects }
    return value(ofSlot: shape.slot(named: key))
  }

  /// The value of the property called `key`, for a name from outside of the program; see
  /// `value(forKey:)`.
  ///
  /// - Throws: `PerdureError.Code.unknownKey`, 139001, if the entity has no such property. Error
  ///   1550 if the stored bytes are not the JSON of the property's type, or if the property's
  ///   transformer rejects them.
  public func checkedValue(forKey key: String) throws(PerdureError) -> Any? {
    try KeyedProblem.throwing { () throws(KeyedProblem) -> Any? in try keyedValue(key) }
  }

  /// - Parameter isChecked: Whether stored bytes that cannot be decoded are an error. Otherwise
  ///   the result is that of `value(forKey:)`.
  func keyedValue(_ key: String, isChecked: Bool = true) throws(KeyedProblem) -> Any? {
    guard shape.composite(named: key) == nil, customSlot(key) == nil else { return value(forKey: key) }
    if let objects = fetchedValue(key) { return objects }
    let slot = try knownSlot(key)
    guard isChecked, shape.transformableSlots.contains(slot), case .data(let data) = attributeValue(slot)
    else {
      return value(forKey: key)
    }
    return try decoded(data, slot) ?? value(forKey: key)
  }

  /// The value of a transformable attribute, decoded by its transformer, or as its collection or
  /// Codable type. Nil if the attribute has neither a transformer nor such a type.
  private func decoded(_ data: Data, _ slot: Int) throws(KeyedProblem) -> Any? {
    if let transformer = shape.transformers[slot] {
      do { return try transformer.value(from: data) } catch {
        throw undecodable(data, slot, "that its transformer rejects")
      }
    }
    let type: Any.Type
    if let collection = collectionType(slot) {
      if let value = collection.init(storedValue: .data(data)) { return value }
      type = collection
    } else if let codable = shape.valueTypes[slot] as? any CodableAttributeValue.Type {
      if let value = codable.init(attributeValue: .data(data)) { return value }
      type = codable
    } else {
      return nil
    }
    throw undecodable(data, slot, "that are not the JSON of a \(type)")
  }

  private func undecodable(_ data: Data, _ slot: Int, _ why: String) -> KeyedProblem {
    .unfit(
      PerdureError.Detail(
        code: .validation, objectID: objectID, property: shape.propertyName(slot), value: .data(data),
        rule: "holds bytes \(why). Set it to replace them"))
  }

  private func value(ofSlot slot: Int) -> Any? {
    switch shape.properties[slot] {
    case .attribute(.data, _) where shape.transformableSlots.contains(slot): return transformedValue(slot)
    case .attribute(let kind, _): return attributeValue(slot).swiftValue(of: kind)
    case .count: return attributeValue(slot).swiftValue(of: .int64)
    case .derived where shape.transformableSlots.contains(slot): return transformedValue(slot)
    case .derived(let derived): return attributeValue(slot).swiftValue(of: derived.kind)
    case .transient(.undefined, _): return transientObject(slot)
    case .transient(.transformable, _): return transformedValue(slot)
    case .transient(let type, _): return attributeValue(slot).swiftValue(of: FieldKind(type))
    case .relationship(let relationship):
      if let reads = core.reading.retirement.probedReads, relationship.isToMany {
        let objects = reads.related(slot, of: self).map { [$0] } ?? []
        return relationship.order != nil ? objects : Set(objects)
      }
      if relationship.order != nil { return Array(OrderedToMany<ManagedObject>(self, slot)) }
      return relationship.isToMany ? Set(ToMany<ManagedObject>(self, slot)) : related(slot)
    }
  }

  /// Changes the property called `key`, as its accessor does.
  ///
  /// An attribute accepts a number of any type if it can hold the number exactly. An `Int16`
  /// attribute accepts 5.0, and a decimal attribute accepts the Double 9.99 as 9.99. Exception: a
  /// `Float` attribute rounds a Double. Instances of `NSNumber`, `NSString` and similar classes are
  /// accepted too, and `NSNull` for nil.
  ///
  /// If the class implements accessors for an attribute, the setter is called. If the variable
  /// is not optional, nil removes the value without the setter.
  ///
  /// If the property cannot hold the value, it keeps its old value. The next
  /// `ManagedObjectContext.save()` then throws an error about the refused value;
  /// `setCheckedValue(_:forKey:)` throws immediately.
  ///
  /// - Parameter value: For an attribute, a value that its type can hold, or nil. For a to-one
  ///   relationship, an object or nil. For a to-many relationship, a sequence of objects, such as
  ///   another relationship's live view. For a composite attribute, a nested dictionary or a value
  ///   of its type; elements that are missing lose their values.
  /// - Parameter key: The name of a property of the entity that is neither derived nor set by
  ///   saves. Any other name stops the program. An object of another context as `value` stops it
  ///   too.
  /// - Complexity: O(1); O(n) for a relationship with n objects.
  public func setValue(_ value: Any?, forKey key: String) {
    do throws(KeyedProblem) {
      for change in try changes(value, key) { change() }
    } catch {
      error.refuse(in: core.pending)
    }
  }

  /// Changes the property called `key`, for names and values that come from outside of the program;
  /// see `setValue(_:forKey:)`.
  ///
  /// - Throws: `PerdureError`; then nothing has changed. 1550 with `details` if the property cannot
  ///   hold the value, or if the property's type or its transformer does not accept it. 1550 also
  ///   if an object is of another entity. `PerdureError.Code.unknownKey`, 139001, if the entity has
  ///   no such property, the property is derived or set by saves, or an object belongs to another
  ///   context.
  public func setCheckedValue(_ value: Any?, forKey key: String) throws(PerdureError) {
    let found = try KeyedProblem.throwing { () throws(KeyedProblem) -> [() -> Void] in
      try checkedChanges(value, key)
    }
    for change in found { change() }
  }

  /// Changes several properties, or none of them if it throws. The values can be the members of a
  /// decoded JSON object.
  ///
  /// - Parameter values: The values by the names of the properties.
  /// - Throws: As `setCheckedValue(_:forKey:)`, for the alphabetically first name whose value
  ///   cannot be set. After an error, nothing has changed.
  /// - Complexity: O(n log n) for n names.
  public func setCheckedValues(_ values: [String: Any?]) throws(PerdureError) {
    var all: [() -> Void] = []
    for (key, value) in values.sorted(by: { $0.key < $1.key }) {
      all += try KeyedProblem.throwing { () throws(KeyedProblem) -> [() -> Void] in
        try checkedChanges(value, key)
      }
    }
    for change in all { change() }
  }

  /// The property called `key`; see `value(forKey:)` and `setValue(_:forKey:)`.
  public subscript(key: String) -> Any? {
    get { value(forKey: key) }
    set { setValue(newValue, forKey: key) }
  }

  /// The stored value of the property called `key`, in the form of `value(forKey:)`, without
  /// calling an accessor of the class.
  public func primitiveValue(forKey key: String) -> Any? { storedValue(forKey: key) }

  /// Changes an attribute without marking the object as changed and without calling hooks. A
  /// transient attribute keeps the value as if its accessor had set it.
  ///
  /// If the object has unsaved changes of any kind, the value of a stored attribute is saved and
  /// rolled back with them. Otherwise only this instance has the value, and fetches do not find it.
  /// The value is saved when another attribute of the object is saved. It is lost when the object
  /// becomes a fault or its row is read again. A relationship has two ends and is set only with
  /// `setValue(_:forKey:)`.
  ///
  /// - Parameter value: As for `setValue(_:forKey:)`.
  /// - Parameter key: The name of an attribute that is neither derived nor set by saves. Any other
  ///   name stops the program.
  public func setPrimitiveValue(_ value: Any?, forKey key: String) {
    do throws(KeyedProblem) {
      var changes: [() -> Void] = []
      for (slot, leaf) in try settable(value, key) { changes.append(try primitiveChange(leaf, slot)) }
      for change in changes { change() }
    } catch {
      error.refuse(in: core.pending)
    }
  }
}

// MARK: - From names and values to changes

extension ManagedObject {
  /// The changes that set a property. Throws, without a change, if one of them is not possible.
  func changes(_ value: Any?, _ key: String) throws(KeyedProblem) -> [() -> Void] {
    var changes: [() -> Void] = []
    for (slot, leaf) in try settable(value, key) {
      let isCustom = shape.customSlots.contains(slot)
      changes.append(isCustom ? try customChange(leaf, slot) : try change(leaf, slot))
    }
    return changes
  }

  /// A change that calls the class's own setter of an attribute. If the setter's variable cannot
  /// hold the value, the change sets the stored value instead.
  private func customChange(_ leaf: Any?, _ slot: Int) throws(KeyedProblem) -> () -> Void {
    let stored = try change(leaf, slot)
    let content: _CustomValue.Content
    if case .transient(.undefined, _) = shape.properties[slot] {
      content = .object(try untyped(leaf, slot))
    } else {
      content = .value(graph.shown(try kept(leaf, slot)))
    }
    return { if !self.setCustomValue(content, slot) { stored() } }
  }

  /// The changes that set a property to a value from outside of the program. The class's type of
  /// the property, or its transformer, must accept the value.
  func checkedChanges(_ value: Any?, _ key: String) throws(KeyedProblem) -> [() -> Void] {
    for (slot, leaf) in try settable(value, key) {
      guard let leaf = KeyedValue.present(leaf), let why = objection(to: leaf, slot) else { continue }
      throw .unfit(self, shape.propertyName(slot), leaf, why)
    }
    return try changes(value, key)
  }

  /// The reason why a read cannot return a value as the property's type, although the attribute can
  /// store the value. Nil if a read can return the value, or if the attribute cannot store it.
  private func objection(to leaf: Any, _ slot: Int) -> String? {
    switch shape.properties[slot] {
    case .transient(.undefined, _), .count, .derived, .relationship: return nil
    case .attribute, .transient: break
    }
    guard let held = held(leaf, slot) else { return nil }
    if let problem = held.transformationProblem { return ": it has no stored form (\(problem))" }
    guard shape.transformers[slot] == nil, let type = shape.valueTypes[slot] as? any AttributeValue.Type,
      type.init(attributeValue: graph.shown(held)) == nil
    else { return nil }
    return ": \(type) has no such value"
  }

  private func primitiveChange(_ leaf: Any?, _ slot: Int) throws(KeyedProblem) -> () -> Void {
    if case .transient(.undefined, _) = shape.properties[slot] {
      let object = try untyped(leaf, slot)
      return { [self] in setPrimitiveObject(object, slot) }
    }
    let kept = try kept(leaf, slot)
    return { [self] in setPrimitiveAttributeValue(kept, slot) }
  }

  private func change(_ value: Any?, _ slot: Int) throws(KeyedProblem) -> () -> Void {
    if case .transient(.undefined, _) = shape.properties[slot] {
      let object = try untyped(value, slot)
      return { self.setTransientObject(object, slot) }
    }
    guard case .relationship(let relationship) = shape.properties[slot] else {
      let kept = try kept(value, slot)
      return { self.setAttributeValue(kept, slot) }
    }
    let value = KeyedValue.present(value)
    if relationship.isToMany {
      let objects = try objects(value, relationship)
      if relationship.order != nil {
        return { OrderedToMany<ManagedObject>(self, slot).replace(with: objects) }
      }
      return { ToMany<ManagedObject>(self, slot).replace(with: objects) }
    }
    let object = try value.map { value throws(KeyedProblem) in try self.object(value, relationship) }
    return { self.setRelated(object, slot) }
  }

  /// The slots of the property called `key`, with their new values.
  private func settable(_ value: Any?, _ key: String) throws(KeyedProblem) -> [(slot: Int, value: Any?)] {
    guard let composite = shape.composite(named: key) else { return [(try knownSlot(key), value)] }
    guard let value = KeyedValue.present(value) else { return leaves(of: nil, composite) }
    guard canHold(value, composite) else {
      let names = composite.elements.map(\.name).joined(separator: ", ")
      throw .unfit(self, key, value, ": it is a composite attribute with the elements \(names)")
    }
    return leaves(of: value, composite)
  }

  private func knownSlot(_ key: String) throws(KeyedProblem) -> Int {
    guard let slot = shape.schema.slot(named: key) else { throw .mistake(shape.complaint(about: key)) }
    return slot
  }

  /// The value for a transient attribute of undefined type. If the class declares the type of the
  /// property, the value must be of that type.
  private func untyped(_ value: Any?, _ slot: Int) throws(KeyedProblem) -> Any? {
    guard let value = KeyedValue.present(value) else { return nil }
    guard let type = shape.valueTypes[slot] else { return value }
    if let object = KeyedValue.cast(value, to: type) { return object }
    throw .unfit(self, shape.propertyName(slot), value, ": it holds \(type)")
  }

  /// The value in the form of the attribute.
  private func kept(_ value: Any?, _ slot: Int) throws(KeyedProblem) -> Value {
    let name = shape.propertyName(slot)
    switch shape.properties[slot] {
    case .attribute where shape.saveTimeSlots.contains(slot):
      throw .mistake(shape.saveTimeComplaint(slot))
    case .attribute, .transient: break
    case .count, .derived: throw .mistake("\(shape.name).\(name) cannot be set: it is derived.")
    case .relationship:
      throw .mistake("\(shape.name).\(name) is a relationship: set it with setValue(_:forKey:).")
    }
    guard let value = KeyedValue.present(value) else { return .null }
    if let held = held(value, slot) { return held }
    throw .unfit(self, name, value, unfitness(of: value, slot))
  }

  /// The reason why an attribute cannot hold a value, to be added after the value's type.
  private func unfitness(of value: Any, _ slot: Int) -> String {
    let kind: FieldKind? =
      switch shape.properties[slot] {
      case .attribute(let kind, _) where !shape.transformableSlots.contains(slot): kind
      case .transient(let type, _) where type != .transformable: FieldKind(type)
      default: nil
      }
    guard let kind else { return ": its transformer does not accept the value" }
    if let content = KeyedValue.content(of: value), kind.mayEqual(content) {
      return ": the value does not fit the type of the attribute"
    }
    return ": it holds \(kind.words)"
  }

  private func object(_ value: Any, _ relationship: RelationshipShape) throws(KeyedProblem) -> ManagedObject {
    guard let object = value as? ManagedObject else {
      throw .unfit(self, relationship.name, value, ": it leads to an object")
    }
    if object.core !== core {
      throw .mistake("\(shape.name).\(relationship.name): objects of different contexts cannot be connected.")
    }
    let destination = graph.shape(numbered: relationship.destination)
    guard graph.isKind(object.reference.entityNumber, of: relationship.destination) else {
      throw .unfit(self, relationship.name, value, ": it leads to \(destination.name)")
    }
    return object
  }

  private var graph: GraphSchema { core.graph }

  private func objects(
    _ value: Any?, _ relationship: RelationshipShape
  ) throws(KeyedProblem) -> [ManagedObject] {
    guard let value else { return [] }
    guard let elements = value as? any Sequence, Self.canHaveObjects(elements) else {
      throw .unfit(self, relationship.name, value, ": it leads to several objects")
    }
    var objects: [ManagedObject] = []
    for element in Self.elements(elements) { objects.append(try object(element, relationship)) }
    return objects
  }

  private static func elements(_ sequence: some Sequence) -> [Any] { sequence.map { $0 as Any } }

  /// Whether the elements of a sequence may be objects. Without this check, an empty text or empty
  /// data counts as an empty list of objects.
  private static func canHaveObjects<S: Sequence>(_ sequence: S) -> Bool {
    let element = S.Element.self
    if element is ManagedObject.Type || element is ManagedObject?.Type { return true }
    return element == Any.self || element == AnyObject.self || element == AnyHashable.self
  }
}

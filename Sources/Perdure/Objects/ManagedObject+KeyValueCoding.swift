// Properties by name.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ManagedObject {
  /// The value of the property called `key`.
  ///
  /// An attribute gives its Swift value (`Int16`, `Int32`, `Int64`, `Bool`, `Float`, `Double`, `Decimal`,
  /// `String`, `Date`, `UUID`, `Data`, `URL`, `ManagedObjectID`), nil when it has none; a to-one relationship the object or
  /// nil; a to-many relationship a `Set<ManagedObject>`, an ordered one a `[ManagedObject]`; a transient attribute of the type undefined what was set,
  /// or nil; a transformable attribute what its transformer or its class makes of the bytes, each time anew. The entity
  /// must have such a property.
  ///
  /// A composite attribute gives a dictionary of its elements, `[String: Any?]`, nil when none of them has a value. A part
  /// of it has its path as key: `address.street`.
  public func value(forKey key: String) -> Any? {
    if let composite = shape.composite(named: key) {
      return compositeValue(composite) { value(forKey: shape.propertyName($0)) }
    }
    let slot = shape.slot(named: key)
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
      if relationship.order != nil { return Array(OrderedToMany<ManagedObject>(self, slot)) }
      return relationship.isToMany ? Set(ToMany<ManagedObject>(self, slot)) : related(slot)
    }
  }

  /// Changes the property called `key`, as its accessor would.
  ///
  /// - Parameter value: For an attribute a value that its type can hold, or nil; for a to-one relationship
  ///   an object or nil; for a to-many relationship a `Set` or array of objects; for a composite attribute a dictionary,
  ///   nested as it is, or a value of its type: elements that are missing lose their values. Anything else is a mistake of
  ///   the caller.
  public func setValue(_ value: Any?, forKey key: String) {
    if let composite = shape.composite(named: key) {
      return setCompositeValue(value, composite) { setValue($0, forKey: shape.propertyName($1)) }
    }
    let slot = shape.slot(named: key)
    if case .transient(.undefined, _) = shape.properties[slot] { return setTransientObject(value, slot) }
    guard case .relationship(let relationship) = shape.properties[slot] else {
      setAttributeValue(transformed(value, slot) ?? Self.attributeValue(value, key), slot)
      return
    }
    if relationship.order != nil {
      OrderedToMany<ManagedObject>(self, slot).replace(with: Self.objects(value, key))
    } else if relationship.isToMany {
      ToMany<ManagedObject>(self, slot).replace(with: Self.objects(value, key))
    } else {
      setRelated(Self.object(value, key), slot)
    }
  }

  /// The property called `key`; see `value(forKey:)` and `setValue(_:forKey:)`.
  public subscript(key: String) -> Any? {
    get { value(forKey: key) }
    set { setValue(newValue, forKey: key) }
  }

  /// The value of the property called `key`, as `value(forKey:)` gives it.
  public func primitiveValue(forKey key: String) -> Any? { value(forKey: key) }

  /// Gives an attribute a value without telling anybody: the object does not count as changed, no hook is called
  /// again for it. Of a transient attribute it is the value, as if it had been set.
  ///
  /// If the object has unsaved changes, of whatever kind, the value is saved and rolled back with them. Otherwise it is
  /// this instance's alone: fetches do not find it, it is saved when another attribute of the object is, and it is gone
  /// with the row, when the object becomes a fault or its row is read anew. A relationship has two ends and
  /// is set with `setValue(_:forKey:)` only.
  ///
  /// - Parameter value: A value that the attribute's type can hold, or nil. Anything else, and a property that is no
  ///   stored attribute, is a mistake of the caller.
  public func setPrimitiveValue(_ value: Any?, forKey key: String) {
    if let composite = shape.composite(named: key) {
      return setCompositeValue(value, composite) { setPrimitiveValue($0, forKey: shape.propertyName($1)) }
    }
    let slot = shape.slot(named: key)
    if case .transient(.undefined, _) = shape.properties[slot] {
      core.checkOwner()
      if !header.pointee.isGone { hold(value.map { .object($0) } ?? .value(.null), slot) }
    } else {
      setPrimitiveAttributeValue(transformed(value, slot) ?? Self.attributeValue(value, key), slot)
    }
  }

  private static func attributeValue(_ value: Any?, _ key: String) -> Value {
    guard let value else { return .null }
    guard let argument = value as? any PredicateArgument else {
      stop("A \(type(of: value)) cannot be the value of the attribute \"\(key)\".")
    }
    return argument.predicateValue
  }

  private static func object(_ value: Any?, _ key: String) -> ManagedObject? {
    guard let value else { return nil }
    if let object = value as? ManagedObject { return object }
    if let optional = value as? ManagedObject?, optional == nil { return nil }
    stop("A \(type(of: value)) cannot be the object of \"\(key)\".")
  }

  private static func objects(_ value: Any?, _ key: String) -> [ManagedObject] {
    switch value {
    case nil: return []
    case let objects as Set<ManagedObject>: return Array(objects)
    case let objects as [ManagedObject]: return objects
    case .some(let value): stop("A \(type(of: value)) cannot be the objects of \"\(key)\".")
    }
  }
}

extension Value {
  /// The value in the Swift type of a field, nil for null.
  func swiftValue(of kind: FieldKind) -> Any? {
    switch self {
    case .null, .reference, .list: nil
    case .objectID(let text): ManagedObjectID(uri: text)
    case .bool(let bool): bool
    case .integer(let integer):
      switch kind {
      case .int16: Int16(truncatingIfNeeded: integer)
      case .int32: Int32(truncatingIfNeeded: integer)
      default: integer
      }
    case .double(let double): kind == .float ? Float(double) as Any : double
    case .decimal(let decimal): decimal
    case .string(let text): text
    case .date(let date): date
    case .uuid(let uuid): uuid
    case .data(let data): data
    case .url(let url): url
    }
  }
}

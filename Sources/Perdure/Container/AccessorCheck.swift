// Compares the accessors of a class with the properties of its entity, when a store is loaded.
//
// A class lists its accessors in `_propertyNamesByKeyPath`: each key path has the name of a
// property and the type of the variable. Macros and generated code write the list.
//
//   1. Each name is a property of the entity.
//   2. A variable has the type of its attribute. The class may declare the variable as optional or
//      not. A variable that is not optional returns the zero of its type if there is no value.
//   3. A `Double` variable may represent a date, as seconds since the reference date.
//   4. A derived number may be read as any type of numbers.
//   5. A variable of `@Accessors` for an attribute with a value transformer is marked with
//      `.transformed(by:)`. Otherwise it reads and writes the bytes.
//   6. The variable of a to-one relationship has one object, and the variable of a to-many
//      relationship is a collection. Only an ordered relationship can be an `OrderedToMany`.

internal import PerdureModel
internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Checks the accessors of one class against the entity of its objects.
struct AccessorCheck {
  let type: ManagedObject.Type
  let schema: EntitySchema
  let model: ManagedObjectModel
  /// The names of the fetched properties, including inherited ones.
  let fetchedProperties: Set<String>

  /// The problems, one message for each wrong accessor, in the order of the names.
  var problems: [String] {
    let accessors = type._propertyNamesByKeyPath.map { (name: $0.value, keyPath: $0.key) }
    return accessors.sorted { $0.name < $1.name }.compactMap { problem($0.name, $0.keyPath) }
  }

  private func problem(_ name: String, _ keyPath: AnyKeyPath) -> String? {
    if let property = schema.property(named: name) { return problem(property, keyPath) }
    if schema.composite(named: name) != nil {
      return keyPath.plainValueType is any CompositeAttributeValue.Type
        ? nil
        : complaint(
          name, keyPath, is: "a composite attribute", fitting: "its struct, which is marked @Composite")
    }
    if fetchedProperties.contains(name) {
      return
        "\(type).\(name) is an accessor, but \(schema.name).\(name) is a fetched property, which has no accessor. Read it "
        + "with fetchedObjects(forKey:as:)."
    }
    let known = schema.properties.map(\.name) + schema.composites.map(\.name)
    return
      "\(type).\(name) is an accessor, but the entity \(schema.name) has no property \"\(name)\". Correct "
      + "the name, or add the property to the model.\(NearMisses.question(name, in: known))"
  }

  private func problem(_ property: PropertySchema, _ keyPath: AnyKeyPath) -> String? {
    switch property.kind {
    case .attribute(let attribute):
      if let complaint = unmarkedTransformation(property) { return complaint }
      if Self.canRead(property, attribute, keyPath.plainValueType) { return nil }
      return complaint(
        property.name, keyPath, is: "an attribute of the type \(attribute)", fitting: Self.swift(attribute))
    case .toOne:
      if keyPath.plainValueType is ManagedObject.Type { return nil }
      return complaint(
        property.name, keyPath, is: "a relationship to one object",
        fitting: "an optional object, such as \(destination(property))?")
    case .toMany:
      let collection = keyPath.plainValueType as? any RelationshipCollection.Type
      if let collection, property.isOrdered || !collection.isOrdered { return nil }
      let words = property.isOrdered ? ("an ordered", "OrderedToMany") : ("a", "ToMany")
      return complaint(
        property.name, keyPath, is: "\(words.0) relationship to many objects",
        fitting: "\(words.1)<\(destination(property))>")
    }
  }

  private func unmarkedTransformation(_ property: PropertySchema) -> String? {
    let name = property.name
    guard let transformer = property.transformerName, type._accessorNames.contains(name),
      !type._transformedAccessors.contains(name)
    else { return nil }
    return
      "\(type).\(name) is an accessor without .transformed(by:), but \(schema.name).\(name) has the value "
      + "transformer \(transformer). Mark the variable with @Attribute(.transformed(by: \"\(transformer)\"))."
  }

  /// An example of a class at the other end.
  private func destination(_ property: PropertySchema) -> String {
    property.destination.map { model.schemas[$0].className } ?? "Worker"
  }

  private func complaint(
    _ name: String, _ keyPath: AnyKeyPath, is what: String, fitting: String
  ) -> String {
    let plain = keyPath.plainValueType
    let mark = Swift.type(of: keyPath).valueType == plain ? "" : "?"
    return "\(type).\(name) has the type \(plain)\(mark), but \(schema.name).\(name) is \(what). "
      + "Declare it as \(fitting)."
  }

  /// Whether an accessor of a type can read and write the values of an attribute.
  private static func canRead(_ property: PropertySchema, _ type: AttributeType, _ accessor: Any.Type) -> Bool
  {
    if type == .undefined || property.transformerName != nil { return true }
    if type == .transformable, accessor is any CodableCollection.Type || accessor == Data.self { return true }
    guard let accessor = accessor as? any AttributeValue.Type else { return false }
    if accessor.attributeType == type { return true }
    if type == .date { return accessor == Double.self }
    if property.derivation != nil { return accessor.attributeType.isSummed && type.isSummed }
    return false
  }

  private static func swift(_ type: AttributeType) -> String {
    type.swiftName ?? "a type that conforms to CodableAttributeValue"
  }
}

/// The type of the variable of a to-many relationship.
private protocol RelationshipCollection {
  static var isOrdered: Bool { get }
}

extension ToMany: RelationshipCollection {
  fileprivate static var isOrdered: Bool { false }
}

extension OrderedToMany: RelationshipCollection {
  fileprivate static var isOrdered: Bool { true }
}

// Stores and reads one object of each entity of a generated model. `Scripts/check-corpus-code`
// compiles this file with the code of each model file, and with a file that defines `corpusModel`
// and `corpusClasses`.

import Foundation
import Perdure
import PerdureKeyedArchives

/// Stores texts, for the transformers that models name.
struct TextTransformer: ValueTransformer {
  func data(from value: Any) throws -> Data { Data("\(value)".utf8) }
  func value(from data: Data) throws -> Any { String(decoding: data, as: UTF8.self) }
}

/// Fills objects so that every rule holds.
final class Filling {
  let context: ManagedObjectContext
  let model: ManagedObjectModel
  private var count = 0

  init(context: ManagedObjectContext, model: ManagedObjectModel) {
    self.context = context
    self.model = model
  }

  /// Makes an object of the first entity of the model that is not abstract, and is this entity or
  /// one of its subentities.
  func object(of entity: EntityDescription, depth: Int = 0) -> ManagedObject {
    let concrete = model.entities.first { !$0.isAbstract && $0.isKind(of: entity) }
    guard let name = concrete?.name, depth < 8 else {
      fatalError("\(entity.name) has no concrete entity, or its objects require each other without end.")
    }
    let object = context.insertNewObject(forEntityName: name)
    fill(object, model.entitiesByName[name]!, depth)
    return object
  }

  private func fill(_ object: ManagedObject, _ entity: EntityDescription, _ depth: Int) {
    let unique = Set(lineage(of: entity).flatMap { $0.uniquenessConstraints.joined() })
    count += 1
    let number = count
    for property in entity.propertiesByName.values.sorted(by: { $0.name < $1.name }) {
      switch property {
      case .attribute(let attribute):
        let isUnique = unique.contains(attribute.name)
        if attribute.derivation != nil || object[attribute.name] != nil && !isUnique { continue }
        if let value = isUnique ? uniqueValue(number, for: attribute) : value(for: attribute) {
          object[attribute.name] = value
        }
      case .composite(let composite):
        for case .attribute(let element) in composite.elements where !composite.isOptional {
          let key = "\(composite.name).\(element.name)"
          if object[key] == nil, let value = value(for: element) { object[key] = value }
        }
      case .relationship(let relationship) where !relationship.isOptional:
        let destination = model.entitiesByName[relationship.destinationEntityName]!
        let count = max(1, relationship.minCount)
        if relationship.isToMany {
          let objects = (0..<count).map { _ in self.object(of: destination, depth: depth + 1) }
          object[relationship.name] = relationship.isOrdered ? objects as Any : Set(objects) as Any
        } else if object[relationship.name] == nil {
          object[relationship.name] = self.object(of: destination, depth: depth + 1)
        }
      case .relationship: break
      }
    }
  }

  private func lineage(of entity: EntityDescription) -> [EntityDescription] {
    [entity] + (entity.superentityName.flatMap { model.entitiesByName[$0] }.map(lineage) ?? [])
  }

  /// For a number, a text or a UUID, a value that no other filled object has. For other types, the
  /// usual value.
  private func uniqueValue(_ number: Int, for attribute: AttributeDescription) -> Any? {
    switch attribute.type {
    case .int16, .int32, .int64, .decimal, .double, .float: number
    case .string: "\(number)" + String(repeating: "a", count: shortest(attribute))
    default: value(for: attribute)
    }
  }

  private func value(for attribute: AttributeDescription) -> Any? {
    switch attribute.type {
    case .int16, .int32, .int64, .decimal, .double, .float: return least(attribute)
    case .string: return String(repeating: "a", count: shortest(attribute))
    case .boolean: return true
    case .date: return Date()
    case .binary: return Data(repeating: 1, count: shortest(attribute))
    case .uuid: return UUID()
    case .uri: return URL(string: "https://example.org/")
    case .transformable:
      return attribute.valueTransformerName == nil ? Data([1]) as Any : ["text"] as Any
    case .undefined, .objectID: return nil
    }
  }

  private func least(_ attribute: AttributeDescription) -> Any {
    for case .minimum(let value) in attribute.rules {
      if case .integer(let least) = value { return Int(least) }
      if case .double(let least) = value { return least }
    }
    return 1
  }

  private func shortest(_ attribute: AttributeDescription) -> Int {
    for case .minimumLength(let least) in attribute.rules { return max(1, least) }
    return 1
  }
}

@main
enum OneOfEach {
  static func main() throws {
    let model = try corpusModel()
    KeyedArchiveTransformer.register()
    for entity in model.entities {
      for case .attribute(let attribute) in entity.properties {
        guard let name = attribute.valueTransformerName, name != KeyedArchiveTransformer.name else {
          continue
        }
        ValueTransformers.register(TextTransformer(), named: name)
      }
    }
    for entity in model.entities where !entity.isAbstract { try check(entity, model) }
    print("stored and read one object of each of \(model.entities.count { !$0.isAbstract }) entities")
  }

  /// Stores an object, and reads every property of its class in another context.
  static func check(
    _ entity: EntityDescription, _ model: ManagedObjectModel
  ) throws {
    // Makes a store for each entity, so that the same values can be unique.
    let container = PersistentContainer(
      name: "Corpus", model: model, classes: corpusClasses, description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let object = Filling(context: context, model: model).object(of: entity)
    try context.save()
    let copy = try container.newContext().existingObject(with: object.objectID)
    precondition(type(of: copy) == type(of: object) && copy.entity.name == object.entity.name)
    for (keyPath, name) in type(of: copy)._propertyNamesByKeyPath {
      let value = copy[keyPath: keyPath]
      if let value = value as? any Equatable { precondition(isEqual(value, object[keyPath: keyPath]), name) }
    }
  }

  private static func isEqual<Value: Equatable>(_ value: Value, _ other: Any?) -> Bool {
    guard let other = other as? Value else { return false }
    // Objects of two contexts are never equal.
    return value is ManagedObject || value is ManagedObject? || value == other
  }
}

/// The version of a model as a 64-bit number, the same on every platform and in every run.
///
/// The hash of an entity is FNV-1a over a canonical encoding of the entity. The hash of the model
/// is FNV-1a over the names and hashes of its entities. It covers all parts of the model that
/// determine whether rows can be read.
///
/// For each entity, in the order of names, it covers the name, the superentity, and whether the
/// entity is abstract. It also covers the uniqueness constraints in the order of their texts, and
/// the hash modifier. It covers all properties in the order of names, including inherited ones.
///
/// For each property, it covers the name, whether it is optional, whether it is transient, and the
/// hash modifier. For attributes, it also covers the type and the derivation. For composites, it
/// covers all of this for their elements, in the order of names. For relationships, it covers the
/// destination, the inverse, the minimum and maximum count, and whether they are ordered.
///
/// It does not cover class names, default values, delete rules, validation rules, value
/// transformers, indexes or renaming identifiers. It also does not cover fetched properties,
/// templates, user info, version identifiers, configurations, or any order of declaration.
///
/// Modifiers, composites, transient properties and ordered relationships are in the encoding only
/// if they exist. They follow a mark that differs from every byte count. So models without them
/// keep their earlier hash.
struct ModelHash {
  private var state: UInt64 = 0xcbf2_9ce4_8422_2325

  static func hashes(
    of entities: [EntityDescription], parents: [Int?]
  ) -> (model: UInt64, byName: [String: UInt64]) {
    var all: [[PropertyDescription]] = Array(repeating: [], count: entities.count)
    for index in EntityOrder.ancestorsFirst(parents) {
      all[index] = (parents[index].map { all[$0] } ?? []) + entities[index].properties
    }
    var byName: [String: UInt64] = [:]
    for (entity, properties) in zip(entities, all) {
      var hash = ModelHash()
      hash.combine(entity, properties)
      byName[entity.name] = hash.state
    }
    var model = ModelHash()
    for (name, value) in byName.sorted(by: { Self.precedes($0.key, $1.key) }) {
      model.combine(name)
      model.combine(value)
    }
    return (model.state, byName)
  }

  /// Compares bytes, because the order of bytes does not depend on the Unicode version.
  private static func precedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }

  private mutating func combine(_ entity: EntityDescription, _ properties: [PropertyDescription]) {
    combine(entity.name)
    combine(entity.superentityName ?? "")
    combine(entity.isAbstract ? 1 : 0)
    combine(properties: properties)
    let constraints = entity.uniquenessConstraints.map { $0.joined(separator: ",") }
    combine(UInt64(constraints.count))
    for constraint in constraints.sorted(by: Self.precedes) { combine(constraint) }
    combine(modifier: entity.versionHashModifier)
  }

  private mutating func combine(properties: [PropertyDescription]) {
    combine(UInt64(properties.count))
    for property in properties.sorted(by: { Self.precedes($0.name, $1.name) }) { combine(property) }
  }

  private mutating func combine(_ property: PropertyDescription) {
    combine(property.name)
    combine(property.isOptional ? 1 : 0)
    switch property {
    case .attribute(let attribute):
      combine(UInt64(attribute.type.rawValue))
      combine(attribute.derivation ?? "")
    case .relationship(let relationship):
      combine(0)
      combine(relationship.destinationEntityName)
      combine(relationship.inverseName ?? "")
      combine(UInt64(relationship.minCount))
      combine(UInt64(relationship.maxCount))
    case .composite(let composite):
      combine(.max - 2)
      combine(properties: composite.elements)
    }
    if property.isTransient {
      combine(.max)
      combine("transient")
    }
    if case .relationship(let relationship) = property, relationship.isOrdered {
      combine(.max - 3)
      combine("ordered")
    }
    combine(modifier: property.versionHashModifier)
  }

  private mutating func combine(modifier: String?) {
    guard let modifier else { return }
    combine(.max - 1)
    combine(modifier)
  }

  private mutating func combine(byte: UInt8) {
    state = (state ^ UInt64(byte)) &* 0x100_0000_01b3
  }

  private mutating func combine(_ value: UInt64) {
    for shift in stride(from: UInt64(0), to: 64, by: 8) {
      combine(byte: UInt8(truncatingIfNeeded: value >> shift))
    }
  }

  private mutating func combine(_ text: String) {
    combine(UInt64(text.utf8.count))
    for byte in text.utf8 { combine(byte: byte) }
  }
}

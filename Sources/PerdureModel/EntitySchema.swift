package import PerdurePredicates

/// An entity in the form that the graph uses. Each property has a slot, also an inherited one.
/// Inverses are resolved, and other entities are identified by index.
///
/// Invariants:
/// 1. `properties[i].slot == i`.
/// 2. The slots of the superentity come first, in its order, then those of the entity in the order
///    of declaration. So a slot has the same property in all subentities.
/// 3. `subentities` contains every entity below this one, ascending, but not the entity itself.
package final class EntitySchema: Sendable {
  /// An index of the entity, as slots.
  package struct Index: Sendable, Hashable {
    /// The index's name, unique in the hierarchy.
    package let name: String
    /// The entity that declares the index. The index covers the objects of this entity and of its
    /// subentities.
    package let declaringEntity: Int
    /// The slots, most significant first.
    package let slots: [Int]
    /// For each slot, the function that is applied to its text; nil for the unchanged value.
    package let functions: [TextFunction?]
    /// For each slot, whether smaller values come first.
    package let isAscending: [Bool]
    /// The condition for objects in the index; nil for all objects.
    package let predicate: FetchPredicate?
  }

  /// A uniqueness constraint of the entity, as slots.
  package struct UniquenessConstraint: Sendable, Hashable {
    /// The entity that declares the constraint. The constraint covers the objects of this entity
    /// and of its subentities.
    package let declaringEntity: Int
    /// The slots, in the order of the description.
    package let slots: [Int]
  }

  /// The position in the model's `entities` and `schemas`.
  package let index: Int
  /// The entity's name.
  package let name: String
  /// The name of the Swift class of its objects.
  package let className: String
  /// Whether only subentities have objects.
  package let isAbstract: Bool
  /// The superentity's index, or nil for a root.
  package let superentity: Int?
  /// The index of the root of the hierarchy.
  package let root: Int
  /// The indices of all entities below this one.
  package let subentities: [Int]
  /// The index of the entity and those of all its ancestors, nearest first.
  package let lineage: [Int]
  /// All properties, by slot.
  package let properties: [PropertySchema]
  /// All indexes, inherited first.
  package let indexes: [Index]
  /// All uniqueness constraints, inherited first.
  package let uniquenessConstraints: [UniquenessConstraint]
  /// All composite attributes, inherited first. Each precedes the composites inside it.
  package let composites: [CompositeSchema]
  /// The names of all fetched properties. They have no slots.
  package let fetchedProperties: Set<String>
  private let slotsByName: [String: Int]
  private let compositesByName: [String: Int]

  init(_ index: Int, in model: SchemaResolution) {
    let description = model.entities[index]
    self.index = index
    name = description.name
    className = description.managedObjectClassName
    isAbstract = description.isAbstract
    superentity = model.parents[index]
    lineage = model.lineages[index]
    root = model.lineages[index].last ?? index
    subentities = model.subentities[index]
    slotsByName = model.slots[index]
    indexes = model.indexes(of: index)
    uniquenessConstraints = model.constraints(of: index)
    properties = model.properties(of: index, indexes: indexes, constraints: uniquenessConstraints)
    let declared = model.lineages[index].reversed().flatMap { model.entities[$0].properties }
    composites = CompositeSchema.all(in: declared, from: 0)
    fetchedProperties = Set(
      model.lineages[index].flatMap { model.entities[$0].fetchedProperties.map(\.name) })
    compositesByName = Dictionary(uniqueKeysWithValues: composites.enumerated().map { ($1.name, $0) })
  }

  /// The slot of the property called `name`, or nil.
  package func slot(named name: String) -> Int? { slotsByName[name] }

  /// The composite attribute with a path, or nil.
  package func composite(named path: String) -> CompositeSchema? {
    compositesByName[path].map { composites[$0] }
  }

  /// The property called `name`, or nil.
  package func property(named name: String) -> PropertySchema? { slotsByName[name].map { properties[$0] } }

  /// Whether objects of this entity are also objects of the entity at `other`.
  package func isKind(of other: Int) -> Bool { lineage.contains(other) }
}

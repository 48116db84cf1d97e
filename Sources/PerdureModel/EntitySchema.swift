package import PerdurePredicates

/// An entity as the graph uses it: inherited properties in their slots, inverses resolved, all by
/// index.
///
/// Invariants:
/// 1. `properties[i].slot == i`.
/// 2. Slots begin with the superentity's, in its order; then the entity's own in the order of
///    declaration. A slot therefore means the same property in all subentities.
/// 3. `subentities` holds every entity below this one, ascending, and not the entity itself.
package final class EntitySchema: Sendable {
  /// An index of the entity, by slots.
  package struct Index: Sendable, Hashable {
    /// The index's name, unique in the hierarchy.
    package let name: String
    /// The entity that declares the index; it covers that entity's objects and those of its
    /// subentities.
    package let declaringEntity: Int
    /// The slots, most significant first.
    package let slots: [Int]
    /// For each slot the function applied to its text, or nil for the unchanged value.
    package let functions: [TextFunction?]
    /// For each slot whether smaller values come first.
    package let isAscending: [Bool]
    /// Which objects are in the index; nil for all.
    package let predicate: FetchPredicate?
  }

  /// A uniqueness constraint of the entity, by slots.
  package struct UniquenessConstraint: Sendable, Hashable {
    /// The entity that declares the constraint; it covers the same objects as an index of that
    /// entity.
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
  /// The index of the topmost superentity; the entity's own for a root.
  package let root: Int
  /// The indices of all entities below this one.
  package let subentities: [Int]
  /// The index of the entity itself and of all above it, nearest first.
  package let lineage: [Int]
  /// All properties, by slot.
  package let properties: [PropertySchema]
  /// All indexes, inherited first.
  package let indexes: [Index]
  /// All uniqueness constraints, inherited first.
  package let uniquenessConstraints: [UniquenessConstraint]
  /// All composite attributes, inherited first, each before those in it.
  package let composites: [CompositeSchema]
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

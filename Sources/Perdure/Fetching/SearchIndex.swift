internal import PerdurePredicates

/// An attribute index or unique index that a fetch of some entities can use, with its columns. The
/// schema computes the search indexes of each entity once.
final class SearchIndex: Sendable {
  let index: StoreIndex
  let definition: IndexDefinition
  let components: [IndexComponent]
  /// The column of each component; at least one.
  let columns: [IndexColumn]
  /// Whether the index may contain objects of other entities.
  let overshoots: Bool

  var isUnique: Bool { definition.isUnique }
  var condition: IndexCondition? { definition.condition }

  /// Nil if fetches cannot use the index, or if it does not cover all the entities. The index may
  /// be partial: it then contains only the objects that satisfy its condition.
  private init?(
    _ index: StoreIndex, _ definition: IndexDefinition, _ entity: EntityStorage, concrete: [UInt16]
  ) {
    guard let components = definition.components, definition.serves(concrete) else { return nil }
    let columns = components.compactMap { entity.column($0) }
    guard !columns.isEmpty, columns.count == components.count else { return nil }
    self.index = index
    self.definition = definition
    self.components = components
    self.columns = columns
    overshoots = definition.entities != concrete
  }

  /// The indexes for a fetch of the entities `concrete` of `entity`, in the order of the schema.
  static func all(
    of entity: EntityStorage, concrete: [UInt16], _ indexes: [IndexDefinition]
  ) -> [SearchIndex] {
    indexes.indices.compactMap {
      SearchIndex(StoreIndex(rawValue: $0), indexes[$0], entity, concrete: concrete)
    }
  }
}

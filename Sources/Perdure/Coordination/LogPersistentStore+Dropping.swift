// Indexes that no longer follow from the model.

internal import PerdureLog

extension LogKeyspaces {
  /// How the names of indexes begin that follow from models.
  private static let prefixes = ["rel/", "linkrev/", "attr/", "uniq/", "count/", "sums/", "forward link/"]

  /// Drops the indexes of earlier models, without touching a row (L5). What a program has made beside the graph stays.
  func dropIndexesOfOthers(in catalog: inout CatalogChange) throws {
    let indexes = catalog.indexes
    let kept = kept(indexes)
    let dropped = indexes.filter { entry in
      !kept.contains(entry.index.name) && Self.prefixes.contains { entry.index.name.hasPrefix($0) }
    }
    // What is made from others goes before them.
    for entry in dropped where entry.definition.isMade { try catalog.removeIndex(entry.index) }
    for entry in dropped where !entry.definition.isMade { try catalog.removeIndex(entry.index) }
  }

  /// The names of the indexes that follow from the model, and of those that they are made from.
  private func kept(
    _ indexes: [(index: DerivedIndex, definition: PerdureLog.IndexDefinition)]
  ) -> Set<String> {
    var names: Set<String> = []
    for case .derived(let index) in places { names.insert(index.name) }
    for entry in indexes where names.contains(entry.index.name) {
      if case .groupCounts(let counted) = entry.definition.source { names.insert(counted.name) }
    }
    return names
  }
}

extension PerdureLog.IndexDefinition {
  /// Whether the index is made from another one.
  fileprivate var isMade: Bool {
    if case .groupCounts = source { true } else { false }
  }
}

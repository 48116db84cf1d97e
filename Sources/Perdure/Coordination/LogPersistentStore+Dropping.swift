// Drops indexes that the model no longer has.

internal import PerdureLog

extension LogKeyspaces {
  /// The prefixes of the names of the indexes that Perdure defines for models.
  private static let prefixes = ["rel/", "linkrev/", "attr/", "uniq/", "count/", "sums/", "forward link/"]

  /// Drops the indexes of earlier models (LS5). Writes no rows. Keeps other indexes that the
  /// program has defined.
  func dropIndexesOfOthers(in catalog: inout CatalogChange) throws {
    let indexes = catalog.indexes
    let kept = kept(indexes)
    let dropped = indexes.filter { entry in
      !kept.contains(entry.index.name) && Self.prefixes.contains { entry.index.name.hasPrefix($0) }
    }
    // Remove indexes that are made from other indexes first.
    for entry in dropped where entry.definition.isDerivedFromIndex { try catalog.removeIndex(entry.index) }
    for entry in dropped where !entry.definition.isDerivedFromIndex { try catalog.removeIndex(entry.index) }
  }

  /// The names of the model's indexes, and of the indexes from which these are made.
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
  /// Whether the index is made from another index.
  fileprivate var isDerivedFromIndex: Bool {
    if case .groupCounts = source { true } else { false }
  }
}

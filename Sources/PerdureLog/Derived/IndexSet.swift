import PerdureFormat

/// The derived indexes of an open store, arranged by what they come from: who has to hear of a
/// changed record, and of a changed entry. Made anew whenever the catalog changes.
final class IndexSet: Sendable {
  struct RecordIndex: Sendable {
    let index: DerivedIndex
    let extractor: any IndexExtractor
    /// The index that counts this one's groups, if any.
    let countedBy: DerivedIndex?
  }

  /// By keyspace id: the indexes over its records.
  let byKeyspace: [[RecordIndex]]
  /// Indexes that nothing here can maintain.
  let unavailable: Set<UInt32>

  init(
    _ catalog: Catalog, factories: [String: any IndexExtractorFactory], reading values: borrowing StoredValues
  ) {
    var countedBy: [UInt32: DerivedIndex] = [:]
    for entry in catalog.indexes {
      if case .groupCounts(let counted) = entry.definition.source { countedBy[counted.id] = entry.index }
    }
    var byKeyspace = [[RecordIndex]](repeating: [], count: catalog.keyspaces.count)
    var unavailable: Set<UInt32> = []
    for entry in catalog.indexes {
      guard case .records(let keyspaces, let name, let parameters) = entry.definition.source else { continue }
      let factory = name == SliceExtractor.name ? SliceExtractor() : factories[name]
      guard let extractor = try? factory?.makeExtractor(parameters: parameters, in: values) else {
        unavailable.insert(entry.index.id)
        if let counting = countedBy[entry.index.id] { unavailable.insert(counting.id) }
        continue
      }
      let index = RecordIndex(index: entry.index, extractor: extractor, countedBy: countedBy[entry.index.id])
      for keyspace in keyspaces { byKeyspace[Int(keyspace.id)].append(index) }
    }
    self.byKeyspace = byKeyspace
    self.unavailable = unavailable
  }

  /// No index at all.
  init() {
    byKeyspace = []
    unavailable = []
  }

  func indexes(over keyspace: UInt32) -> [RecordIndex] { byKeyspace[Int(keyspace)] }
}

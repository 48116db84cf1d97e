import PerdureFormat

/// The derived indexes of an open store, arranged by what they come from: who has to hear of a
/// changed record, and of a changed entry. Made anew whenever the catalog changes.
final class IndexSet: Sendable {
  /// A class, because it is passed along with every record.
  final class RecordIndex: Sendable {
    let index: DerivedIndex
    let extractor: any IndexExtractor
    /// The indexes that count this one's groups.
    let countedBy: [DerivedIndex]

    init(index: DerivedIndex, extractor: any IndexExtractor, countedBy: [DerivedIndex]) {
      self.index = index
      self.extractor = extractor
      self.countedBy = countedBy
    }
  }

  /// By keyspace id: the indexes over its records.
  let byKeyspace: [[RecordIndex]]
  /// Indexes that nothing here can maintain.
  let unavailable: Set<UInt32>

  /// - Parameter incomplete: Indexes that could not be built.
  init(
    _ catalog: Catalog, factories: [String: any IndexExtractorFactory],
    reading values: borrowing StoredValues, excluding incomplete: Set<UInt32> = []
  ) {
    let countedBy = catalog.countedBy
    var byKeyspace = [[RecordIndex]](repeating: [], count: catalog.keyspaces.count)
    var unavailable: Set<UInt32> = []
    for entry in catalog.presentIndexes {
      guard case .records(let keyspaces, let name, let parameters) = entry.definition.source else { continue }
      let factory = name == SliceExtractor.name ? SliceExtractor() : factories[name]
      let counting = countedBy[entry.index.id] ?? []
      guard !incomplete.contains(entry.index.id),
        let extractor = try? factory?.makeExtractor(parameters: parameters, in: values)
      else {
        unavailable.formUnion([entry.index.id] + counting.map(\.id))
        continue
      }
      let index = RecordIndex(index: entry.index, extractor: extractor, countedBy: counting)
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

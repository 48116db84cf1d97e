import PerdureFormat
import PerdureNumbers

/// The derived indexes of an open store, arranged by their sources: which indexes depend on a
/// changed record, and which on a changed entry. Made anew whenever the catalog changes.
final class IndexSet: Sendable {
  /// A class, because it is passed along with every record.
  final class RecordIndex: Sendable {
    let index: DerivedIndex
    let extractor: any IndexExtractor
    /// Of sums: the kind of their numbers. Nil for an index that has its entries from the
    /// extractor.
    let radix: ExactSum.Radix?
    /// The indexes that count this one's groups, or order its sums.
    let dependents: [DerivedIndex]

    init(
      index: DerivedIndex, extractor: any IndexExtractor, radix: ExactSum.Radix?, dependents: [DerivedIndex]
    ) {
      self.index = index
      self.extractor = extractor
      self.radix = radix
      self.dependents = dependents
    }
  }

  /// By keyspace id: the indexes over its records.
  let byKeyspace: [KeyspaceIndexes]
  /// Indexes that nothing here can maintain.
  let unavailable: Set<UInt32>

  /// - Parameter incomplete: Indexes whose trees are not what their definitions give; nothing
  ///   maintains them.
  init(
    _ catalog: Catalog, factories: [String: any IndexExtractorFactory],
    reading values: borrowing StoredValues, excluding incomplete: Set<UInt32> = []
  ) {
    let dependents = catalog.dependents
    var byKeyspace = [[RecordIndex]](repeating: [], count: catalog.keyspaces.count)
    var unavailable: Set<UInt32> = []
    for entry in catalog.presentIndexes {
      if catalog.isStray(entry) || incomplete.contains(entry.index.id) { unavailable.insert(entry.index.id) }
      guard let extraction = entry.definition.source.extraction else { continue }
      let name = extraction.extractor
      let factory = name == SliceExtractor.name ? SliceExtractor() : factories[name]
      let made = (dependents[entry.index.id] ?? []).filter {
        !catalog.isStray(catalog.indexes[Int($0.id)]) && !incomplete.contains($0.id)
      }
      guard !incomplete.contains(entry.index.id),
        let extractor = try? factory?.makeExtractor(parameters: extraction.parameters, in: values)
      else {
        unavailable.formUnion([entry.index.id] + made.map(\.id))
        continue
      }
      let index = RecordIndex(
        index: entry.index, extractor: extractor, radix: extraction.kind?.radix, dependents: made)
      // Once, however often a definition names it: sums would count its numbers as often.
      for id in Set(extraction.keyspaces.map(\.id)) { byKeyspace[Int(id)].append(index) }
    }
    self.byKeyspace = byKeyspace.enumerated().map { KeyspaceIndexes($1, over: UInt32($0)) }
    self.unavailable = unavailable
  }

  /// No index at all.
  init() {
    byKeyspace = []
    unavailable = []
  }

  func indexes(over keyspace: UInt32) -> [RecordIndex] { byKeyspace[Int(keyspace)].all }
}

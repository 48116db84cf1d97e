import PerdureFormat
import PerdureNumbers

/// The derived indexes of an open store, arranged by their sources. The set shows which indexes
/// depend on a changed record, and which indexes depend on a changed entry. A new set is made
/// whenever the catalog changes, except for a new keyspace, which has no indexes yet.
final class IndexSet: Sendable {
  /// An index over records. It is a class, because it is passed along with every record.
  final class RecordIndex: Sendable {
    let index: DerivedIndex
    let extractor: any IndexExtractor
    /// For an index of sums: the kind of the numbers. Nil if the extractor gives the index's
    /// entries.
    let radix: ExactSum.Radix?
    /// The indexes that count the groups of this index, or order its sums.
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

  /// The indexes over the records of each keyspace, by keyspace id. Newer keyspaces have none.
  private let byKeyspace: [KeyspaceIndexes]
  /// The indexes that are not maintained: they are incomplete, or this process cannot make their
  /// entries.
  let unavailable: Set<UInt32>

  /// - Parameter incomplete: Indexes whose trees do not match their definitions. They are not
  ///   maintained.
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
      // Adds the index to each keyspace once, even if a definition lists a keyspace several times.
      // Otherwise sums count the numbers of its records several times.
      for id in Set(extraction.keyspaces.map(\.id)) { byKeyspace[Int(id)].append(index) }
    }
    self.byKeyspace = byKeyspace.enumerated().map {
      $1.isEmpty ? KeyspaceIndexes.none : KeyspaceIndexes($1, over: UInt32($0))
    }
    self.unavailable = unavailable
  }

  /// A set without indexes.
  init() {
    byKeyspace = []
    unavailable = []
  }

  func indexes(over keyspace: UInt32) -> [RecordIndex] { over(keyspace).all }

  /// The indexes over the records of a keyspace.
  @inline(__always)
  func over(_ keyspace: UInt32) -> KeyspaceIndexes {
    Int(keyspace) < byKeyspace.count ? byKeyspace[Int(keyspace)] : KeyspaceIndexes.none
  }
}

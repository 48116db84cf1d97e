import PerdureFormat

/// A derived index that does not match the records from which it was made.
enum IndexMisfit: Error {
  /// The entry of a group cannot be decoded, or a commit removes numbers that were never added to
  /// the group.
  case sum(index: UInt32, group: UInt64)
  /// The index lacks entries of records that a commit replaced or removed. So it was made from
  /// other records, or its extractor is not pure.
  case missingEntries(index: UInt32, count: Int)

  /// Describes the index and the difference, for messages.
  func text(_ catalog: Catalog) -> String {
    switch self {
    case .sum(let index, let group):
      "The entry of group \(group) in index \(catalog.indexes[Int(index)].index.name) is not a sum, or differs from the sum of the "
        + "numbers that its extractor gave before"
    case .missingEntries(let index, let count):
      "Index \(catalog.indexes[Int(index)].index.name) lacks \(count) \(count == 1 ? "entry" : "entries") of "
        + "replaced records"
    }
  }

  /// The indexes that may be wrong, and the indexes that are made from them.
  ///
  /// A missing entry can mean that the index was made from another record. So every index over its
  /// keyspace may be wrong, even if it lacks no entry: wrong numbers may have been subtracted from
  /// sums.
  func affected(in catalog: Catalog) -> Set<UInt32> {
    let dependents = catalog.dependents
    let wrong: [UInt32]
    switch self {
    case .sum(let index, _): wrong = [index]
    case .missingEntries(let index, _):
      let keyspaces = Self.keyspaces(of: catalog.indexes[Int(index)])
      wrong = catalog.presentIndexes.filter { !Self.keyspaces(of: $0).isDisjoint(with: keyspaces) }
        .map(\.index.id)
    }
    return Set(wrong + wrong.flatMap { (dependents[$0] ?? []).map(\.id) })
  }

  private static func keyspaces(of entry: Catalog.IndexEntry) -> Set<UInt32> {
    Set(entry.definition.source.extraction?.keyspaces.map(\.id) ?? [])
  }
}

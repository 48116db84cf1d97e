import PerdureFormat

/// The definition of a derived index, as data in the store. Any program that knows the extractor
/// can maintain the index, without the code of the program that defined it.
public struct IndexDefinition: Hashable, Sendable {
  /// The name of the index, which is unique in the store.
  public var name: String
  /// The origin of the entries.
  public var source: Source
  /// Whether each index key may have only one reference. While the index is available, a commit
  /// that adds a second reference to a key is refused. An index without an extractor, or without
  /// the entries of a damaged value, is not maintained. Then no commit is refused because of it. If
  /// a commit found that the index lacks entries, later commits that put records into its keyspaces
  /// are refused with code `.indexUnavailable`. The next opening that can maintain the index
  /// reports duplicates (`RecoveryReport.duplicates`).
  public var isUnique: Bool

  /// The origin of an index's entries.
  public enum Source: Hashable, Sendable {
    /// Entries from the records of these keyspaces, made by the extractor with this name. No two
    /// records, in one keyspace or in two, may give the same key with the same reference
    /// (`IndexExtractor`).
    case records(keyspaces: [Keyspace], extractor: String, parameters: [UInt8])
    /// Entries from another index. In that index, each key begins with a group's 8-byte reference.
    /// The new index has one entry for each group that has entries. The key of that entry is the
    /// number of the group's entries (8 bytes big-endian).
    case groupCounts(of: DerivedIndex)
    /// Sums from the records of these keyspaces, one entry for each group. The extractor with this
    /// name gives numbers for the records (`IndexEntries.add(_:to:)`). The entry of a group has the
    /// exact sum of the group's numbers. `Snapshot.sum(of:in:)` reads the entry. A commit that
    /// changes a member of a group changes the group's entry, and reads no other member. Groups
    /// without a number have no entry.
    ///
    /// An extractor may give several numbers for one record, including equal ones. Each number
    /// counts.
    case groupSums(of: GroupSum.Kind, keyspaces: [Keyspace], extractor: String, parameters: [UInt8])
    /// The groups of an index of `groupSums`, in the order of their sums. The key is
    /// `GroupSum.orderKey`, the reference is the group.
    case sumOrder(of: DerivedIndex)
  }

  /// Creates a definition.
  public init(name: String, source: Source, isUnique: Bool = false) {
    self.name = name
    self.source = source
    self.isUnique = isUnique
  }
}

extension IndexDefinition {
  /// The extractor name of removed indexes. The name is reserved (FORMAT.md, "Catalog").
  static let removedExtractor = "removed"

  /// The definition that replaces the definition of a removed index. It has no entries. The name
  /// and the number stay in use, because the numbers of later indexes follow it.
  static func removed(_ name: String) -> IndexDefinition {
    IndexDefinition(
      name: name, source: .records(keyspaces: [], extractor: removedExtractor, parameters: []))
  }

  var isRemoved: Bool {
    if case .records(_, let extractor, _) = source { extractor == Self.removedExtractor } else { false }
  }
}

extension IndexDefinition.Source {
  /// The keyspaces, the extractor and its parameters, of an index over records.
  struct Extraction {
    var keyspaces: [Keyspace]
    var extractor: String
    var parameters: [UInt8]
    /// For sums: the kind of the numbers.
    var kind: GroupSum.Kind?
  }

  var extraction: Extraction? {
    switch self {
    case .records(let keyspaces, let extractor, let parameters):
      Extraction(keyspaces: keyspaces, extractor: extractor, parameters: parameters)
    case .groupSums(let kind, let keyspaces, let extractor, let parameters):
      Extraction(keyspaces: keyspaces, extractor: extractor, parameters: parameters, kind: kind)
    case .groupCounts, .sumOrder: nil
    }
  }

  /// The index from which the entries are made; nil if they are made from records.
  var base: DerivedIndex? {
    switch self {
    case .groupCounts(let index), .sumOrder(let index): index
    case .records, .groupSums: nil
    }
  }

  /// Whether its keys can be unique.
  var canBeUnique: Bool {
    switch self {
    case .records, .groupCounts: true
    case .groupSums, .sumOrder: false
    }
  }

  /// The same source, but its entries are made from another index.
  func based(on index: DerivedIndex) -> Self {
    switch self {
    case .groupCounts: .groupCounts(of: index)
    case .sumOrder: .sumOrder(of: index)
    case .records, .groupSums: self
    }
  }

  /// Whether entries can be made from an index with the source `base`.
  func canBeMade(from base: Self) -> Bool {
    switch (self, base) {
    case (_, .records(_, IndexDefinition.removedExtractor, _)): false
    case (.groupCounts, .records), (.sumOrder, .groupSums): true
    default: false
    }
  }
}

/// A derived index of an open store.
public struct DerivedIndex: Hashable, Sendable {
  /// The number that the store assigned to the index.
  public let id: UInt32
  /// The name in its definition.
  public let name: String
  /// Whether each index key may have only one reference.
  public let isUnique: Bool
  /// A hash of the store and the name. It distinguishes indexes with the same number in two stores.
  let mark: UInt64

  /// - Parameter isRemoved: Whether the index was removed. If true, no earlier handle matches it.
  init(id: UInt32, name: String, isUnique: Bool, of store: StoreID? = nil, isRemoved: Bool = false) {
    (self.id, self.name, self.isUnique) = (id, name, isUnique)
    mark = isRemoved ? 0 : HandleMark.of(name, 0, store)
  }
}

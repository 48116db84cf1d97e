// The difference between a state of a store and that state with the unsaved changes of a context.
// It consists of rows, entries of indexes, order keys of members (`places`) and sums. It is a
// value: a copy costs O(1), and later changes do not affect the copy.
//
// LayeredView overlays the state with it. LayerBuilder keeps it up to date, object by object.
//
// Invariants, for each index:
//   Y1. Every entry of `hidden` is in the state below. No entry of `added` is in the state below,
//       except hidden ones.
//   Y2. Both are in order of key, then of reference (PS5 in PersistentStore.swift).
//   Y3. In an index that is derived from rows, and in an index of counts, the state below has at
//       most one entry for each reference.

internal import PerdurePredicates

/// The differences in one index.
struct IndexLayer: Sendable {
  var added = SortedChunks<LayerEntry>()
  var hidden = SortedChunks<LayerEntry>()

  var isEmpty: Bool { added.isEmpty && hidden.isEmpty }

  /// The ordinals of the entries whose keys are in a range.
  static func ranks(_ range: KeyRange, in entries: SortedChunks<LayerEntry>) -> Range<Int> {
    if entries.isEmpty { return 0..<0 }
    let lower = rank(of: range.lower, in: entries)
    guard let upper = range.upper else { return lower..<entries.count }
    return lower..<max(lower, rank(of: upper, in: entries))
  }

  /// The number of entries before a key.
  static func rank(of key: [UInt8], in entries: SortedChunks<LayerEntry>) -> Int {
    key.withUnsafeBytes { key in
      entries.rank { entry in entry.key.withUnsafeBytes { $0.compared(to: key) < 0 } }
    }
  }

  /// The number of entries in a range minus that in the state below.
  func difference(_ range: KeyRange) -> Int {
    Self.ranks(range, in: added).count - Self.ranks(range, in: hidden).count
  }

  /// Whether a range differs from the state below.
  func changes(_ range: KeyRange) -> Bool {
    !Self.ranks(range, in: added).isEmpty || !Self.ranks(range, in: hidden).isEmpty
  }
}

/// The differences from a state of a store.
struct PendingLayer: Sendable {
  /// By entity number.
  var rows: [SortedChunks<LayerRow>]
  /// The number of rows minus that in the state below, by entity number.
  var rowCountDifferences: [Int]
  /// By position in the schema.
  var indexes: [IndexLayer]
  var places = SortedChunks<LayerOrderKey>()
  var sums = SortedChunks<LayerSum>()

  /// A layer without differences.
  init(_ schema: StoreSchema) {
    rows = Array(repeating: SortedChunks(), count: schema.entities.count)
    rowCountDifferences = Array(repeating: 0, count: schema.entities.count)
    indexes = Array(repeating: IndexLayer(), count: schema.indexes.count)
  }

  var isEmpty: Bool {
    rows.allSatisfy(\.isEmpty) && indexes.allSatisfy(\.isEmpty) && places.isEmpty && sums.isEmpty
  }

  /// The row of an object as the next save will write it; nil if the row is unchanged. O(log n).
  @inline(__always)
  func row(_ reference: ObjectReference) -> LayerRow? {
    let entity = Int(reference.entityNumber)
    guard entity < rows.count, !rows[entity].isEmpty else { return nil }
    let found = rows[entity].first { $0.reference.rawValue < reference.rawValue }
    return found?.reference == reference ? found : nil
  }

  /// The changed rows of an entity.
  func rows(ofEntity entity: UInt16) -> SortedChunks<LayerRow> {
    Int(entity) < rows.count ? rows[Int(entity)] : SortedChunks()
  }

  /// The changed order key of a member; nil if it is unchanged. O(log n).
  func place(_ link: StoreLink) -> LayerOrderKey? { places.find(LayerOrderKey(link: link, key: nil)) }

  /// The difference of the sum of an owner; nil if the sum is unchanged. O(log n).
  func sum(_ index: StoreIndex, of owner: ObjectReference) -> StoredSum? {
    let found = sums.first {
      ($0.index.rawValue, $0.owner.rawValue) < (index.rawValue, owner.rawValue)
    }
    guard let found, found.index == index, found.owner == owner else { return nil }
    return found.difference
  }
}

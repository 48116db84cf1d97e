// A state of a store, overlaid with the unsaved changes of a context. Fetches of the context and
// its children see this state.

internal import PerdurePredicates

final class LayeredView: StoreView {
  let sequence: UInt64
  let base: any StoreView
  /// The unsaved changes, or an error if the state below could not be read when the layer was made.
  private let layer: Result<PendingLayer, any Error>

  /// The revision of the layer (`LayerBuilder.revision`); nil if there are no unsaved changes.
  let revision: UInt64?

  init(
    _ base: any StoreView, _ layer: Result<PendingLayer, any Error>, sequence: UInt64,
    revision: UInt64?
  ) {
    self.base = base
    self.layer = layer
    self.sequence = sequence
    self.revision = revision
  }

  /// Whether the state below could not be read when the layer was made.
  var isBroken: Bool {
    if case .failure = layer { true } else { false }
  }

  var countsCommits: Bool { false }

  /// The schema of the state below. The rows of the layer are written in its current layouts.
  var schema: StoreSchema { base.schema }

  func checkIsOpen() throws { try base.checkIsOpen() }

  // MARK: Rows

  /// The layer retains its own rows, so the answer depends only on the state below.
  var keepsRows: Bool { base.keepsRows }
  var answersAtOnce: Bool { base.answersAtOnce }

  func row(_ reference: ObjectReference, _ body: (StoredRow) throws -> Void) throws {
    guard let pending = try layer.get().row(reference) else { return try base.row(reference, body) }
    if let row = pending.row { try body(row.stored) }
  }

  func version(of reference: ObjectReference) throws -> RowVersion? {
    if let pending = try layer.get().row(reference) { return pending.row?.version }
    return try base.version(of: reference)
  }

  func rowCount(entity: UInt16) throws -> Int {
    let differences = try layer.get().rowCountDifferences
    let count = try base.rowCount(entity: entity)
    return Int(entity) < differences.count ? count + differences[Int(entity)] : count
  }

  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool
  ) throws {
    let rows = try layer.get().rows(ofEntity: entity)
    if rows.isEmpty { return try base.visitRows(entity: entity, descending: descending, body) }
    var changed = ChangedRows(rows.cursor(0..<rows.count, descending: descending), descending)
    var shouldContinue = true
    try base.visitRows(entity: entity, descending: descending) { reference, row in
      shouldContinue =
        changed.comeAfter(reference)
        ? try body(reference, row) : try changed.pass(reference, row, body)
      return shouldContinue
    }
    if shouldContinue { try changed.passRest { try body($0, $1.stored) } }
  }

  func visitReferences(
    entity: UInt16, from first: UInt64, _ body: (ObjectReference) throws -> Bool
  ) throws {
    let rows = try layer.get().rows(ofEntity: entity)
    if rows.isEmpty { return try base.visitReferences(entity: entity, from: first, body) }
    let ranks = rows.rank { $0.reference.id < first }..<rows.count
    var changed = ChangedRows(rows.cursor(ranks), false)
    var shouldContinue = true
    try base.visitReferences(entity: entity, from: first) { reference in
      shouldContinue =
        changed.comeAfter(reference)
        ? try body(reference) : try changed.pass(reference, body)
      return shouldContinue
    }
    if shouldContinue { try changed.passRest { reference, _ in try body(reference) } }
  }

  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws {
    let layer = try layer.get()
    let positions = try layer.others(references.indices, of: { references[$0] }) { position, row in
      try body(position, row)
    }
    if positions.count == references.count { return try base.rows(references, body) }
    try base.rows(positions.map { references[$0] }) { place, row in try body(positions[place], row) }
  }

  func readAhead(
    _ references: UnsafeBufferPointer<ObjectReference>, bytesMax: Int,
    _ body: (Int, StoredRow) throws -> Void
  ) throws {
    let layer = try layer.get()
    let positions = try layer.others(references.indices, of: { references[$0] }) { position, row in
      if let row, row.bytes.count <= bytesMax { try body(position, row) }
    }
    try positions.map { references[$0] }.withUnsafeBufferPointer { others in
      try base.readAhead(others, bytesMax: bytesMax) { place, row in try body(positions[place], row) }
    }
  }

  // MARK: Indexes

  /// The differences in an index; nil if there are none.
  func changes(of index: StoreIndex) throws -> IndexLayer? {
    let changes = try layer.get().indexes[index.rawValue]
    return changes.isEmpty ? nil : changes
  }

  func entryCount(_ index: StoreIndex, _ range: KeyRange) throws -> Int {
    try base.entryCount(index, range) + (changes(of: index)?.difference(range) ?? 0)
  }

  func appendCounts(
    of owners: [ObjectReference], in index: StoreIndex, to counts: inout [Int]
  ) throws {
    let first = counts.count
    try base.appendCounts(of: owners, in: index, to: &counts)
    guard let changes = try changes(of: index) else { return }
    for (position, owner) in owners.enumerated() {
      counts[first + position] += changes.difference(.owner(owner))
    }
  }

  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool
  ) throws {
    guard let changes = try changes(of: index) else {
      return try base.visitEntries(index, range, descending: descending, body)
    }
    let addedRanks = IndexLayer.ranks(range, in: changes.added)
    let hiddenRanks = IndexLayer.ranks(range, in: changes.hidden)
    if addedRanks.isEmpty, hiddenRanks.isEmpty {
      return try base.visitEntries(index, range, descending: descending, body)
    }
    var changed = ChangedEntries(
      added: changes.added.cursor(addedRanks, descending: descending),
      hidden: changes.hidden.cursor(hiddenRanks, descending: descending), isDescending: descending)
    var shouldContinue = true
    try base.visitEntries(index, range, descending: descending) { key, reference in
      shouldContinue = try changed.passAdded(before: key, reference, body)
      if shouldContinue, !changed.hide(key, reference) { shouldContinue = try body(key, reference) }
      return shouldContinue
    }
    if shouldContinue { try changed.passRestAdded(body) }
  }

  func sum(_ index: StoreIndex, of owner: ObjectReference) throws -> StoredSum? {
    guard var sum = try base.sum(index, of: owner) else { return nil }
    if let difference = try layer.get().sum(index, of: owner) { sum.add(difference) }
    return sum
  }

  func appendReferences(
    under owner: ObjectReference, in index: StoreIndex, to found: inout [ObjectReference]
  ) throws {
    let range = KeyRange.owner(owner)
    guard try changes(of: index)?.changes(range) == true else {
      return try base.appendReferences(under: owner, in: index, to: &found)
    }
    try visitEntries(index, range, descending: false) { _, reference in
      found.append(reference)
      return true
    }
  }

  func appendReferences(
    _ request: RelationshipRequest, to found: inout [ObjectReference], ends: inout [Int],
    rows: (ObjectReference, StoredRow) throws -> Void
  ) throws {
    if try changes(of: request.index) == nil,
      try request.order.flatMap({ try changes(of: $0.ordered) }) == nil
    {
      let layer = try layer.get()
      return try base.appendReferences(request, to: &found, ends: &ends) { reference, row in
        if layer.row(reference) == nil { try rows(reference, row) }
      }
    }
    try appendReferencesOneByOne(request, to: &found, ends: &ends)
  }

  func orderKey(
    of member: ObjectReference, under owner: ObjectReference, in order: OrderIndexes
  ) throws -> OrderKey? {
    let link = StoreLink(index: order.keys, source: owner, target: member)
    if let place = try layer.get().place(link) { return place.key }
    return try base.orderKey(of: member, under: owner, in: order)
  }

  func hasEntry(
    under owner: ObjectReference, _ reference: ObjectReference, in index: StoreIndex
  ) throws -> Bool {
    if let changes = try changes(of: index) {
      let entry = LayerEntry.under(owner, reference)
      if changes.added.contains(entry) { return true }
      if changes.hidden.contains(entry) { return false }
    }
    return try base.hasEntry(under: owner, reference, in: index)
  }
}

// MARK: - Positions

extension LayeredView {
  /// The last changed key of a range that is not after a certain position.
  private struct ChangedKeyBefore {
    /// The greatest changed key that is not after the position; nil if all are after it.
    var key: [UInt8]?
    /// The number of entries of the range before that key.
    var before = 0
  }

  /// Passes the entry at a position of a range to `body`. Counts entries to find the last changed
  /// key that is not after the position. Between two changed keys, the entries are those of the
  /// state below. So the state below can find an entry after that key.
  ///
  /// - Complexity: O(log² n + m) for m entries with that key.
  func withEntry(
    at position: Int, of range: KeyRange, in index: StoreIndex,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Void
  ) throws {
    guard let changes = try changes(of: index), changes.changes(range) else {
      return try base.withEntry(at: position, of: range, in: index, body)
    }
    var changedKey = ChangedKeyBefore()
    for entries in [changes.added, changes.hidden] {
      let found = try self.changedKey(at: position, of: range, in: index, entries, changes)
      guard let key = found.key else { continue }
      if changedKey.key.map({ $0.lexicographicallyPrecedes(key) }) ?? true { changedKey = found }
    }
    guard let key = changedKey.key else {
      return try base.withEntry(at: position, of: range, in: index, body)
    }
    var left = position - changedKey.before
    let equal = KeyRange.equal(key)
    let equalCount = try entryCount(index, equal)
    if left < equalCount {
      return try visitEntries(index, equal, descending: false) { key, reference in
        if left == 0 { try body(key, reference) }
        left -= 1
        return left >= 0
      }
    }
    let rest = KeyRange(lower: equal.upper ?? key, upper: range.upper)
    try base.withEntry(at: left - equalCount, of: rest, in: index, body)
  }

  private func changedKey(
    at position: Int, of range: KeyRange, in index: StoreIndex, _ entries: SortedChunks<LayerEntry>,
    _ changes: IndexLayer
  ) throws -> ChangedKeyBefore {
    let ranks = IndexLayer.ranks(range, in: entries)
    var (low, high) = (ranks.lowerBound, ranks.upperBound)
    var found = ChangedKeyBefore()
    while low < high {
      let middle = (low + high) / 2
      let key = entries[middle].key
      let front = KeyRange(lower: range.lower, upper: key)
      let before = try base.entryCount(index, front) + changes.difference(front)
      if before <= position {
        found = ChangedKeyBefore(key: key, before: before)
        low = middle + 1
      } else {
        high = middle
      }
    }
    return found
  }
}

extension PendingLayer {
  /// Passes the rows that are in the layer to `body`. Returns the positions of the other
  /// references.
  fileprivate func others(
    _ positions: Range<Int>, of reference: (Int) -> ObjectReference,
    _ body: (Int, StoredRow?) throws -> Void
  ) throws -> [Int] {
    var others: [Int] = []
    others.reserveCapacity(positions.count)
    for position in positions {
      if let changed = row(reference(position)) {
        try body(position, changed.row?.stored)
      } else {
        others.append(position)
      }
    }
    return others
  }
}

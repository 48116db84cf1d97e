// Keeps a layer up to date: replaces the contributions of single objects, or parts of them.
//
// Each row, with its index entries and its terms of sums, belongs to one object. Several objects
// may remove a link or an order key (`places`), for example both ends of a link if both are
// deleted. So the builder counts for each link how many objects add and remove it. Counts of owners
// follow from the changed entries of the counted index, and `finish` updates them.
//
// Invariants:
//   BL1. Between `finish` and the next change, the layer equals the one that a new builder makes of
//        the same contributions over the same state (`describe`).
//   BL2. `revision` grows when the layer changes, and only then.

internal import PerdurePredicates

/// Builds a layer over one state of a store. Confined to the context that uses it.
final class LayerBuilder {
  private(set) var base: any StoreView
  var layer: PendingLayer
  /// Grows with each change of the layer (BL2).
  var revision: UInt64
  /// The number of calls of `replace` and `update`, for tests.
  private(set) var updateCount = 0
  /// The number of rows, links and order keys that these calls have processed, for tests.
  private(set) var partCount = 0
  var known: [ObjectReference: KnownObject] = [:]
  var links: [StoreLink: LinkState] = [:]
  var places: [StoreLink: OrderKeyState] = [:]
  /// For each object, the links to it and its order keys that other objects contribute.
  var mentions: [ObjectReference: Set<StoreLink>] = [:]
  var counts: [OwnerCount: (before: Int, after: Int)] = [:]
  /// The counts that may have changed since the last `finish`.
  var staleCounts: Set<OwnerCount> = []
  let feeds: IndexFeeds

  /// - Parameter revision: The first revision. It must be greater than those of all earlier
  ///   builders.
  init(over base: any StoreView, _ feeds: IndexFeeds, revision: UInt64) {
    self.revision = revision
    self.feeds = feeds
    self.base = base
    layer = PendingLayer(feeds.schema)
  }

  var schema: StoreSchema { feeds.schema }

  /// The number of objects that contribute.
  var count: Int { known.count }

  /// Whether an object contributes.
  func contains(_ reference: ObjectReference) -> Bool { known[reference] != nil }

  /// The new row of an object; nil if it contributes none.
  func pendingRow(of reference: ObjectReference) -> PendingRow? {
    known[reference]?.contribution.pendingRow
  }

  /// Replaces the contribution of an object.
  ///
  /// - Parameter new: nil if the object no longer has unsaved changes.
  /// - Throws: The errors of the state. Then the builder must no longer be used.
  /// - Complexity: O(k log n) for the k entries, links and order keys of both contributions.
  func replace(_ reference: ObjectReference, with new: ObjectContribution?) throws {
    updateCount += 1
    var object = known.removeValue(forKey: reference) ?? KnownObject()
    let (before, after) = (object.contribution, new ?? ObjectContribution())
    object.contribution.isNew = after.isNew
    try replaceRow(reference, after.row, of: &object)
    object.contribution = after
    known[reference] = new == nil ? nil : object
    partCount += before.links.count + after.links.count + before.places.count + after.places.count
    try changeLinks(PartChange.all(from: before.links, to: after.links))
    try changePlaces(PartChange.all(from: before.places, to: after.places))
    if before.isDeleted != after.isDeleted { try recomputeMentions(of: reference) }
  }

  /// Replaces parts of the contribution of an object, which must have one.
  ///
  /// - Throws: The errors of the state. Then the builder must no longer be used.
  /// - Complexity: O(k log n) for the k entries, links and order keys of the edit.
  func update(_ reference: ObjectReference, _ edit: ContributionEdit) throws {
    updateCount += 1
    guard var object = known.removeValue(forKey: reference) else {
      preconditionFailure("The object must contribute.")
    }
    if let row = edit.row {
      try replaceRow(reference, row, of: &object)
      object.contribution.row = row
    }
    partCount += edit.links.count + edit.places.count
    let links = edit.links.map { PartChange($0.link, to: $0.change, in: &object.contribution.links) }
    let places = edit.places.map { PartChange($0.link, to: $0.change, in: &object.contribution.places) }
    known[reference] = object
    try changeLinks(links)
    try changePlaces(places)
  }

  /// Moves the layer to another state. The new state must be equal to the old one in all data that
  /// contributions change.
  func move(to newest: any StoreView) { base = newest }

  /// Updates the counts of owners.
  ///
  /// - Throws: The errors of the state. Then the builder must no longer be used.
  func finish() throws {
    for stale in staleCounts { try recount(stale) }
    staleCounts.removeAll(keepingCapacity: true)
  }
}

/// A contribution, and its effect on the layer.
struct KnownObject {
  var contribution = ObjectContribution()
  var row = KnownRow()
}

/// The effect of a row on the layer.
struct KnownRow {
  /// The keys in the indexes that rows of the entity feed, before and after the changes, in the
  /// order of `IndexFeeds.EntityFeed.keys`. Empty if the row is not changed.
  var keys: [(before: [UInt8]?, after: [UInt8]?)] = []
  /// Like `keys`, for the indexes of sums.
  var terms: [(before: SumTermOfOwner?, after: SumTermOfOwner?)] = []
  var countDifference = 0
}

struct SumTermOfOwner: Equatable {
  let owner: ObjectReference
  let number: Value
}

struct LinkState {
  enum Effect { case none, added, hidden }

  var adds = 0
  var removals = 0
  var effect = Effect.none

  mutating func count(_ change: ObjectContribution.LinkChange?, _ difference: Int) {
    switch change {
    case .added: adds += difference
    case .removed: removals += difference
    case nil: break
    }
  }
}

struct OrderKeyState {
  var key: OrderKey?
  var removals = 0
  /// The order keys in the state below and in the layer, if they differ.
  var effect: (before: OrderKey?, after: OrderKey?)?
}

struct OwnerCount: Hashable {
  /// The index of counts.
  let index: StoreIndex
  let owner: ObjectReference
}

// MARK: - Rows

extension LayerBuilder {
  /// - Parameter object: Has the old row, and gets the keys and terms of the new one.
  private func replaceRow(
    _ reference: ObjectReference, _ row: ObjectContribution.Row, of object: inout KnownObject
  ) throws {
    partCount += 1
    if row.isSame(as: object.contribution.row) { return }
    let old = object.row
    object.row = try describeRow(reference, row, isNew: object.contribution.isNew)
    let entity = Int(reference.entityNumber)
    layer.rowCountDifferences[entity] += object.row.countDifference - old.countDifference
    switch row {
    case .unchanged: layer.rows[entity].remove(LayerRow(reference: reference, row: nil))
    case .put(let row): layer.rows[entity].update(LayerRow(reference: reference, row: row))
    case .removed: layer.rows[entity].update(LayerRow(reference: reference, row: nil))
    }
    revision += 1
    replaceKeys(reference, old.keys, object.row.keys)
    replaceTerms(reference, old.terms, object.row.terms)
  }

  /// The keys and terms of a changed row, and those of its row in the state below.
  private func describeRow(
    _ reference: ObjectReference, _ row: ObjectContribution.Row, isNew: Bool
  ) throws -> KnownRow {
    let new: StoredRow?
    switch row {
    case .unchanged: return KnownRow()
    case .put(let row): new = row.stored
    case .removed: new = nil
    }
    if isNew { return describeRow(reference, from: nil, to: new) }
    return try base.withRow(reference) { describeRow(reference, from: $0, to: new) }
  }

  private func describeRow(
    _ reference: ObjectReference, from old: StoredRow?, to new: StoredRow?
  ) -> KnownRow {
    var row = KnownRow()
    row.countDifference = (new == nil ? 0 : 1) - (old == nil ? 0 : 1)
    // A row that cannot be decoded has no entry; a read of the row reports the error.
    let rows = schema.rows
    let before = old.flatMap { try? rows.view($0.bytes, of: reference) }
    let after = new.flatMap { try? rows.view($0.bytes, of: reference) }
    let feed = feeds[reference.entityNumber]
    row.keys.reserveCapacity(feed.keys.count)
    for (_, keys) in feed.keys {
      let (first, second) = (before.flatMap { key(keys, $0) }, after.flatMap { key(keys, $0) })
      row.keys.append(first == second ? (nil, nil) : (first, second))
    }
    for (_, keys) in feed.sums {
      let (first, second) = (before.flatMap { term(keys, $0) }, after.flatMap { term(keys, $0) })
      row.terms.append(first == second ? (nil, nil) : (first, second))
    }
    return row
  }

  private func key(_ keys: IndexKeys, _ row: RowView) -> [UInt8]? {
    guard let key = keys.key(of: row) else { return nil }
    return key.count <= IndexDefinition.keyLengthMax ? key : Array(key.prefix(IndexDefinition.keyLengthMax))
  }

  private func term(_ keys: IndexKeys, _ row: RowView) -> SumTermOfOwner? {
    keys.term(of: row).map { SumTermOfOwner(owner: $0.owner, number: $0.number) }
  }

  private func replaceKeys(
    _ reference: ObjectReference, _ old: [(before: [UInt8]?, after: [UInt8]?)],
    _ new: [(before: [UInt8]?, after: [UInt8]?)]
  ) {
    for (position, feed) in feeds[reference.entityNumber].keys.enumerated() {
      let (index, none) = (feed.index, (before: [UInt8]?.none, after: [UInt8]?.none))
      let (was, now) = (old.isEmpty ? none : old[position], new.isEmpty ? none : new[position])
      if was.before != now.before {
        if let key = was.before { show(LayerEntry(key: key, reference: reference), in: index) }
        if let key = now.before { hide(LayerEntry(key: key, reference: reference), in: index) }
      }
      if was.after != now.after {
        if let key = was.after { remove(LayerEntry(key: key, reference: reference), from: index) }
        if let key = now.after { add(LayerEntry(key: key, reference: reference), to: index) }
      }
    }
  }

  private func replaceTerms(
    _ reference: ObjectReference, _ old: [(before: SumTermOfOwner?, after: SumTermOfOwner?)],
    _ new: [(before: SumTermOfOwner?, after: SumTermOfOwner?)]
  ) {
    for (position, feed) in feeds[reference.entityNumber].sums.enumerated() {
      if !old.isEmpty {
        if let term = old[position].before { change(feed.index, term.owner) { $0.add(term.number) } }
        if let term = old[position].after { change(feed.index, term.owner) { $0.remove(term.number) } }
      }
      if !new.isEmpty {
        if let term = new[position].before { change(feed.index, term.owner) { $0.remove(term.number) } }
        if let term = new[position].after { change(feed.index, term.owner) { $0.add(term.number) } }
      }
    }
  }

  private func change(_ index: StoreIndex, _ owner: ObjectReference, _ body: (inout StoredSum) -> Void) {
    var difference = layer.sum(index, of: owner) ?? StoredSum(isReal: schema.definition(index).sumsReals)
    body(&difference)
    let sum = LayerSum(index: index, owner: owner, difference: difference)
    if difference.isZero { layer.sums.remove(sum) } else { layer.sums.update(sum) }
  }
}

// A naive store of dictionaries, which derives indexes by sorting. It answers only the required
// requests. Each row that it passes is a copy, which is freed after the call that receives it. Each
// request can be counted, fail, or find its view expired, as in a store on a network. Tests of the
// graph can also run on this store, and other tests compare stores with it.

import PerdurePredicates
import Synchronization

@testable import Perdure

/// Row bytes at a fixed address.
// Unchecked: the bytes are written in init, freed in deinit, and not changed in between.
private final class RowBox: @unchecked Sendable {
  let bytes: UnsafeRawBufferPointer
  let version: RowVersion

  init(_ row: [UInt8], _ version: UInt64) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: row.count, alignment: 1)
    memory.copyBytes(from: row)
    bytes = UnsafeRawBufferPointer(memory)
    self.version = RowVersion(rawValue: version)
  }

  deinit {
    bytes.deallocate()
  }

  /// Calls `body` with a copy of the row. The copy is overwritten and freed when `body` returns.
  func withCopy<R>(_ body: (StoredRow) throws -> R) rethrows -> R {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
    copy.copyMemory(from: bytes)
    defer {
      for position in copy.indices { copy[position] = 0xDD }
      copy.deallocate()
    }
    return try body(StoredRow(bytes: UnsafeRawBufferPointer(copy), version: version))
  }
}

private struct Entry: Hashable {
  let key: [UInt8]
  let reference: ObjectReference

  static func precedes(_ left: Entry, _ right: Entry) -> Bool {
    if left.key != right.key { return left.key.lexicographicallyPrecedes(right.key) }
    return left.reference.rawValue < right.reference.rawValue
  }
}

/// One state of a `NaiveStore`.
final class NaiveView: StoreView {
  let sequence: UInt64
  let schema: StoreSchema
  fileprivate let rows: [ObjectReference: RowBox]
  fileprivate let links: Set<StoreLink>
  fileprivate let keys: [StoreLink: OrderKey]
  private let cache = Mutex<[StoreIndex: [Entry]]>([:])
  private let requests: NaiveRequests

  fileprivate init(
    _ schema: StoreSchema, _ requests: NaiveRequests, _ sequence: UInt64,
    _ rows: [ObjectReference: RowBox], _ links: Set<StoreLink>, _ keys: [StoreLink: OrderKey]
  ) {
    self.requests = requests
    self.schema = schema
    self.sequence = sequence
    self.rows = rows
    self.links = links
    self.keys = keys
  }

  /// The version of a row, for comparisons. This read does not count as a request.
  fileprivate func storedVersion(of reference: ObjectReference) -> RowVersion? { rows[reference]?.version }

  func rowCount(entity: UInt16) throws -> Int {
    try requests.begin(.rowCount, at: sequence)
    return rows.keys.count { $0.entityNumber == entity }
  }

  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool
  ) throws {
    try requests.begin(.scan, at: sequence)
    var references = rows.keys.filter { $0.entityNumber == entity }.sorted { $0.rawValue < $1.rawValue }
    if descending { references.reverse() }
    for reference in references {
      guard let row = rows[reference], try row.withCopy({ try body(reference, $0) }) else { return }
    }
  }

  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws {
    try requests.begin(.rows, at: sequence)
    // Visits the rows backwards, because callers must not rely on the order of calls.
    for position in references.indices.reversed() {
      if let row = rows[references[position]] {
        try row.withCopy { try body(position, $0) }
      } else {
        try body(position, nil)
      }
    }
  }

  func entryCount(_ index: StoreIndex, _ range: KeyRange) throws -> Int {
    try requests.begin(.entryCount, at: sequence)
    return entries(index).count { range.contains($0.key) }
  }

  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool
  ) throws {
    try requests.begin(.entries, at: sequence)
    let found = entries(index).filter { range.contains($0.key) }
    for entry in descending ? found.reversed() : found {
      guard try entry.key.withUnsafeBytes({ try body($0, entry.reference) }) else { return }
    }
  }

  func appendReferences(
    _ request: RelationshipRequest, to found: inout [ObjectReference], ends: inout [Int],
    rows: (ObjectReference, StoredRow) throws -> Void
  ) throws {
    try requests.begin(.relationship, at: sequence)
    for owner in request.owners {
      let start = found.count
      if let order = request.order {
        found += try requests.withoutCounting { try members(request.index, order, of: owner) }
      } else {
        let key = bare(owner)
        found += entries(request.index).filter { $0.key == key }.map(\.reference)
      }
      ends.append(found.count)
      if request.wantsRows {
        for reference in found[start...] {
          try self.rows[reference]?.withCopy { try rows(reference, $0) }
        }
      }
      if found.count > request.countMax { return }
    }
  }

  func visitReferences(
    _ requests: [RelationshipRequest],
    _ body: (Int, ObjectReference, [ObjectReference]) throws -> Void
  ) throws {
    try self.requests.begin(.relationship, at: sequence)
    for (number, request) in requests.enumerated() {
      for owner in request.owners {
        let key = bare(owner)
        try body(number, owner, entries(request.index).filter { $0.key == key }.map(\.reference))
      }
    }
  }

  func visit(
    _ fetch: CompiledFetch, needsRows: Bool, _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws {
    try requests.begin(.fetch, at: sequence)
    try requests.withoutCounting { try FetchRun(fetch, self).visit(needsRows: needsRows, body) }
  }

  func count(_ fetch: CompiledFetch) throws -> Int {
    try requests.begin(.fetch, at: sequence)
    return try requests.withoutCounting { try FetchRun(fetch, self).count() }
  }

  /// All keys and references of an index in order, for comparison with other stores.
  func allEntries(_ index: StoreIndex) -> [(key: [UInt8], reference: ObjectReference)] {
    entries(index).map { ($0.key, $0.reference) }
  }

  private func entries(_ index: StoreIndex) -> [Entry] {
    if let known = cache.withLock({ $0[index] }) { return known }
    let made = made(index).sorted(by: Entry.precedes)
    cache.withLock { $0[index] = made }
    return made
  }

  private func made(_ index: StoreIndex) -> [Entry] {
    let definition = schema.definition(index)
    switch definition.kind {
    case .links:
      return links.filter { $0.index == index }.map {
        Entry(key: bare($0.source), reference: $0.target)
      }
    case .linksReversed(_, let forward):
      return links.filter { $0.index == forward }.map {
        Entry(key: bare($0.target), reference: $0.source)
      }
    case .orders:
      return keys.keys.filter { $0.index == index }.map { Entry(key: bare($0.source), reference: $0.target) }
    case .ordered(_, let orders):
      return keys.compactMap { link, key in
        link.index == orders
          ? Entry(key: OrderIndexes.indexKey(link.source, key), reference: link.target) : nil
      }
    case .countOrder(_, let counted):
      return countEntries(definition, counted)
    // This store keeps no sums, so a request for a sum adds the members.
    case .sums: return []
    case .relation, .attribute, .unique:
      return rows.compactMap { reference, row in
        key(definition, reference, row).map { Entry(key: $0, reference: reference) }
      }
    }
  }

  private func countEntries(_ definition: IndexDefinition, _ counted: StoreIndex) -> [Entry] {
    Dictionary(grouping: entries(counted), by: \.key).compactMap { key, group in
      let owner = ObjectReference(rawValue: key.reduce(0) { $0 << 8 | UInt64($1) })
      guard definition.entities.contains(owner.entityNumber) else { return nil }
      var bytes = OrderedKey()
      bytes.append(bareCount: group.count)
      return Entry(key: bytes.bytes, reference: owner)
    }
  }

  private func bare(_ reference: ObjectReference) -> [UInt8] {
    var key = OrderedKey()
    key.append(bare: reference)
    return key.bytes
  }

  private func key(
    _ definition: IndexDefinition, _ reference: ObjectReference, _ row: RowBox
  ) -> [UInt8]? {
    let entity = schema.entity(reference.entityNumber)
    guard let keys = IndexKeys(definition, entity: entity, in: schema),
      let view = try? schema.rows.view(row.bytes, of: reference)
    else { return nil }
    return keys.key(of: view)
  }
}

/// A store that keeps all data in dictionaries, and derives every index by sorting.
final class NaiveStore: PersistentStore {
  let schema: StoreSchema
  /// Each store has a different identifier, because ids of objects contain it.
  let identifier = "naive-\(NaiveStore.nextNumber())"
  private static let count = Atomic<Int>(0)
  let requests = NaiveRequests()

  private static func nextNumber() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }

  private struct State {
    var view: NaiveView
    var history: [UInt64: NaiveView] = [:]
    var nextID: [UInt16: UInt64] = [:]
    var isClosed = false
  }

  private let state: Mutex<State>

  /// - Parameter older: The schema of the states before `adopt()`.
  init(_ schema: StoreSchema, older: StoreSchema? = nil) {
    self.schema = schema
    state = Mutex(State(view: NaiveView(older ?? schema, requests, 0, [:], [], [:])))
  }

  /// Adopts the store's own schema for the next states. Writes all rows again in the layouts of
  /// this schema.
  func adopt() throws {
    try state.withLock { state in
      let old = state.view
      let rows = try Dictionary(
        uniqueKeysWithValues: old.rows.map { reference, box in
          let layouts = schema.entity(reference.entityNumber).layouts!
          let row = try old.schema.rows.view(box.bytes, of: reference)
          return (reference, RowBox(RowWriter(layouts).row(base: row) { _ in .copied }, old.sequence + 1))
        })
      state.view = NaiveView(schema, requests, old.sequence + 1, rows, old.links, old.keys)
      requests.noteNewest(state.view.sequence)
    }
  }

  func view() -> any StoreView { state.withLock { $0.view } }

  func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64> {
    try requests.begin(.ids, at: nil)
    return state.withLock {
      let first = $0.nextID[entity, default: 1]
      $0.nextID[entity] = first + UInt64(count)
      return first..<first + UInt64(count)
    }
  }

  func close() throws { state.withLock { $0.isClosed = true } }

  func commit(_ change: StoreChange) throws -> any StoreView {
    try requests.begin(.commit, at: nil)
    return try state.withLock { state in
      precondition(!state.isClosed, "The store is closed.")
      let old = state.view
      let failed = change.preconditions.filter { !holds($0, now: old, since: change.view) }
      if !failed.isEmpty { throw StoreConflict(failed: failed) }

      var rows = old.rows
      for reference in change.removals { rows[reference] = nil }
      change.puts.forEach { rows[$0] = RowBox(Array($1), old.sequence + 1) }
      var links = old.links
      links.subtract(change.linksRemoved)
      links.formUnion(change.linksAdded)
      var keys = old.keys
      for link in change.linksRemoved { keys[link] = nil }
      for place in change.places { keys[place.link] = place.key }
      let new = NaiveView(old.schema, requests, old.sequence + 1, rows, links, keys)
      let duplicates = duplicates(in: new, change)
      if !duplicates.isEmpty { throw StoreConflict(duplicates: duplicates) }
      state.view = new
      requests.noteNewest(new.sequence)
      return new
    }
  }

  private func holds(
    _ precondition: Precondition, now: NaiveView, since: any StoreView
  ) -> Bool {
    switch precondition {
    case .rowExists(let reference): return now.rows[reference] != nil
    case .rowAbsent(let reference): return now.rows[reference] == nil
    case .rowUnchanged(let reference, let version): return now.storedVersion(of: reference) == version
    case .rangeUnchanged(let index, let range):
      return entries(now, index, range) == entries(since, index, range)
    }
  }

  private func entries(
    _ view: any StoreView, _ index: StoreIndex, _ range: KeyRange
  ) -> [[UInt8]: [ObjectReference]] {
    guard let view = view as? NaiveView else { preconditionFailure("A change has a view of its store.") }
    let found = view.allEntries(index).filter { range.contains($0.key) }
    return Dictionary(grouping: found, by: \.key).mapValues { $0.map(\.reference) }
  }

  private func duplicates(
    in view: NaiveView, _ change: StoreChange
  ) -> [StoreConflict.DuplicateKey] {
    let written = Set(change.puts.references)
    var duplicates: [StoreConflict.DuplicateKey] = []
    for position in schema.indexes.indices where schema.indexes[position].isUnique {
      let index = StoreIndex(rawValue: position)
      let entries = view.allEntries(index)
      for (left, right) in zip(entries, entries.dropFirst()) where left.key == right.key {
        // The rejected object is always a row of this change.
        let (existing, rejected) =
          written.contains(right.reference)
          ? (left.reference, right.reference) : (right.reference, left.reference)
        duplicates.append(
          .init(index: index, key: left.key, existing: existing, rejected: rejected))
      }
    }
    return duplicates
  }
}

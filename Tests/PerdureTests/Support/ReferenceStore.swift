// A naive store of dictionaries, which derives indexes by sorting. Tests compare the real stores
// with it.

import Perdure
import PerdurePredicates
import Synchronization

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

  var stored: StoredRow { StoredRow(bytes: bytes, version: version) }
}

private struct Entry: Hashable {
  let key: [UInt8]
  let reference: ObjectReference

  static func precedes(_ left: Entry, _ right: Entry) -> Bool {
    if left.key != right.key { return left.key.lexicographicallyPrecedes(right.key) }
    return left.reference.rawValue < right.reference.rawValue
  }
}

/// One state of a `ReferenceStore`.
final class ReferenceView: StoreView {
  let sequence: UInt64
  private let schema: StoreSchema
  fileprivate let rows: [ObjectReference: RowBox]
  fileprivate let links: Set<StoreLink>
  fileprivate let keys: [StoreLink: OrderKey]
  private let cache = Mutex<[StoreIndex: [Entry]]>([:])

  fileprivate init(
    _ schema: StoreSchema, _ sequence: UInt64, _ rows: [ObjectReference: RowBox], _ links: Set<StoreLink>,
    _ keys: [StoreLink: OrderKey]
  ) {
    self.schema = schema
    self.sequence = sequence
    self.rows = rows
    self.links = links
    self.keys = keys
  }

  func row(_ reference: ObjectReference) throws -> StoredRow? { rows[reference]?.stored }
  func version(of reference: ObjectReference) -> RowVersion? { rows[reference]?.version }
  func rowCount(entity: UInt16) -> Int { rows.keys.count { $0.entityNumber == entity } }

  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool
  ) throws {
    var references = rows.keys.filter { $0.entityNumber == entity }.sorted { $0.rawValue < $1.rawValue }
    if descending { references.reverse() }
    for reference in references {
      guard let row = rows[reference], try body(reference, row.stored) else { return }
    }
  }

  func visitReferences(
    entity: UInt16, from first: UInt64, _ body: (ObjectReference) throws -> Bool
  ) rethrows {
    let references = rows.keys.filter { $0.entityNumber == entity && $0.id >= first }
    for reference in references.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard try body(reference) else { return }
    }
  }

  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws {
    // Visits the rows backwards, because callers must not rely on the order of calls.
    for position in references.indices.reversed() {
      try body(position, rows[references[position]]?.stored)
    }
  }

  func entryCount(_ index: StoreIndex, _ range: KeyRange) -> Int {
    entries(index).count { range.contains($0.key) }
  }

  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool
  ) throws {
    let found = entries(index).filter { range.contains($0.key) }
    for entry in descending ? found.reversed() : found {
      guard try entry.key.withUnsafeBytes({ try body($0, entry.reference) }) else { return }
    }
  }

  func appendReferences(
    under owner: ObjectReference, in index: StoreIndex, to found: inout [ObjectReference]
  ) throws {
    let key = bare(owner)
    found += entries(index).filter { $0.key == key }.map(\.reference)
  }

  func hasEntry(
    under owner: ObjectReference, _ reference: ObjectReference, in index: StoreIndex
  ) throws -> Bool {
    let key = bare(owner)
    return entries(index).contains { $0.key == key && $0.reference == reference }
  }

  func readAhead(
    _ references: UnsafeBufferPointer<ObjectReference>, bytesMax: Int,
    _ body: (Int, StoredRow) throws -> Void
  ) throws {
    for position in references.indices.reversed() {
      guard let row = rows[references[position]], row.bytes.count <= bytesMax else { continue }
      try body(position, row.stored)
    }
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
final class ReferenceStore: PersistentStore {
  let schema: StoreSchema
  let identifier = "reference"

  private struct State {
    var view: ReferenceView
    var history: [UInt64: ReferenceView] = [:]
    var nextID: [UInt16: UInt64] = [:]
    var isClosed = false
  }

  private let state: Mutex<State>

  init(_ schema: StoreSchema) {
    self.schema = schema
    state = Mutex(State(view: ReferenceView(schema, 0, [:], [], [:])))
  }

  func view() -> any StoreView { state.withLock { $0.view } }

  func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64> {
    state.withLock {
      let first = $0.nextID[entity, default: 1]
      $0.nextID[entity] = first + UInt64(count)
      return first..<first + UInt64(count)
    }
  }

  func close() throws { state.withLock { $0.isClosed = true } }

  func commit(_ change: StoreChange) throws -> any StoreView {
    try state.withLock { state in
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
      let new = ReferenceView(schema, old.sequence + 1, rows, links, keys)
      let duplicates = duplicates(in: new, change)
      if !duplicates.isEmpty { throw StoreConflict(duplicates: duplicates) }
      state.view = new
      return new
    }
  }

  private func holds(
    _ precondition: Precondition, now: ReferenceView, since: any StoreView
  ) -> Bool {
    switch precondition {
    case .rowExists(let reference): return now.rows[reference] != nil
    case .rowAbsent(let reference): return now.rows[reference] == nil
    case .rowUnchanged(let reference, let version): return now.version(of: reference) == version
    case .rangeUnchanged(let index, let range):
      return entries(now, index, range) == entries(since, index, range)
    }
  }

  private func entries(
    _ view: any StoreView, _ index: StoreIndex, _ range: KeyRange
  ) -> [Entry] {
    var found: [Entry] = []
    try? view.visitEntries(index, range, descending: false) { key, reference in
      found.append(Entry(key: Array(key), reference: reference))
      return true
    }
    return found
  }

  private func duplicates(
    in view: ReferenceView, _ change: StoreChange
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

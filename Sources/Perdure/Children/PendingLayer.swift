// What a context has not saved, as rows, links and entries of indexes: a value, which anybody may read.
//
// It is laid over the state that the context sees (LayeredView), and both together are what its children see.
//
// Invariants, for each index:
//   Y1. Every entry of `hidden` is in the state below; none of `added` is there, once those are left out.
//   Y2. Both are in order of key, then of reference (S5).
//   Y3. An index that is fed by rows, or that counts, has at most one entry of a reference below: whoever is in
//       `hidden` is hidden by reference, however the key was cut. Of links and of places in an order the entry counts.

internal import PerdurePredicates

/// A row that was never in the store, at a fixed address.
// Unchecked: written in init, freed in deinit.
final class PendingRow: @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer
  let version: RowVersion

  init(_ bytes: [UInt8], _ version: RowVersion) {
    memory = .allocate(byteCount: bytes.count, alignment: 8)
    memory.copyBytes(from: bytes)
    self.version = version
  }

  deinit { memory.deallocate() }

  var stored: StoredRow { StoredRow(bytes: UnsafeRawBufferPointer(memory), version: version) }

  func has(_ bytes: [UInt8]) -> Bool { memory.elementsEqual(bytes) }
}

/// What would be written if a context were saved.
struct PendingContent: Sendable {
  /// Rows to be; nil where one goes.
  var rows: [ObjectReference: PendingRow?] = [:]
  var linksAdded: Set<StoreLink> = []
  /// Those of orders among them: members that have no place there any more.
  var linksRemoved: Set<StoreLink> = []
  /// The places of members of ordered relationships.
  var places: [StoreLink: OrderKey] = [:]

  /// Whether both would write the same: rows are shared by contents that follow each other.
  func isSame(as other: PendingContent) -> Bool {
    guard linksAdded == other.linksAdded, linksRemoved == other.linksRemoved, places == other.places,
      rows.count == other.rows.count
    else { return false }
    return rows.allSatisfy { reference, row in
      guard let known = other.rows[reference] else { return false }
      return known === row
    }
  }
}

/// An entry of an index.
struct LayerEntry: Hashable, Sendable {
  let key: [UInt8]
  let reference: ObjectReference

  func precedes(_ other: LayerEntry) -> Bool {
    if key != other.key { return key.lexicographicallyPrecedes(other.key) }
    return reference.rawValue < other.reference.rawValue
  }
}

/// What is different in one index.
struct IndexLayer: Sendable {
  fileprivate(set) var added: [LayerEntry] = []
  fileprivate(set) var hidden: [LayerEntry] = []
  fileprivate(set) var hiddenReferences: Set<ObjectReference> = []
  fileprivate(set) var isOfLinks = false

  /// Whether an entry of the state below is to be left out.
  func hides(_ key: UnsafeRawBufferPointer, _ reference: ObjectReference) -> Bool {
    guard hiddenReferences.contains(reference) else { return false }
    if !isOfLinks { return true }
    return hidden[Self.positions(.equal(Array(key)), in: hidden)].contains { $0.reference == reference }
  }

  /// Where the entries of a range of keys stand.
  static func positions(_ range: KeyRange, in entries: [LayerEntry]) -> Range<Int> {
    let lower = firstPosition(in: entries) { !$0.key.lexicographicallyPrecedes(range.lower) }
    guard let upper = range.upper else { return lower..<entries.count }
    return lower..<max(lower, firstPosition(in: entries) { !$0.key.lexicographicallyPrecedes(upper) })
  }

  /// The first entry that fulfils a condition which all behind it fulfil too.
  private static func firstPosition(in entries: [LayerEntry], where holds: (LayerEntry) -> Bool) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if holds(entries[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

/// What is different from a state of a store.
struct PendingLayer: Sendable {
  let content: PendingContent
  /// The references of `content.rows` by entity number, ascending.
  private(set) var references: [UInt16: [ObjectReference]] = [:]
  /// How many rows more there are, by entity number.
  private(set) var countDifferences: [UInt16: Int] = [:]
  private(set) var indexes: [StoreIndex: IndexLayer] = [:]

  var isEmpty: Bool { content.rows.isEmpty && indexes.isEmpty }

  /// - Throws: what the state below throws.
  /// - Complexity: O(k log n) for k rows and links over a state of n.
  init(_ content: PendingContent, over base: any StoreView, _ schema: StoreSchema) throws {
    self.content = content
    try addRows(base, schema)
    try addLinks(base, schema)
    try addPlaces(base, schema)
    for index in indexes.keys {
      indexes[index]?.added.sort { $0.precedes($1) }
      indexes[index]?.hidden.sort { $0.precedes($1) }
    }
    try addCounts(base, schema)
  }

  private mutating func addRows(_ base: any StoreView, _ schema: StoreSchema) throws {
    var keys = KeysByEntity(schema)
    for reference in content.rows.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      let (old, new) = (try base.row(reference), content.rows[reference]??.stored)
      references[reference.entityNumber, default: []].append(reference)
      countDifferences[reference.entityNumber, default: 0] += (new == nil ? 0 : 1) - (old == nil ? 0 : 1)
      for (index, keys) in keys.of(reference.entityNumber) {
        let (before, after) = (key(keys, old, reference, schema), key(keys, new, reference, schema))
        if before == after { continue }
        if let before { hide(LayerEntry(key: before, reference: reference), in: index) }
        if let after {
          indexes[index, default: IndexLayer()].added.append(LayerEntry(key: after, reference: reference))
        }
      }
    }
  }

  /// A row that does not read as one has no entry; reading the row itself reports it.
  private func key(
    _ keys: IndexKeys, _ row: StoredRow?, _ reference: ObjectReference, _ schema: StoreSchema
  ) -> [UInt8]? {
    guard let row, let view = try? schema.rows.view(row.bytes, of: reference), let key = keys.key(of: view)
    else { return nil }
    return Array(key.prefix(IndexDefinition.keyLengthMax))
  }

  private mutating func hide(_ entry: LayerEntry, in index: StoreIndex) {
    indexes[index, default: IndexLayer()].hidden.append(entry)
    indexes[index]?.hiddenReferences.insert(entry.reference)
  }

  // MARK: Links

  private mutating func addLinks(_ base: any StoreView, _ schema: StoreSchema) throws {
    var reversed: [StoreIndex: StoreIndex] = [:]
    for (position, definition) in schema.indexes.enumerated() {
      guard case .linksReversed(_, let links) = definition.kind else { continue }
      reversed[links] = StoreIndex(rawValue: position)
    }
    for link in content.linksRemoved.subtracting(content.linksAdded)
    where try !schema.definition(link.index).isOrder
      && base.hasEntry(under: link.source, link.target, in: link.index)
    {
      hide(.under(link.source, link.target), in: link.index)
      indexes[link.index]?.isOfLinks = true
      guard let back = reversed[link.index] else { continue }
      hide(.under(link.target, link.source), in: back)
      indexes[back]?.isOfLinks = true
    }
    for link in content.linksAdded
    where try !base.hasEntry(under: link.source, link.target, in: link.index) {
      add(.under(link.source, link.target), toLinks: link.index)
      if let back = reversed[link.index] { add(.under(link.target, link.source), toLinks: back) }
    }
  }

  private mutating func add(_ entry: LayerEntry, toLinks index: StoreIndex) {
    indexes[index, default: IndexLayer()].added.append(entry)
    indexes[index]?.isOfLinks = true
  }

  // MARK: Orders

  private mutating func addPlaces(_ base: any StoreView, _ schema: StoreSchema) throws {
    var orders: [StoreIndex: OrderIndexes] = [:]
    for (position, definition) in schema.indexes.enumerated() {
      guard case .ordered(_, let keys) = definition.kind else { continue }
      orders[keys] = OrderIndexes(keys: keys, ordered: StoreIndex(rawValue: position))
    }
    if orders.isEmpty { return }
    let links = content.linksRemoved.union(content.places.keys)
    for link in links {
      guard let order = orders[link.index] else { continue }
      let before = try base.orderKey(of: link.target, under: link.source, in: order)
      let after = content.places[link]
      if before == after { continue }
      if let before {
        hide(.at(before, link), in: order.ordered)
        indexes[order.ordered]?.isOfLinks = true
        if after == nil {
          hide(.under(link.source, link.target), in: order.keys)
          indexes[order.keys]?.isOfLinks = true
        }
      } else {
        add(.under(link.source, link.target), toLinks: order.keys)
      }
      if let after { add(.at(after, link), toLinks: order.ordered) }
    }
  }

  // MARK: Counts

  private mutating func addCounts(_ base: any StoreView, _ schema: StoreSchema) throws {
    for (position, definition) in schema.indexes.enumerated() {
      guard case .countOrder(_, let counted) = definition.kind, let changed = indexes[counted] else {
        continue
      }
      let index = StoreIndex(rawValue: position)
      var layer = IndexLayer()
      for key in Set((changed.added + changed.hidden).map(\.key)) {
        let owner = ObjectReference(rawValue: key.reduce(0) { $0 << 8 | UInt64($1) })
        guard definition.entities.contains(owner.entityNumber) else { continue }
        let before = try base.entryCount(counted, .equal(key))
        let after = before + changed.difference(.equal(key))
        if before == after { continue }
        if before > 0 {
          layer.hidden.append(.count(before, owner))
          layer.hiddenReferences.insert(owner)
        }
        if after > 0 { layer.added.append(.count(after, owner)) }
      }
      layer.added.sort { $0.precedes($1) }
      layer.hidden.sort { $0.precedes($1) }
      if !layer.added.isEmpty || !layer.hidden.isEmpty { indexes[index] = layer }
    }
  }
}

extension IndexLayer {
  /// How many entries more there are in a range.
  func difference(_ range: KeyRange) -> Int {
    Self.positions(range, in: added).count - Self.positions(range, in: hidden).count
  }
}

extension LayerEntry {
  /// An entry whose key is a bare reference.
  fileprivate static func under(_ owner: ObjectReference, _ reference: ObjectReference) -> LayerEntry {
    var key = OrderedKey()
    key.append(bare: owner)
    return LayerEntry(key: key.bytes, reference: reference)
  }

  /// The place of a member in an order.
  fileprivate static func at(_ key: OrderKey, _ link: StoreLink) -> LayerEntry {
    LayerEntry(key: OrderIndexes.indexKey(link.source, key), reference: link.target)
  }

  fileprivate static func count(_ count: Int, _ owner: ObjectReference) -> LayerEntry {
    var key = OrderedKey()
    key.append(bareCount: count)
    return LayerEntry(key: key.bytes, reference: owner)
  }
}

extension IndexDefinition {
  /// Whether its links are members and their places.
  fileprivate var isOrder: Bool {
    if case .orders = kind { true } else { false }
  }
}

/// How the indexes that rows feed get their keys, made once for each entity.
private struct KeysByEntity {
  private let schema: StoreSchema
  private var known: [UInt16: [(StoreIndex, IndexKeys)]] = [:]

  init(_ schema: StoreSchema) { self.schema = schema }

  mutating func of(_ entity: UInt16) -> [(StoreIndex, IndexKeys)] {
    if let keys = known[entity] { return keys }
    let storage = schema.entity(entity)
    let made = schema.indexes.enumerated().compactMap { position, definition -> (StoreIndex, IndexKeys)? in
      if case .sums = definition.kind { return nil }
      return IndexKeys(definition, entity: storage, in: schema).map { (StoreIndex(rawValue: position), $0) }
    }
    known[entity] = made
    return made
  }
}

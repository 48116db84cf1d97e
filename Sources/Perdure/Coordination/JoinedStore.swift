// Joins several stores into one, for contexts of a container with several stores.
//
// Each store numbers its entities, properties and indexes itself, also in its files. A joined store
// makes these numbers unique by adding an offset for each store (`StoreOffset`). References, index
// ranges and changes are translated here. References in rows are translated when they are read or
// written, by the field tables of the joined schema's layouts (`RowField.entityOffset`). So the
// bytes of rows do not change.
//
// If several stores have an entity, the joined schema has one entity for each of them. A fetch
// queries these entities one after another (Fetching/FetchParts.swift). Contexts always use one
// `PersistentStore`. A container with a single store has no joined store.
//
// Invariants:
// JO1. No reference crosses stores: a save that creates such a reference is rejected earlier
//      (StoreAssignment.swift). So every row, range and link belongs to one store.
// JO2. A view contains a view of each store. These views were taken one after the other. Each is a
//      consistent state, but all of them together may never have existed at one time.
// JO3. Before a commit to several stores, each of them checks its part. Then the stores commit in
//      their order. One can still fail, because of a concurrent commit or a full disk. The commits
//      before it remain, and `IncompleteCommit` reports them.

internal import PerdurePredicates

/// A commit to several stores failed after some of them had committed.
struct IncompleteCommit: Error {
  /// The positions of the stores that have committed.
  let committed: [Int]
  /// The position of the store that failed. The stores after it were not called.
  let failed: Int
  /// The view to continue with: new states of the committed stores, previous states of the others.
  let view: any StoreView
  /// The error of the failed store, in the numbers of the joined store.
  let cause: any Error
}

/// Some stores could not be refreshed; the others were.
struct JoinedRefreshFailure: Error {
  let causes: [(place: Int, cause: any Error)]
}

/// Maps the numbers of a joined store to its members.
struct JoinedPlaces: Sendable {
  let offsets: [StoreOffset]
  /// The position of the store of each entity, by entity number.
  private let placesOfEntities: [UInt8]
  /// The position of the store of each index, by index.
  private let placesOfIndexes: [UInt8]
  /// For each index, whether its keys begin with a reference (`IndexDefinition.hasBareReferences`).
  private let haveBareReferences: [Bool]

  init(_ parts: [StoreSchema], _ offsets: [StoreOffset]) {
    self.offsets = offsets
    placesOfEntities = parts.indices.flatMap {
      [UInt8](repeating: UInt8($0), count: parts[$0].entities.count)
    }
    placesOfIndexes = parts.indices.flatMap { [UInt8](repeating: UInt8($0), count: parts[$0].indexes.count) }
    haveBareReferences = parts.flatMap { $0.indexes.map(\.hasBareReferences) }
  }

  /// The position of the store that has an entity; nil if the number is unknown.
  func storeOrdinal(ofEntity number: UInt16) -> Int? {
    Int(number) < placesOfEntities.count ? Int(placesOfEntities[Int(number)]) : nil
  }

  func storeOrdinal(of index: StoreIndex) -> Int { Int(placesOfIndexes[index.rawValue]) }

  func hasBareReferences(_ index: StoreIndex) -> Bool { haveBareReferences[index.rawValue] }

  /// Converts a range of an index to the numbers of its store.
  func lowered(_ range: KeyRange, of index: StoreIndex) -> KeyRange {
    let offset = offsets[storeOrdinal(of: index)].entity
    guard hasBareReferences(index), offset > 0 else { return range }
    guard let lower = Self.lowered(range.lower, by: offset) else {
      // The range begins before all references of the store.
      return KeyRange(lower: [], upper: range.upper.map { Self.lowered($0, by: offset) ?? [] })
    }
    return KeyRange(lower: lower, upper: range.upper.map { Self.lowered($0, by: offset) ?? [] })
  }

  /// Subtracts the offset from the entity number of a bound; nil if the bound is before all
  /// references.
  private static func lowered(_ bound: [UInt8], by offset: UInt16) -> [UInt8]? {
    var bound = bound
    while bound.count < 2 { bound.append(0) }
    let number = UInt16(bound[0]) << 8 | UInt16(bound[1])
    guard number >= offset else { return nil }
    return head(of: number - offset) + bound.dropFirst(2)
  }

  /// Converts a range of a store to the numbers of the joined store.
  func raised(_ range: KeyRange, of index: StoreIndex) -> KeyRange {
    let offset = offsets[storeOrdinal(of: index)].entity
    guard hasBareReferences(index), offset > 0 else { return range }
    func raised(_ bound: [UInt8]) -> [UInt8] {
      guard bound.count >= 2 else { return bound }
      let number = UInt16(bound[0]) << 8 | UInt16(bound[1])
      return Self.head(of: number &+ offset) + bound.dropFirst(2)
    }
    return KeyRange(lower: raised(range.lower), upper: range.upper.map(raised))
  }

  private static func head(of number: UInt16) -> [UInt8] {
    [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
  }
}

/// Joins several stores into one.
package final class JoinedStore: PersistentStore {
  /// One of the joined stores.
  package struct Member: Sendable {
    let store: any PersistentStore
    let durability: Durability
    /// Whether the store is open only for reading.
    let isReadOnly: Bool

    package init(_ store: any PersistentStore, durability: Durability, isReadOnly: Bool) {
      self.store = store
      self.durability = durability
      self.isReadOnly = isReadOnly
    }
  }

  package var schema: StoreSchema { schemas.newest }
  let members: [Member]
  let places: JoinedPlaces
  private let schemas: JoinedSchemas

  /// - Parameter members: The stores, in the order in which they are queried. If several stores
  ///   have the same entity, its name refers to the entity of the first writable store.
  /// - Returns: Nil if there are too many stores, entities or properties.
  package init?(_ members: [Member]) {
    let parts = members.map(\.store.schema)
    var offsets: [StoreOffset] = []
    var next = StoreOffset()
    for part in parts {
      offsets.append(next)
      guard let behind = next.after(part) else { return nil }
      next = behind
    }
    if members.count > Int(UInt8.max) { return nil }
    let order =
      members.indices.filter { !members[$0].isReadOnly } + members.indices.filter { members[$0].isReadOnly }
    self.members = members
    places = JoinedPlaces(parts, offsets)
    schemas = JoinedSchemas(parts, offsets, order: order)
  }

  /// The identifiers of the members, joined by `+`. Object ids contain the identifier of a member,
  /// not this one.
  package var identifier: String { members.map(\.store.identifier).joined(separator: "+") }

  package func view() -> any StoreView { joined(members.map { $0.store.view() }) }

  func joined(_ views: [any StoreView]) -> JoinedView {
    JoinedView(views, places, schemas.joined(views.map(\.schema)))
  }

  package func refresh() throws {
    var causes: [(place: Int, cause: any Error)] = []
    for place in members.indices {
      do { try members[place].store.refresh() } catch { causes.append((place, error)) }
    }
    if !causes.isEmpty { throw JoinedRefreshFailure(causes: causes) }
  }

  package func allocateIDs(entity: UInt16, count: Int) throws -> Range<UInt64> {
    guard let place = places.storeOrdinal(ofEntity: entity) else {
      preconditionFailure("No store has an entity with the number \(entity).")
    }
    return try members[place].store.allocateIDs(entity: entity - places.offsets[place].entity, count: count)
  }

  package func endReading() {
    for member in members { member.store.endReading() }
  }

  package func close() throws {
    var first: (any Error)?
    for member in members {
      do { try member.store.close() } catch { first = first ?? error }
    }
    if let first { throw first }
  }
}

// Several stores as one: what a context of a container with several stores sees.
//
// Each store goes on counting its entities, properties and indexes from 1, in its files too. A joined store gives them
// numbers that are unique among all: those of the store and an offset (`StoreOffset`). They are translated here, where
// references, index ranges and changes pass, and in the field tables of the joined schema's layouts, by which
// references are read from rows and written into them (`RowField.entityOffset`): rows themselves pass as they are. An
// entity that several stores have is one entity for each; a fetch asks them in turn (Fetching/FetchParts.swift).
// The context above knows one `PersistentStore` either way, and a container with a single store has none of this.
//
// Invariants:
//   J1. No reference leads from one store to another: a save that would make one is refused before it gets here
//       (StoreAssignment.swift). So every change, range and link belongs to one store.
//   J2. A view has a view of each store. They were taken one after the other: each is a consistent state, and all of
//       them together need not be one that ever was.
//   J3. A commit over several stores is first judged by all of them, with nothing written. Then they commit in their
//       order; what one of them refuses after that, because somebody was faster or its medium is full, leaves what came
//       before committed, and `IncompleteCommit` says so.

internal import PerdurePredicates

/// A commit of which a part was made.
struct IncompleteCommit: Error {
  /// The places of the stores that have committed.
  let committed: [Int]
  /// The place of the store that has not, and after which none was asked.
  let failed: Int
  /// What to go on with: the new states of those that have committed, and the others as they were seen before.
  let view: any StoreView
  /// Why, in the numbers of the joined store.
  let cause: any Error
}

/// Some stores could not be moved on; the others were.
struct JoinedRefreshFailure: Error {
  let causes: [(place: Int, cause: any Error)]
}

/// Where the numbers of a joined store belong.
struct JoinedPlaces: Sendable {
  let offsets: [StoreOffset]
  /// By entity number.
  private let placesOfEntities: [UInt8]
  /// By index.
  private let placesOfIndexes: [UInt8]
  /// By index, whether its keys are references.
  private let haveBareReferences: [Bool]

  init(_ parts: [StoreSchema], _ offsets: [StoreOffset]) {
    self.offsets = offsets
    placesOfEntities = parts.indices.flatMap {
      [UInt8](repeating: UInt8($0), count: parts[$0].entities.count)
    }
    placesOfIndexes = parts.indices.flatMap { [UInt8](repeating: UInt8($0), count: parts[$0].indexes.count) }
    haveBareReferences = parts.flatMap { $0.indexes.map(\.hasBareReferences) }
  }

  /// The place of the store that has an entity, whose number may come from anywhere.
  func place(ofEntity number: UInt16) -> Int? {
    Int(number) < placesOfEntities.count ? Int(placesOfEntities[Int(number)]) : nil
  }

  func place(of index: StoreIndex) -> Int { Int(placesOfIndexes[index.rawValue]) }

  func hasBareReferences(_ index: StoreIndex) -> Bool { haveBareReferences[index.rawValue] }

  /// A range of an index, as its store has it.
  func lowered(_ range: KeyRange, of index: StoreIndex) -> KeyRange {
    let offset = offsets[place(of: index)].entity
    guard hasBareReferences(index), offset > 0 else { return range }
    guard let lower = Self.lowered(range.lower, by: offset) else {
      // It begins before all references of the store.
      return KeyRange(lower: [], upper: range.upper.map { Self.lowered($0, by: offset) ?? [] })
    }
    return KeyRange(lower: lower, upper: range.upper.map { Self.lowered($0, by: offset) ?? [] })
  }

  /// A bound of references with smaller entity numbers; nil where it is before all of them.
  private static func lowered(_ bound: [UInt8], by offset: UInt16) -> [UInt8]? {
    var bound = bound
    while bound.count < 2 { bound.append(0) }
    let number = UInt16(bound[0]) << 8 | UInt16(bound[1])
    guard number >= offset else { return nil }
    return head(of: number - offset) + bound.dropFirst(2)
  }

  /// A range that a store names, in the numbers of all.
  func raised(_ range: KeyRange, of index: StoreIndex) -> KeyRange {
    let offset = offsets[place(of: index)].entity
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

/// Several stores as one.
package final class JoinedStore: PersistentStore {
  /// One of the stores.
  package struct Member: Sendable {
    let store: any PersistentStore
    let durability: Durability
    /// Whether nothing new goes into it.
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

  /// - Parameter members: In the order in which they are asked. Among those that have an entity, its name means that
  ///   of the first which can be written.
  /// - Returns: nil when the numbers do not suffice for all entities and properties.
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

  /// Of no use as a name: each member has its own.
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
    guard let place = places.place(ofEntity: entity) else {
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

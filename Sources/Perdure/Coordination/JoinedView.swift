// Joins views of several stores into one.

internal import PerdurePredicates

final class JoinedView: StoreView {
  let views: [any StoreView]
  let places: JoinedPlaces
  /// The joined schema of the views.
  let schema: StoreSchema
  /// The sum of the sequence numbers of the stores.
  let sequence: UInt64
  var countsCommits: Bool { false }

  init(_ views: [any StoreView], _ places: JoinedPlaces, _ schema: StoreSchema) {
    self.views = views
    self.places = places
    self.schema = schema
    sequence = views.reduce(0) { $0 &+ $1.sequence }
    keepsRows = views.allSatisfy(\.keepsRows)
    answersAtOnce = views.allSatisfy(\.answersAtOnce)
  }

  func checkIsOpen() throws {
    for view in views { try view.checkIsOpen() }
  }

  /// The view that contains an object, and the object's reference in that view; nil if no store has
  /// the entity.
  private func part(_ reference: ObjectReference) -> (view: any StoreView, reference: ObjectReference)? {
    places.storeOrdinal(ofEntity: reference.entityNumber).map { place in
      (views[place], reference.lowered(by: places.offsets[place].entity))
    }
  }

  private func part(ofEntity number: UInt16) -> (view: any StoreView, offset: UInt16) {
    guard let place = places.storeOrdinal(ofEntity: number) else {
      preconditionFailure("No store has an entity with the number \(number).")
    }
    return (views[place], places.offsets[place].entity)
  }

  let keepsRows: Bool
  let answersAtOnce: Bool

  func row(_ reference: ObjectReference, _ body: (StoredRow) throws -> Void) throws {
    guard let part = part(reference) else { return }
    try part.view.row(part.reference, body)
  }

  func version(of reference: ObjectReference) throws -> RowVersion? {
    try part(reference).flatMap { try $0.view.version(of: $0.reference) }
  }

  func rowCount(entity: UInt16) throws -> Int {
    let (view, offset) = part(ofEntity: entity)
    return try view.rowCount(entity: entity - offset)
  }

  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool
  ) throws {
    let (view, offset) = part(ofEntity: entity)
    try view.visitRows(entity: entity - offset, descending: descending) { reference, row in
      try body(reference.raised(by: offset), row)
    }
  }

  func visitReferences(
    entity: UInt16, from first: UInt64, _ body: (ObjectReference) throws -> Bool
  ) throws {
    let (view, offset) = part(ofEntity: entity)
    try view.visitReferences(entity: entity - offset, from: first) { try body($0.raised(by: offset)) }
  }

  /// Reads the rows store by store.
  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws {
    var positions = [[Int]](repeating: [], count: views.count)
    for (position, reference) in references.enumerated() {
      if let place = places.storeOrdinal(ofEntity: reference.entityNumber) {
        positions[place].append(position)
      } else {
        try body(position, nil)
      }
    }
    for (place, positions) in positions.enumerated() where !positions.isEmpty {
      let offset = places.offsets[place].entity
      let asked = positions.map { references[$0].lowered(by: offset) }
      try views[place].rows(asked) { try body(positions[$0], $1) }
    }
  }

  // MARK: Indexes

  func entryCount(_ index: StoreIndex, _ range: KeyRange) throws -> Int {
    let place = places.storeOrdinal(of: index)
    let range = places.lowered(range, of: index)
    // A range of references of another store may be empty in the numbers of this store.
    if range.isEmpty { return 0 }
    return try views[place].entryCount(index.lowered(by: places.offsets[place]), range)
  }

  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool
  ) throws {
    let place = places.storeOrdinal(of: index)
    let offset = places.offsets[place]
    let range = places.lowered(range, of: index)
    if range.isEmpty { return }
    let own = index.lowered(by: offset)
    guard places.hasBareReferences(index), offset.entity > 0 else {
      return try views[place].visitEntries(own, range, descending: descending) {
        try body($0, $1.raised(by: offset.entity))
      }
    }
    try views[place].visitEntries(own, range, descending: descending) { key, reference in
      try Self.withRaised(key, by: offset.entity) { try body($0, reference.raised(by: offset.entity)) }
    }
  }

  /// Passes a copy of a key to `body`. The reference at the start of the copy is in joined numbers.
  private static func withRaised<R>(
    _ key: UnsafeRawBufferPointer, by offset: UInt16, _ body: (UnsafeRawBufferPointer) throws -> R
  ) rethrows -> R {
    try withUnsafeTemporaryAllocation(byteCount: key.count, alignment: 8) { buffer in
      buffer.copyMemory(from: key)
      let owner = ObjectReference(rawValue: UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)))
      buffer.storeBytes(of: owner.raised(by: offset).rawValue.bigEndian, as: UInt64.self)
      return try body(UnsafeRawBufferPointer(rebasing: buffer[..<key.count]))
    }
  }

  func orderKey(
    of member: ObjectReference, under owner: ObjectReference, in order: OrderIndexes
  ) throws -> OrderKey? {
    let place = places.storeOrdinal(of: order.keys)
    guard places.storeOrdinal(ofEntity: owner.entityNumber) == place,
      places.storeOrdinal(ofEntity: member.entityNumber) == place
    else { return nil }
    let offset = places.offsets[place]
    return try views[place].orderKey(
      of: member.lowered(by: offset.entity), under: owner.lowered(by: offset.entity),
      in: order.lowered(by: offset))
  }

  func withEntry(
    at position: Int, of range: KeyRange, in index: StoreIndex,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Void
  ) throws {
    let place = places.storeOrdinal(of: index)
    let offset = places.offsets[place]
    let range = places.lowered(range, of: index)
    if range.isEmpty { return }
    try views[place].withEntry(at: position, of: range, in: index.lowered(by: offset)) { key, reference in
      guard places.hasBareReferences(index), offset.entity > 0 else {
        return try body(key, reference.raised(by: offset.entity))
      }
      try Self.withRaised(key, by: offset.entity) { try body($0, reference.raised(by: offset.entity)) }
    }
  }

  func sum(_ index: StoreIndex, of owner: ObjectReference) throws -> StoredSum? {
    let place = places.storeOrdinal(of: index)
    // No object in that store refers to an owner in another store, so there is no sum.
    guard places.storeOrdinal(ofEntity: owner.entityNumber) == place else { return nil }
    let offset = places.offsets[place]
    return try views[place].sum(index.lowered(by: offset), of: owner.lowered(by: offset.entity))
  }

  func appendReferences(
    under owner: ObjectReference, in index: StoreIndex, to found: inout [ObjectReference]
  ) throws {
    let place = places.storeOrdinal(of: index)
    guard places.storeOrdinal(ofEntity: owner.entityNumber) == place else { return }
    let offset = places.offsets[place]
    let count = found.count
    defer {
      for position in found.indices[count...] { found[position] = found[position].raised(by: offset.entity) }
    }
    try views[place].appendReferences(
      under: owner.lowered(by: offset.entity), in: index.lowered(by: offset), to: &found)
  }

  /// Makes one request if all owners are in the store of the index; otherwise one for each owner.
  func appendReferences(
    _ request: RelationshipRequest, to found: inout [ObjectReference], ends: inout [Int],
    rows: (ObjectReference, StoredRow) throws -> Void
  ) throws {
    let place = places.storeOrdinal(of: request.index)
    guard request.owners.allSatisfy({ places.storeOrdinal(ofEntity: $0.entityNumber) == place }) else {
      return try appendReferencesOneByOne(request, to: &found, ends: &ends)
    }
    let offset = places.offsets[place]
    let count = found.count
    defer {
      for position in found.indices[count...] { found[position] = found[position].raised(by: offset.entity) }
    }
    let own = RelationshipRequest(
      owners: request.owners.map { $0.lowered(by: offset.entity) }, index: request.index.lowered(by: offset),
      order: request.order?.lowered(by: offset), countMax: request.countMax, wantsRows: request.wantsRows)
    try views[place].appendReferences(own, to: &found, ends: &ends) {
      try rows($0.raised(by: offset.entity), $1)
    }
  }

  func hasEntry(
    under owner: ObjectReference, _ reference: ObjectReference, in index: StoreIndex
  ) throws -> Bool {
    let place = places.storeOrdinal(of: index)
    guard places.storeOrdinal(ofEntity: owner.entityNumber) == place,
      places.storeOrdinal(ofEntity: reference.entityNumber) == place
    else { return false }
    let offset = places.offsets[place]
    return try views[place].hasEntry(
      under: owner.lowered(by: offset.entity), reference.lowered(by: offset.entity),
      in: index.lowered(by: offset))
  }

  /// Makes one request for each run of references to one store. Most adjacent references belong to
  /// the same store.
  func readAhead(
    _ references: UnsafeBufferPointer<ObjectReference>, bytesMax: Int,
    _ body: (Int, StoredRow) throws -> Void
  ) throws {
    try withUnsafeTemporaryAllocation(of: ObjectReference.self, capacity: references.count) { own in
      var start = 0
      while start < references.count {
        let place = places.storeOrdinal(ofEntity: references[start].entityNumber)
        var end = start
        while end < references.count, places.storeOrdinal(ofEntity: references[end].entityNumber) == place {
          let offset = place.map { places.offsets[$0].entity } ?? 0
          own.initializeElement(at: end, to: references[end].lowered(by: offset))
          end += 1
        }
        if let place {
          try views[place].readAhead(
            UnsafeBufferPointer(rebasing: own[start..<end]), bytesMax: bytesMax
          ) { [start] in try body(start + $0, $1) }
        }
        start = end
      }
    }
  }
}

extension OrderIndexes {
  /// The indexes in the numbers of their store.
  fileprivate func lowered(by offset: StoreOffset) -> OrderIndexes {
    OrderIndexes(keys: keys.lowered(by: offset), ordered: ordered.lowered(by: offset))
  }
}

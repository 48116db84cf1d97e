// A snapshot of the engine, as a view of the graph.

internal import PerdureLog
internal import PerdurePredicates

final class LogStoreView: StoreView {
  let snapshot: Snapshot
  let schema: StoreSchema
  private let keyspaces: LogKeyspaces
  private let permission: ReadPermission

  init(
    _ snapshot: Snapshot, _ schema: StoreSchema, _ keyspaces: LogKeyspaces, _ permission: ReadPermission
  ) {
    self.permission = permission
    self.snapshot = snapshot
    self.schema = schema
    self.keyspaces = keyspaces
  }

  var sequence: UInt64 { snapshot.sequence }

  @inline(__always)
  func checkIsOpen() throws { try permission.check() }

  /// Rows are in the mapped log, or unpacked in memory. The snapshot retains both.
  var keepsRows: Bool { true }
  var answersAtOnce: Bool { true }

  func row(_ reference: ObjectReference, _ body: (StoredRow) throws -> Void) throws {
    if let row = try storedRow(reference) { try body(row) }
  }

  private func storedRow(_ reference: ObjectReference) throws -> StoredRow? {
    try checkIsOpen()
    guard let keyspace = keyspaces.rows[checked: reference.entityNumber] else { return nil }
    return try snapshot.record(id: reference.id, in: keyspace).map(StoredRow.init(_:))
  }

  func version(of reference: ObjectReference) throws -> RowVersion? {
    try checkIsOpen()
    guard let keyspace = keyspaces.rows[checked: reference.entityNumber] else { return nil }
    return try snapshot.version(id: reference.id, in: keyspace).map { RowVersion(rawValue: $0.rawValue) }
  }

  func versions(
    of references: [ObjectReference], _ body: (Int, RowVersion?) throws -> Void
  ) throws {
    for position in references.indices { try body(position, version(of: references[position])) }
  }

  func rowCount(entity: UInt16) throws -> Int {
    try checkIsOpen()
    return snapshot.count(in: keyspaces.rows(of: entity))
  }

  func visitRows(
    entity: UInt16, descending: Bool, _ body: (ObjectReference, StoredRow) throws -> Bool
  ) throws {
    try checkIsOpen()
    try snapshot.visitBytes(keyspaces.rows(of: entity), ids: 0 ... .max, descending: descending) {
      id, bytes, version in
      try body(
        ObjectReference(entity: entity, id: id),
        StoredRow(bytes: bytes, version: RowVersion(rawValue: version.rawValue)))
    }
  }

  func visitReferences(
    entity: UInt16, from first: UInt64, _ body: (ObjectReference) throws -> Bool
  ) throws {
    try checkIsOpen()
    try snapshot.visitIDs(keyspaces.rows(of: entity), from: first) {
      try body(ObjectReference(entity: entity, id: $0))
    }
  }

  /// Reads the rows in one batch for each entity, in the order of the log.
  func rows(_ references: [ObjectReference], _ body: (Int, StoredRow?) throws -> Void) throws {
    try checkIsOpen()
    if references.count == 1 { return try body(0, storedRow(references[0])) }
    if let entity = references.first?.entityNumber,
      references.allSatisfy({ $0.entityNumber == entity }), let keyspace = keyspaces.rows[checked: entity]
    {
      return try snapshot.withRecords(ids: references.map(\.id), in: keyspace) { position, record in
        try body(position, record.map(StoredRow.init(_:)))
      }
    }
    for (entity, positions) in Dictionary(grouping: references.indices, by: { references[$0].entityNumber }) {
      guard let keyspace = keyspaces.rows[checked: entity] else {
        for position in positions { try body(position, nil) }
        continue
      }
      try snapshot.withRecords(ids: positions.map { references[$0].id }, in: keyspace) { place, record in
        try body(positions[place], record.map(StoredRow.init(_:)))
      }
    }
  }

  func entryCount(_ index: StoreIndex, _ range: KeyRange) throws -> Int {
    try checkIsOpen()
    return switch keyspaces.places[index.rawValue] {
    case .derived(let derived): try snapshot.count(in: derived, range: range.inLog)
    case .links(let links): try snapshot.countPairs(links, range.inLog)
    }
  }

  func visitEntries(
    _ index: StoreIndex, _ range: KeyRange, descending: Bool,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Bool
  ) throws {
    try checkIsOpen()
    switch keyspaces.places[index.rawValue] {
    case .derived(let derived):
      try snapshot.visit(derived, range.inLog, descending: descending) { key, reference in
        try body(key, ObjectReference(rawValue: reference))
      }
    case .links(let links):
      try snapshot.visitPairs(links, range.inLog, descending: descending) { key, reference in
        try body(key, ObjectReference(rawValue: reference))
      }
    }
  }
}

// MARK: - Orders

extension LogStoreView {
  func orderKey(
    of member: ObjectReference, under owner: ObjectReference, in order: OrderIndexes
  ) throws -> OrderKey? {
    try checkIsOpen()
    guard case .links(let keyspace) = keyspaces.places[order.keys.rawValue] else { return nil }
    let key = withUnsafeBytes(of: (owner.rawValue.bigEndian, member.rawValue.bigEndian)) { Array($0) }
    return try snapshot.value(key: key, in: keyspace).flatMap { OrderKey($0) }
  }

  func withEntry(
    at position: Int, of range: KeyRange, in index: StoreIndex,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Void
  ) throws {
    try checkIsOpen()
    guard case .derived(let derived) = keyspaces.places[index.rawValue] else {
      preconditionFailure("Only derived indexes have positions.")
    }
    try snapshot.withEntry(at: position, of: range.inLog, in: derived) { key, reference in
      try body(key, ObjectReference(rawValue: reference))
    }
  }
}

// MARK: - Sums

extension LogStoreView {
  func sum(_ index: StoreIndex, of owner: ObjectReference) throws -> StoredSum? {
    try checkIsOpen()
    guard case .derived(let derived) = keyspaces.places[index.rawValue] else { return nil }
    return try snapshot.sum(of: owner.rawValue, in: derived).map { StoredSum($0) }
      ?? StoredSum(isReal: schema.definition(index).sumsReals)
  }
}

// MARK: - Members

extension LogStoreView {
  func appendReferences(
    under owner: ObjectReference, in index: StoreIndex, to found: inout [ObjectReference]
  ) throws {
    try checkIsOpen()
    switch keyspaces.places[index.rawValue] {
    case .derived(let derived):
      try snapshot.forEachMember(of: owner.rawValue, in: derived) {
        found.append(ObjectReference(rawValue: $0))
      }
    case .links(let links):
      try snapshot.forEachMember(of: owner.rawValue, in: links) {
        found.append(ObjectReference(rawValue: $0))
      }
    }
  }

  func appendReferences(
    _ request: RelationshipRequest, to found: inout [ObjectReference], ends: inout [Int],
    rows: (ObjectReference, StoredRow) throws -> Void
  ) throws {
    try appendReferencesOneByOne(request, to: &found, ends: &ends)
  }

  func hasEntry(
    under owner: ObjectReference, _ reference: ObjectReference, in index: StoreIndex
  ) throws -> Bool {
    try checkIsOpen()
    return switch keyspaces.places[index.rawValue] {
    case .derived(let derived):
      try snapshot.hasMember(reference.rawValue, of: owner.rawValue, in: derived)
    case .links(let links): try snapshot.hasMember(reference.rawValue, of: owner.rawValue, in: links)
    }
  }

  /// Makes one request for each run of references of one entity. Sorted references have one run for
  /// each entity.
  func readAhead(
    _ references: UnsafeBufferPointer<ObjectReference>, bytesMax: Int,
    _ body: (Int, StoredRow) throws -> Void
  ) throws {
    try checkIsOpen()
    try withUnsafeTemporaryAllocation(of: UInt64.self, capacity: references.count) { ids in
      var start = 0
      while start < references.count {
        let entity = references[start].entityNumber
        var end = start
        while end < references.count, references[end].entityNumber == entity {
          ids[end] = references[end].id
          end &+= 1
        }
        if let keyspace = keyspaces.rows[checked: entity] {
          let part = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(ids)[start..<end])
          try snapshot.forEachShortRecord(ids: part, in: keyspace, bytesMax: bytesMax) {
            place, bytes, version in
            try body(start &+ place, StoredRow(bytes: bytes, version: RowVersion(rawValue: version.rawValue)))
          }
        }
        start = end
      }
    }
  }
}

extension StoredRow {
  fileprivate init(_ record: (bytes: UnsafeRawBufferPointer, version: RecordVersion)) {
    self.init(bytes: record.bytes, version: RowVersion(rawValue: record.version.rawValue))
  }
}

extension KeyRange {
  /// The range in the type of the engine.
  var inLog: PerdureLog.KeyRange { .init(lower: lower, upper: upper) }
}

extension [Keyspace?] {
  /// The keyspace of an entity number; nil if the number is unknown.
  fileprivate subscript(checked entity: UInt16) -> Keyspace? {
    Int(entity) < count ? self[Int(entity)] : nil
  }
}

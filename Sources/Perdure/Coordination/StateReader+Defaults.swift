// Default implementations of a reader's capabilities, by its required requests. The second part has
// functions that use both.

package import PerdurePredicates

extension StateReader {
  package var keepsRows: Bool { false }

  package var answersAtOnce: Bool { false }

  package func checkIsOpen() throws {}

  package func row(_ reference: ObjectReference, _ body: (StoredRow) throws -> Void) throws {
    try rows([reference]) { if let row = $1 { try body(row) } }
  }

  package func version(of reference: ObjectReference) throws -> RowVersion? {
    var version: RowVersion?
    try row(reference) { version = $0.version }
    return version
  }

  package func versions(
    of references: [ObjectReference], _ body: (Int, RowVersion?) throws -> Void
  ) throws {
    try rows(references) { try body($0, $1?.version) }
  }

  package func visitReferences(
    entity: UInt16, from first: UInt64, _ body: (ObjectReference) throws -> Bool
  ) throws {
    try visitRows(entity: entity, descending: false) { reference, _ in
      reference.id < first ? true : try body(reference)
    }
  }

  package func appendReferences(
    under owner: ObjectReference, in index: StoreIndex, to found: inout [ObjectReference]
  ) throws {
    var ends: [Int] = []
    let request = RelationshipRequest(owners: [owner], index: index)
    try appendReferences(request, to: &found, ends: &ends) { _, _ in }
  }

  package func visitReferences(
    _ requests: [RelationshipRequest],
    _ body: (Int, ObjectReference, [ObjectReference]) throws -> Void
  ) throws {
    for (number, request) in requests.enumerated() {
      var (found, ends) = ([ObjectReference](), [Int]())
      try appendReferences(request, to: &found, ends: &ends) { _, _ in }
      var start = 0
      for (owner, end) in zip(request.owners, ends) {
        try body(number, owner, Array(found[start..<end]))
        start = end
      }
    }
  }

  package func appendCounts(
    of owners: [ObjectReference], in index: StoreIndex, to counts: inout [Int]
  ) throws {
    if answersAtOnce || owners.count == 1 {
      for owner in owners { counts.append(try entryCount(index, .owner(owner))) }
      return
    }
    var (found, ends) = ([ObjectReference](), [Int]())
    let request = RelationshipRequest(owners: owners, index: index)
    try appendReferences(request, to: &found, ends: &ends) { _, _ in }
    var start = 0
    for end in ends {
      counts.append(end - start)
      start = end
    }
  }

  package func hasEntry(
    under owner: ObjectReference, _ reference: ObjectReference, in index: StoreIndex
  ) throws -> Bool {
    var found: [ObjectReference] = []
    try appendReferences(under: owner, in: index, to: &found)
    return found.contains(reference)
  }

  package func orderKey(
    of member: ObjectReference, under owner: ObjectReference, in order: OrderIndexes
  ) throws -> OrderKey? {
    var found: OrderKey?
    try visitEntries(order.ordered, OrderIndexes.range(of: owner), descending: false) { key, reference in
      if reference == member { found = OrderIndexes.orderKey(in: key) }
      return found == nil
    }
    return found
  }

  package func withEntry(
    at position: Int, of range: KeyRange, in index: StoreIndex,
    _ body: (UnsafeRawBufferPointer, ObjectReference) throws -> Void
  ) throws {
    var left = position
    try visitEntries(index, range, descending: false) { key, reference in
      if left == 0 { try body(key, reference) }
      left -= 1
      return left >= 0
    }
  }

  package func sum(_ index: StoreIndex, of owner: ObjectReference) throws -> StoredSum? { nil }

  package func readAhead(
    _ references: UnsafeBufferPointer<ObjectReference>, bytesMax: Int,
    _ body: (Int, StoredRow) throws -> Void
  ) throws {
    try rows(Array(references)) { position, row in
      if let row, row.bytes.count <= bytesMax { try body(position, row) }
    }
  }
}

extension StateReader {
  package func visit(
    _ fetch: CompiledFetch, needsRows: Bool, _ body: (ObjectReference, StoredRow?) throws -> Bool
  ) throws {
    try FetchRun(fetch, self).visit(needsRows: needsRows, body)
  }

  package func count(_ fetch: CompiledFetch) throws -> Int { try FetchRun(fetch, self).count() }
}

// MARK: - Reading with the requests

extension StateReader {
  /// Calls `body` with a row, or with nil if there is none.
  @inline(__always)
  func withRow<R>(_ reference: ObjectReference, _ body: (StoredRow?) throws -> R) throws -> R {
    var result: R?
    try row(reference) { result = try body($0) }
    if let result { return result }
    return try body(nil)
  }

  /// A row that is valid beyond the call; nil if there is none.
  func leasedRow(_ reference: ObjectReference) throws -> LeasedRow? {
    try withRow(reference) { row in row.map { LeasedRow($0, of: self) } }
  }

  /// Answers a request for the other ends of a relationship by separate requests for each owner.
  func appendReferencesOneByOne(
    _ request: RelationshipRequest, to found: inout [ObjectReference], ends: inout [Int]
  ) throws {
    for owner in request.owners {
      if let order = request.order {
        found += try members(request.index, order, of: owner)
      } else {
        try appendReferences(under: owner, in: request.index, to: &found)
      }
      ends.append(found.count)
      if found.count > request.countMax { return }
    }
  }

  /// The objects at the other end of an ordered relationship, in its order. Objects without an
  /// order key are at the end. Order keys without a link are ignored.
  ///
  /// - Complexity: O(n) for n objects.
  func members(
    _ index: StoreIndex, _ order: OrderIndexes, of owner: ObjectReference
  ) throws -> [ObjectReference] {
    var placed: [ObjectReference] = []
    try visitEntries(order.ordered, OrderIndexes.range(of: owner), descending: false) { _, member in
      placed.append(member)
      return true
    }
    if try placed.count == entryCount(index, .owner(owner)) { return placed }
    var linked: [ObjectReference] = []
    try appendReferences(under: owner, in: index, to: &linked)
    let (members, known) = (Set(linked), Set(placed))
    return placed.filter(members.contains) + linked.filter { !known.contains($0) }
  }
}

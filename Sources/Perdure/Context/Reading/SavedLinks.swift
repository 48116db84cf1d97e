// The saved targets of relationships: from the context's view of the store, or from the table of
// transient links.

internal import PerdurePredicates

/// Reads links and positions without unsaved changes.
final class SavedLinks {
  private let graph: GraphSchema
  private let viewState: ViewState
  private let pending: PendingChanges
  private let transientState: TransientState

  init(_ viewState: ViewState, _ pending: PendingChanges, _ transientState: TransientState) {
    graph = viewState.graph
    self.viewState = viewState
    self.pending = pending
    self.transientState = transientState
  }

  // MARK: Links

  /// Whether a saved link exists. O(log n).
  func isSavedLink(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) -> Bool {
    if pending.isUnknownToStore(owner) || pending.isUnknownToStore(target) { return false }
    guard let index = relationship.index else {
      return transientState.hasTransientLink(owner, relationship, target)
    }
    if let known = viewState.linksReadAhead(under: owner, in: index) { return known.contains(target) }
    do { return try viewState.view.hasEntry(under: owner, target, in: index) } catch {
      viewState.noteReadFailure(error, owner)
      return false
    }
  }

  /// The saved targets, in no order. The relationship must not be a column.
  func savedTargets(of owner: ObjectReference, _ relationship: RelationshipShape) -> [ObjectReference] {
    var result: [ObjectReference] = []
    appendSavedTargets(of: owner, relationship, to: &result)
    return result
  }

  @inline(__always)
  func appendSavedTargets(
    of owner: ObjectReference, _ relationship: RelationshipShape, to result: inout [ObjectReference]
  ) {
    if let index = relationship.index {
      appendStoredEntries(index, owner, to: &result)
    } else {
      result += transientState.transientTargets(relationship, of: owner)
    }
  }

  /// The objects whose columns refer to an object, and keep these references when it is deleted
  /// (delete rule no action).
  func leftReferences(to reference: ObjectReference) -> [ObjectReference] {
    graph.shape(of: reference).relationships.flatMap { relationship -> [ObjectReference] in
      guard relationship.deleteRule == .noAction, relationship.isInColumn, relationship.form != .column
      else { return [] }
      return savedTargets(of: reference, relationship)
    }
  }

  /// The number of saved targets. The relationship must not be a column.
  func savedTargetCount(of owner: ObjectReference, _ relationship: RelationshipShape) -> Int {
    guard let index = relationship.index else {
      return transientState.transientTargets(relationship, of: owner).count
    }
    return storedEntryCount(index, owner)
  }

  /// The objects that have a stored link of `relationship` to `target`; empty if the store has no
  /// index of these links, or if the read fails.
  func storedSources(of target: ObjectReference, _ relationship: RelationshipShape) -> [ObjectReference] {
    let index = relationship.form == .column ? relationship.index : relationship.owners
    return index.map { storedEntries($0, target) } ?? []
  }

  /// The references under an owner's key in an index of the store.
  private func storedEntries(_ index: StoreIndex, _ owner: ObjectReference) -> [ObjectReference] {
    var result: [ObjectReference] = []
    appendStoredEntries(index, owner, to: &result)
    return result
  }

  private func appendStoredEntries(
    _ index: StoreIndex, _ owner: ObjectReference, to result: inout [ObjectReference]
  ) {
    if let known = viewState.linksReadAhead(under: owner, in: index) {
      result += known
      return
    }
    viewState.statistics.relationshipRequestCount += 1
    let count = result.count
    do {
      try viewState.view.appendReferences(under: owner, in: index, to: &result)
    } catch {
      // The references found so far are incomplete.
      result.removeSubrange(count...)
      viewState.noteReadFailure(error, owner)
    }
  }

  private func storedEntryCount(_ index: StoreIndex, _ owner: ObjectReference) -> Int {
    viewState.statistics.relationshipCountRequestCount += 1
    do { return try viewState.view.entryCount(index, .owner(owner)) } catch {
      viewState.noteReadFailure(error, owner)
      return 0
    }
  }

  /// Reads the relationships that the deletion of some objects needs, in one request. If the
  /// request fails, each link is read when it is needed, and that read reports the error.
  func readLinksAhead(ofDeleted references: [ObjectReference]) {
    var links = viewState.storedLinks ?? StoredLinks()
    var owners: [StoreIndex: [ObjectReference]] = [:]
    for reference in references where !pending.isUnknownToStore(reference) {
      for index in indexesOfDeletion(graph.shape(of: reference))
      where links.references(under: reference, in: index) == nil {
        owners[index, default: []].append(reference)
      }
    }
    if owners.isEmpty { return }
    let requests = owners.sorted { $0.key.rawValue < $1.key.rawValue }.map {
      RelationshipRequest(owners: $0.value, index: $0.key)
    }
    viewState.statistics.relationshipRequestCount += 1
    do {
      try viewState.view.visitReferences(requests) { request, owner, found in
        links.add(found, under: owner, in: requests[request].index)
      }
      viewState.storedLinks = links
    } catch {
      viewState.storedLinks = nil
    }
  }

  /// The indexes with the links of an object, and with the links to it.
  private func indexesOfDeletion(_ shape: EntityShape) -> Set<StoreIndex> {
    var indexes: Set<StoreIndex> = []
    for relationship in shape.relationships where relationship.form != .column {
      if let index = relationship.index { indexes.insert(index) }
    }
    for relationship in shape.incoming {
      let index = relationship.form == .column ? relationship.index : relationship.owners
      if let index { indexes.insert(index) }
    }
    return indexes
  }

  // MARK: Positions

  /// The number of stored members before an entry of the order.
  func storedCount(
    before place: OrderEntry, of owner: ObjectReference, _ order: OrderIndexes
  ) throws -> Int {
    let key = OrderIndexes.indexKey(owner, place.key)
    let whole = OrderIndexes.range(of: owner)
    var count = try viewState.view.entryCount(order.ordered, KeyRange(lower: whole.lower, upper: key))
    try viewState.view.visitEntries(order.ordered, .equal(key), descending: false) { _, reference in
      if reference.rawValue < place.reference.rawValue { count += 1 }
      return reference.rawValue < place.reference.rawValue
    }
    return count
  }

  func storedPlace(
    at position: Int, of owner: ObjectReference, _ order: OrderIndexes
  ) throws -> OrderEntry? {
    var found: OrderEntry?
    try viewState.view.withEntry(at: position, of: OrderIndexes.range(of: owner), in: order.ordered) {
      key, reference in
      found = OrderIndexes.orderKey(in: key).map { OrderEntry(key: $0, reference: reference) }
    }
    return found
  }

  /// The stored order key of a member; nil also if it cannot be read.
  func storedKey(
    of member: ObjectReference, under owner: ObjectReference, _ order: OrderIndexes
  ) -> OrderKey? {
    viewState.reading(owner, or: nil) { try readStoredKey(of: member, under: owner, order) }
  }

  func readStoredKey(
    of member: ObjectReference, under owner: ObjectReference, _ order: OrderIndexes
  ) throws -> OrderKey? {
    if pending.isUnknownToStore(owner) || pending.isUnknownToStore(member) { return nil }
    return try viewState.view.orderKey(of: member, under: owner, in: order)
  }

  func storedPlaces(of owner: ObjectReference, _ order: OrderIndexes) throws -> [OrderEntry] {
    var places: [OrderEntry] = []
    try viewState.view.visitEntries(order.ordered, OrderIndexes.range(of: owner), descending: false) {
      key, reference in
      if let key = OrderIndexes.orderKey(in: key) {
        places.append(OrderEntry(key: key, reference: reference))
      }
      return true
    }
    return places
  }

  /// The members in an owner's stored order entries, in order. Does not check that they are linked.
  func storedMembers(of owner: ObjectReference, _ order: OrderIndexes) -> [ObjectReference] {
    viewState.reading(owner, or: []) { try storedPlaces(of: owner, order).map(\.reference) }
  }

  /// The stored members of an owner, in order.
  func storedMembers(
    of owner: ObjectReference, _ relationship: RelationshipShape, _ order: OrderIndexes
  ) -> [ObjectReference] {
    let linked = savedTargets(of: owner, relationship).sorted { $0.rawValue < $1.rawValue }
    let (members, placed) = (Set(linked), storedMembers(of: owner, order))
    let known = Set(placed)
    return placed.filter(members.contains) + linked.filter { !known.contains($0) }
  }
}

// What is at the other end of a relationship, unsaved changes included; and connecting both ends at once.
//
// A to-one relationship is a column of one of the two rows, and everything else follows from columns and
// links: the other end of a column is what the relation index says, corrected by the delta of the owner's
// overlay. All functions here work on references, so that no instance is made of an object that nobody
// asked for.

internal import PerdurePredicates

// MARK: - Reading

extension ContextCore {
  /// The relationship that leads back, as an object at the other end has it.
  func inverse(of relationship: RelationshipShape, at target: ObjectReference) -> RelationshipShape? {
    relationship.inverseSlot.map { graph.shape(of: target).relationship($0) }
  }

  /// What a column holds, with unsaved changes.
  func columnValue(_ reference: ObjectReference, _ slot: Int) -> Value {
    if let value = tracker[reference]?.value(slot) { return value }
    guard let layouts = graph.shape(of: reference).storage.layouts else { return .null }
    return withRow(reference) { row, _ in layouts.value(slot, of: row) } ?? .null
  }

  /// The reference in a column, with unsaved changes.
  func column(_ reference: ObjectReference, _ slot: Int) -> ObjectReference? {
    if let value = tracker[reference]?.value(slot) {
      if case .reference(let target) = value { return target }
      return nil
    }
    return withRow(reference) { row, _ in
      let field = row.fields[slot]
      return row.isPresent(field) ? row.reference(field) : nil
    } ?? nil
  }

  /// The object at the other end of a to-one relationship.
  func target(of owner: ObjectReference, _ relationship: RelationshipShape) -> ObjectReference? {
    relationship.form == .column
      ? shown(column(owner, relationship.slot), of: owner) : targets(of: owner, relationship).first
  }

  /// The objects at the other end, in order where the relationship has one.
  func targets(of owner: ObjectReference, _ relationship: RelationshipShape) -> [ObjectReference] {
    if relationship.form == .column {
      return shown(column(owner, relationship.slot), of: owner).map { [$0] } ?? []
    }
    var result: [ObjectReference] = []
    appendTargets(of: owner, tracker[owner], relationship, to: &result)
    return result
  }

  /// Appends the objects at the other end of a relationship that is no column.
  ///
  /// - Parameter overlay: The owner's unsaved changes.
  @inline(__always)
  func appendTargets(
    of owner: ObjectReference, _ overlay: ObjectOverlay?, _ relationship: RelationshipShape,
    to result: inout [ObjectReference]
  ) {
    if relationship.order != nil {
      appendOrdered(owner, relationship, to: &result)
      if !vanished.isEmpty { hideVanished(owner, in: &result) }
      return
    }
    if overlay?.isUnknownToStore != true { appendSettledTargets(of: owner, relationship, to: &result) }
    guard let delta = overlay?.delta(relationship.slot) else { return }
    if !delta.removed.isEmpty { result.removeAll { delta.removed.contains($0) } }
    result.append(contentsOf: delta.added.ordered)
    if !vanished.isEmpty { hideVanished(owner, in: &result) }
  }

  @inline(never)
  private func hideVanished(_ owner: ObjectReference, in targets: inout [ObjectReference]) {
    if vanished.contains(owner) { targets.removeAll() } else { targets.removeAll(where: vanished.contains) }
  }

  /// The number of objects at the other end. Reads no row unless the relationship is a column.
  func targetCount(of owner: ObjectReference, _ relationship: RelationshipShape) -> Int {
    if relationship.form == .column {
      return shown(column(owner, relationship.slot), of: owner) == nil ? 0 : 1
    }
    if hasVanished(owner) { return 0 }
    let overlay = tracker[owner]
    let stored = overlay?.isUnknownToStore == true ? 0 : settledTargetCount(of: owner, relationship)
    guard let delta = overlay?.delta(relationship.slot) else { return stored }
    // The store has no entry that leads to what has no row, and no column's delta has any (C6).
    let hidden = vanished.isEmpty ? 0 : delta.added.ordered.count { vanished.contains($0) }
    return stored + delta.countDifference - hidden
  }

  /// Whether an object is at the other end, though it may have vanished.
  func contains(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) -> Bool {
    switch relationship.form {
    case .column: return column(owner, relationship.slot) == target
    case .inverseToOne, .inverseToMany:
      guard let inverse = inverse(of: relationship, at: target) else { return false }
      if let value = tracker[target]?.value(inverse.slot) { return value == .reference(owner) }
      // The index knows as well as the row, which may not be there.
      return isSettledLink(owner, relationship, target)
    case .links, .transient:
      if let known = tracker[owner]?.delta(relationship.slot)?.contains(target) { return known }
      return isSettledLink(owner, relationship, target)
    }
  }

  // What is settled was there after the last save: in the store, or in the table of transient links.

  /// Whether there was a link after the last save. O(log n).
  func isSettledLink(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) -> Bool {
    if tracker.isUnknownToStore(owner) || tracker.isUnknownToStore(target) { return false }
    guard let index = relationship.index else { return hasTransientLink(owner, relationship, target) }
    if let known = linksReadAhead(under: owner, in: index) { return known.contains(target) }
    do { return try view.hasEntry(under: owner, target, in: index) } catch {
      noteReadFailure(error, owner)
      return false
    }
  }

  /// The keys of an owner's entries.
  static func range(of owner: ObjectReference) -> KeyRange {
    var key = OrderedKey()
    key.append(bare: owner)
    return .equal(key.bytes)
  }

  /// The objects that a relationship which is no column had after the last save, in no order.
  func settledTargets(of owner: ObjectReference, _ relationship: RelationshipShape) -> [ObjectReference] {
    var result: [ObjectReference] = []
    appendSettledTargets(of: owner, relationship, to: &result)
    return result
  }

  @inline(__always)
  private func appendSettledTargets(
    of owner: ObjectReference, _ relationship: RelationshipShape, to result: inout [ObjectReference]
  ) {
    if let index = relationship.index {
      appendStoredEntries(index, owner, to: &result)
    } else {
      result += transientTargets(relationship, of: owner)
    }
  }

  /// How many objects they are.
  func settledTargetCount(of owner: ObjectReference, _ relationship: RelationshipShape) -> Int {
    guard let index = relationship.index else { return transientTargets(relationship, of: owner).count }
    return storedEntryCount(index, owner)
  }

  /// The objects that the store has leading to another by a relationship, where it has an index of them.
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
    if let known = linksReadAhead(under: owner, in: index) {
      result += known
      return
    }
    statistics.relationshipRequestCount += 1
    let count = result.count
    do {
      try view.appendReferences(under: owner, in: index, to: &result)
    } catch {
      // What was found until then is not the relationship.
      result.removeSubrange(count...)
      noteReadFailure(error, owner)
    }
  }

  private func storedEntryCount(_ index: StoreIndex, _ owner: ObjectReference) -> Int {
    statistics.relationshipCountRequestCount += 1
    do { return try view.entryCount(index, Self.range(of: owner)) } catch {
      noteReadFailure(error, owner)
      return 0
    }
  }
}

// MARK: - Changing

extension ContextCore {
  /// Whether an object may be put at the other end; misuse stops the program. What is gone is not connected.
  func canConnect(_ object: ManagedObject, _ relationship: RelationshipShape) -> Bool {
    let isOurs = object.uncountedCore._withUnsafeGuaranteedRef { core in
      core.checkOwner()
      return core === self
    }
    if object.header.pointee.isGone { return false }
    if !isOurs { stopAsForeign(object, relationship) }
    let number = object.reference.entityNumber
    if number != relationship.destination, !graph.isKind(number, of: relationship.destination) {
      stop(
        "The relationship \(relationship.name) leads to \(graph.shape(numbered: relationship.destination).name), and "
          + "\(object.objectID) is a \(object.shape.name). Connect an object of the destination.")
    }
    return isThere(object)
  }

  @inline(never)
  private func stopAsForeign(_ object: ManagedObject, _ relationship: RelationshipShape) -> Never {
    stop(
      "The relationship \(relationship.name) cannot lead to \(object.objectID), which belongs to another context. "
        + "Connect the instance of this context: context.object(with: objectID).")
  }

  /// Whether an object that is about to be connected has a row, or will have one. Where another context has
  /// removed the row, the object is gone now: what it is connected with would be left with nothing. Where the
  /// store cannot say, nothing is connected, and the save says why.
  func isThere(_ object: ManagedObject) -> Bool {
    // A new object has unsaved columns, so it is never ready (H1), and a discarded one is new.
    if object.header.pointee.isReady { return true }
    if isDiscarded(object) { return false }
    let hasRow = hasRow(object)
    if hasRow == false { vanish(object) }
    return hasRow == true
  }

  /// Connects two objects, both sides at once. What a to-one side held before is disconnected.
  func connect(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) {
    switch relationship.form {
    case .column: setColumn(owner, relationship, target)
    case .inverseToOne, .inverseToMany:
      guard let inverse = inverse(of: relationship, at: target) else { return }
      setColumn(target, inverse, owner)
    case .links:
      guard !contains(owner, relationship, target) else { return }
      changeLink(owner, relationship, target) { $0.add($1) }
    case .transient:
      guard !contains(owner, relationship, target) else { return }
      makeRoom(owner, relationship)
      if let inverse = inverse(of: relationship, at: target) { makeRoom(target, inverse) }
      changeLink(owner, relationship, target) { $0.add($1) }
    }
    propagateAgain(owner)
    propagateAgain(target)
  }

  /// Disconnects two objects, both sides at once, if they are connected.
  func disconnect(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) {
    guard contains(owner, relationship, target) else { return }
    switch relationship.form {
    case .column: setColumn(owner, relationship, from: target, to: nil)
    case .inverseToOne, .inverseToMany:
      guard let inverse = inverse(of: relationship, at: target) else { return }
      setColumn(target, inverse, from: owner, to: nil)
    case .links, .transient: changeLink(owner, relationship, target) { $0.remove($1) }
    }
  }

  /// A transient relationship that is to-one lets go of what it has, before it gets another object.
  private func makeRoom(_ owner: ObjectReference, _ relationship: RelationshipShape) {
    if !relationship.isToMany { clear(owner, relationship) }
  }

  /// Disconnects whatever a to-one relationship holds.
  func clear(_ owner: ObjectReference, _ relationship: RelationshipShape) {
    let target =
      relationship.form == .column ? column(owner, relationship.slot) : target(of: owner, relationship)
    guard let target else { return }
    disconnect(owner, relationship, target)
  }

  /// What is linked to a deleted object after its delete rules were applied has to follow them too.
  func propagateAgain(_ reference: ObjectReference) {
    guard tracker.isDeleted(reference), let overlay = tracker[reference] else { return }
    tracker.propagateLater(overlay)
  }

  func changeDelta(
    _ owner: ObjectReference, _ slot: Int, _ change: (inout LinkDelta) -> Void
  ) {
    let overlay = overlay(for: owner)
    overlay.changeDelta(slot, change)
    dropIfUnchanged(overlay)
  }

  private func changeLink(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference,
    _ change: (inout LinkDelta, ObjectReference) -> Void
  ) {
    recordLink(owner, relationship, target)
    changeDelta(owner, relationship.slot) { change(&$0, target) }
    followLink(owner, relationship, target)
    guard let inverse = inverse(of: relationship, at: target) else { return }
    if owner == target, inverse.slot == relationship.slot { return }
    changeDelta(target, inverse.slot) { change(&$0, owner) }
    followLink(target, inverse, owner)
  }

  /// The order of a relationship follows a change of its links.
  private func followLink(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) {
    guard relationship.order != nil else { return }
    if contains(owner, relationship, target) {
      didEnter(target, owner, relationship)
    } else {
      didLeave(target, owner, relationship)
    }
  }

  /// Changes a to-one column and the other ends of its old and its new target.
  func setColumn(
    _ source: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference?
  ) {
    setColumn(source, relationship, from: column(source, relationship.slot), to: target)
  }

  /// As above, where it is known what the column holds.
  func setColumn(
    _ source: ObjectReference, _ relationship: RelationshipShape, from old: ObjectReference?,
    to target: ObjectReference?
  ) {
    guard old != target else { return }
    setColumn(source, relationship.slot, target.map(Value.reference) ?? .null)
    if let old { leave(old, relationship, source) }
    if let target { enter(target, relationship, source) }
  }

  /// The other end of a column no longer has `source`.
  private func leave(
    _ target: ObjectReference, _ relationship: RelationshipShape, _ source: ObjectReference
  ) {
    guard let inverse = inverse(of: relationship, at: target) else { return }
    if inverse.form == .column {
      if column(target, inverse.slot) == source { setColumn(target, inverse.slot, .null) }
    } else {
      forgetDangling(target, inverse)
      if hasVanished(target) { return }
      if !hasVanished(source) { changeDelta(target, inverse.slot) { $0.remove(source) } }
      if inverse.order != nil { didLeave(source, target, inverse) }
    }
  }

  /// A relationship with the rule no action leaves references to what is deleted: nothing changes there (C6).
  func forgetDangling(_ target: ObjectReference, _ inverse: RelationshipShape) {
    if inverse.deleteRule == .noAction { addIfVanished(target) }
  }

  /// The other end of a column has `source` now; a to-one end lets go of what it had.
  private func enter(
    _ target: ObjectReference, _ relationship: RelationshipShape, _ source: ObjectReference
  ) {
    guard let inverse = inverse(of: relationship, at: target) else { return }
    if inverse.form != .column {
      forgetDangling(target, inverse)
      guard !hasVanished(target), !hasVanished(source) else { return }
    }
    switch inverse.form {
    case .column:
      if let previous = column(target, inverse.slot), previous != source {
        setColumn(previous, relationship.slot, .null)
      }
      setColumn(target, inverse.slot, .reference(source))
    case .inverseToOne:
      leaveAll(target, relationship, but: source)
      changeDelta(target, inverse.slot) { $0.add(source) }
    case .inverseToMany:
      changeDelta(target, inverse.slot) { $0.add(source) }
      if inverse.order != nil { didEnter(source, target, inverse) }
    case .links, .transient: break
    }
  }

  /// The other end of a one-to-one column loses all sources but one.
  func leaveAll(_ target: ObjectReference, _ relationship: RelationshipShape, but source: ObjectReference) {
    guard let inverse = inverse(of: relationship, at: target) else { return }
    for previous in targets(of: target, inverse) where previous != source {
      setColumn(previous, relationship.slot, .null)
      changeDelta(target, inverse.slot) { $0.remove(previous) }
    }
  }
}

// What a child has saved, taken over as unsaved changes.
//
//   1. what each row changes   against the row that the child saw, so that what is changed here otherwise stays
//   2. new objects             with their attributes, without links
//   3. columns                 a to-one relationship with its other end
//   4. links, places in orders
//   5. transient values        in the instances, and transient links
//   6. deletions               with the delete rules; the child has applied most of them itself
//
// Nothing is changed before everything has been read (C4). No hook of the objects is called: those of the child's
// instances were.

internal import PerdurePredicates

/// What a child has changed of an object.
private struct ChildChange {
  let reference: ObjectReference
  /// Changed columns by slot.
  let columns: [(slot: Int, value: Value)]
  /// Whether there is no such object here.
  let isNew: Bool
}

extension ContextCore {
  /// Takes over what a child has saved; it has been judged before.
  ///
  /// - Throws: what the store throws; then nothing has changed.
  func take(_ change: StoreChange, _ transients: [ChangedTransients]) throws {
    keepDropped()
    defer { releaseDropped() }
    let changes = try changes(change)
    let insertedAgain = Set(
      change.preconditions.compactMap {
        if case .rowAbsent(let reference) = $0 { reference } else { nil }
      })
    beginUndoGroup("")
    defer { endUndoGroup() }
    for new in changes where new.isNew { insert(new, isAgain: insertedAgain.contains(new.reference)) }
    // What led to them may have been changed here meanwhile (C3).
    if !insertedAgain.isEmpty { rebaseDeltas() }
    for change in changes { set(change) }
    for link in change.linksRemoved { takeLink(link, connects: false) }
    for link in change.linksAdded { takeLink(link, connects: true) }
    for place in change.places { takePlace(place) }
    for changed in transients { take(changed) }
    for changed in transients { takeLinks(changed) }
    letGo(of: change.removals)
    for reference in change.removals { markDeleted(reference) }
    propagateDeletes()
    if !isSaving { endEvent() }
  }

  private func changes(_ change: StoreChange) throws -> [ChildChange] {
    var changes: [ChildChange] = []
    var failure: (any Error)?
    change.puts.forEach { reference, bytes in
      if failure != nil { return }
      do { changes.append(try self.change(reference, bytes, change.view)) } catch { failure = error }
    }
    if let failure { throw failure }
    return changes
  }

  private func change(
    _ reference: ObjectReference, _ bytes: UnsafeRawBufferPointer, _ seen: any StoreView
  ) throws -> ChildChange {
    let shape = graph.shape(of: reference)
    let isNew = try !isPresent(reference)
    guard let layouts = shape.storage.layouts else {
      return ChildChange(reference: reference, columns: [], isNew: isNew)
    }
    let row = try graph.store.rows.view(bytes, of: reference)
    func columns(since base: RowView?) -> [(slot: Int, value: Value)] {
      shape.properties.indices.compactMap { slot in
        guard shape.isColumn(slot) else { return nil }
        let value = layouts.value(slot, of: row)
        if let base, layouts.value(slot, of: base) == value { return nil }
        return (slot, value)
      }
    }
    if isNew { return ChildChange(reference: reference, columns: columns(since: nil), isNew: true) }
    return try seen.withRow(reference) { before in
      let base = try before.map { try graph.store.rows.view($0.bytes, of: reference) }
      return ChildChange(reference: reference, columns: columns(since: base), isNew: false)
    }
  }

  /// Whether children see the object.
  private func isPresent(_ reference: ObjectReference) throws -> Bool {
    if let overlay = tracker[reference], overlay.isNew || overlay.isDeleted { return !overlay.isDeleted }
    return try view.version(of: reference) != nil
  }

  // MARK: Objects

  private func insert(_ change: ChildChange, isAgain: Bool) {
    if let old = tracker[change.reference] {
      if old.isDeleted, !old.isNew, !hasVanished(old.reference) { return unmarkDeleted(old) }
      forget(old)
    }
    let object = instance(of: change.reference)
    let overlay = ObjectOverlay(change.reference, object.shape, isNew: true, in: memory)
    overlay.isInsertedAgain = isAgain
    overlay.hasPermanentID = isAgain
    recordInsertion(overlay)
    tracker.insert(overlay)
    attach(overlay, to: object)
    vanished.remove(change.reference)
    if object.shape.followsRow { object.header.pointee.wakefulness = .awake }
    for slot in object.shape.properties.indices where object.shape.isColumn(slot) {
      overlay.setValue(.null, slot)
    }
  }

  /// What was changed of an object that is gone gives way to what the child has made of it.
  private func forget(_ overlay: ObjectOverlay) {
    dropTransientsBefore(overlay)
    identityMap.object(overlay.reference)?.header.pointee.overlay = nil
    tracker.remove(overlay.reference)
    linksChanged()
  }

  private func set(_ change: ChildChange) {
    let shape = graph.shape(of: change.reference)
    for (slot, value) in change.columns {
      guard shape.isRelationship(slot) else {
        setColumn(change.reference, slot, value)
        continue
      }
      var target: ObjectReference?
      if case .reference(let reference) = value { target = reference }
      setColumn(change.reference, shape.relationship(slot), target)
    }
  }

  // MARK: Links

  /// A row that goes does not say what the child has taken out of it before. What the child has not deleted with it, it
  /// has let go of: nothing here may deny the deletion or follow it for a link that the child has ended.
  private func letGo(of removals: [ObjectReference]) {
    let removed = Set(removals)
    for reference in removals {
      for relationship in graph.shape(of: reference).relationships where relationship.deleteRule != .noAction
      {
        for target in targets(of: reference, relationship) where !removed.contains(target) {
          disconnect(reference, relationship, target)
        }
      }
    }
  }

  private func takeLink(_ link: StoreLink, connects: Bool) {
    for relationship in graph.shape(of: link.source).relationships {
      guard relationship.form == .links(link.index, isForward: true) else { continue }
      if connects {
        connect(link.source, relationship, link.target)
      } else {
        disconnect(link.source, relationship, link.target)
      }
    }
  }

  /// Where the member stands for the child; who has none is behind all others at either end.
  private func takePlace(_ place: StorePlace) {
    let (owner, member) = (place.link.source, place.link.target)
    for relationship in graph.shape(of: owner).relationships {
      guard relationship.order?.keys == place.link.index, contains(owner, relationship, member) else {
        continue
      }
      setPlace(of: member, to: place.key, of: owner, relationship, isSpread: place.isSpread)
    }
  }
}

// Adopts the changes that a child has saved, as unsaved changes.
//
//   1. changes of rows: compared with the row that the child read, so that other changes of this
//      context stay
//   2. new objects, with their attributes and without links
//   3. columns; for a to-one relationship, its other end is updated too
//   4. links, and positions in orders
//   5. transient values in the instances, and transient links
//   6. deletions, with the delete rules; the child has applied most of them itself
//
// The steps after the first read the store too: the former targets of relationships, positions, and
// the links that delete rules need. If such a read fails, the caller reverts all changes (CX4; VR1
// in EditReversal.swift). `willSave` and validation are not called, because the child has called
// them for its instances. Other hooks are called as for edits: `awakeFromFetch` when an instance
// awakes, and `prepareForDeletion` by delete rules.

internal import PerdurePredicates

/// The changes of one object that a child has saved.
struct ChildChange {
  let reference: ObjectReference
  /// Changed columns by slot.
  let columns: [(slot: Int, value: Value)]
  /// Whether this context does not have the object.
  let isNew: Bool
}

/// Applies the changes that a child context saves.
final class ChildIntake {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let transientState: TransientState
  @Shared private var reading: ContextReading
  @Shared private var editing: ContextEditing

  init(_ reading: Shared<ContextReading>, _ editing: Shared<ContextEditing>) {
    graph = reading.graph
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    transientState = reading.transientState
    _reading = reading
    _editing = editing
  }

  /// Applies the changes of a child, after all checks. Calls neither `willSave` nor validation. If
  /// a read fails, records its error and applies only a part.
  func apply(_ changes: [ChildChange], of change: StoreChange, _ transients: [ChangedTransients]) {
    let insertedAgain = Set(
      change.preconditions.compactMap {
        if case .rowAbsent(let reference) = $0 { reference } else { nil }
      })
    for new in changes where new.isNew { insert(new, isAgain: insertedAgain.contains(new.reference)) }
    // Links to these objects may have been changed here meanwhile (CX3).
    if !insertedAgain.isEmpty { editing.rebase.rebaseDeltas() }
    for change in changes { set(change) }
    for link in change.linksRemoved { takeLink(link, connects: false) }
    for link in change.linksAdded { takeLink(link, connects: true) }
    for place in change.places { takeOrderKey(place) }
    for changed in transients { take(changed) }
    for changed in transients { takeLinks(changed) }
    disconnectSurvivors(from: change.removals)
    for reference in change.removals { editing.objectEditor.markDeleted(reference) }
    editing.deleteRules.propagateDeletes()
  }

  func changes(_ change: StoreChange) throws -> [ChildChange] {
    var changes: [ChildChange] = []
    var failure: (any Error)?
    let (view, written, seen) = (change.view, change.puts.schema.rows, change.view.schema.rows)
    change.puts.forEach { reference, bytes in
      if failure != nil { return }
      do {
        let row = try written.view(bytes, of: reference)
        changes.append(try self.change(reference, row, since: view, seen))
      } catch { failure = error }
    }
    if let failure { throw failure }
    return changes
  }

  /// - Parameter row: The row that the child has written.
  /// - Parameter seen: The state that the child has seen.
  /// - Parameter rows: The layouts with which the rows of that state are decoded.
  private func change(
    _ reference: ObjectReference, _ row: RowView, since seen: any StoreView, _ rows: RowChecks
  ) throws -> ChildChange {
    let shape = graph.shape(of: reference)
    let isNew = try !isPresent(reference)
    func columns(since base: RowView?) -> [(slot: Int, value: Value)] {
      shape.properties.indices.compactMap { slot in
        guard shape.isColumn(slot) else { return nil }
        let value = row.value(slot)
        if base?.value(slot) == value { return nil }
        return (slot, value)
      }
    }
    if isNew { return ChildChange(reference: reference, columns: columns(since: nil), isNew: true) }
    return try seen.withRow(reference) { before in
      let base = try before.map { try rows.view($0.bytes, of: reference) }
      return ChildChange(reference: reference, columns: columns(since: base), isNew: false)
    }
  }

  /// Whether an object exists for children of this context.
  func isPresent(_ reference: ObjectReference) throws -> Bool {
    if let overlay = pending[reference], overlay.isNew || overlay.isDeleted { return !overlay.isDeleted }
    return try viewState.view.version(of: reference) != nil
  }

  func insert(_ change: ChildChange, isAgain: Bool) {
    if let old = pending[change.reference] {
      if old.isDeleted, !old.isNew, !viewState.hasVanished(old.reference) {
        return editing.objectEditor.unmarkDeleted(old)
      }
    }
    let object = registry.instance(of: change.reference)
    // The child's changes replace the unsaved changes that this context has kept of a removed
    // object.
    let overlay = editing.insertion.insertAgain(
      change.reference, wasStored: isAgain, hasPermanentID: isAgain)
    registry.attach(overlay, to: object)
    viewState.vanished.remove(change.reference)
    if object.shape.followsRow { object.header.pointee.wakefulness = .awake }
    for slot in object.shape.properties.indices where object.shape.isColumn(slot) {
      overlay.setValue(.null, slot)
    }
  }

  func set(_ change: ChildChange) {
    let shape = graph.shape(of: change.reference)
    for (slot, value) in change.columns {
      guard shape.isRelationship(slot) else {
        editing.objectEditor.setColumn(change.reference, slot, value)
        continue
      }
      var target: ObjectReference?
      if case .reference(let reference) = value { target = reference }
      editing.linkEditor.setColumn(change.reference, shape.relationship(slot), target)
    }
  }

  /// Removes the links between objects that the child has deleted and objects that it has not
  /// deleted. The row of a deleted object does not show which links the child has removed. The
  /// delete rule of such a link must not prevent the deletion, or cascade, in this context.
  private func disconnectSurvivors(from removals: [ObjectReference]) {
    let removed = Set(removals)
    for reference in removals {
      for relationship in graph.shape(of: reference).relationships where relationship.deleteRule != .noAction
      {
        for target in reading.links.targets(of: reference, relationship) where !removed.contains(target) {
          editing.linkEditor.disconnect(reference, relationship, target)
        }
      }
    }
  }

  func takeLink(_ link: StoreLink, connects: Bool) {
    for relationship in graph.shape(of: link.source).relationships {
      guard relationship.form == .links(link.index, isForward: true) else { continue }
      if connects {
        editing.linkEditor.connect(link.source, relationship, link.target)
      } else {
        editing.linkEditor.disconnect(link.source, relationship, link.target)
      }
    }
  }

  /// Sets the position of a member to its position in the child. A member without a stored position
  /// is last in both contexts.
  func takeOrderKey(_ place: StoreOrderKey) {
    let (owner, member) = (place.link.source, place.link.target)
    for relationship in graph.shape(of: owner).relationships {
      guard relationship.order?.keys == place.link.index, reading.links.contains(owner, relationship, member)
      else {
        continue
      }
      editing.orderEditor.setPlace(
        of: member, to: place.key, of: owner, relationship, isSpread: place.isSpread)
    }
  }

  // MARK: Transient values and links

  /// Whether a save of this child passes transient values or links to its parent.
  var changesTransientsOfParent: Bool {
    guard viewState.isChild, transientState.isUsed || graph.hasTransientRelationships else { return false }
    return pending.contains { !$0.isDeleted && ($0.changesTransients || !$0.transientDeltas.isEmpty) }
  }

  /// The transient values and links that were set since the last save.
  func changedTransients() -> [ChangedTransients] {
    pending.ordered.joined().compactMap { overlay in
      if overlay.isDeleted { return nil }
      let (values, links) = (overlay.setTransients, overlay.transientDeltas)
      if values.isEmpty, links.isEmpty { return nil }
      return ChangedTransients(reference: overlay.reference, values: values, links: links)
    }
  }

  /// Applies the transient values of a child.
  func take(_ changed: ChangedTransients) {
    if changed.values.isEmpty { return }
    let object = registry.instance(of: changed.reference)
    for (slot, held) in changed.values { editing.objectEditor.setTransient(of: object, slot, own(held)) }
  }

  /// Applies the transient links of a child. The next save of this context refuses a link to an
  /// object that the context no longer has.
  func takeLinks(_ changed: ChangedTransients) {
    // Skips an object that no longer exists. If the relationship has an inverse, the other end
    // reports the refused links.
    guard reading.contents.exists(changed.reference) else { return }
    for (slot, delta) in changed.links {
      let relationship = graph.shape(of: changed.reference).relationship(slot)
      for target in delta.removed.ordered {
        editing.linkEditor.disconnect(changed.reference, relationship, target)
      }
      for target in delta.added.ordered {
        if reading.contents.exists(target) {
          editing.linkEditor.connect(changed.reference, relationship, target)
        } else {
          editing.refusal.refuseLink(
            of: registry.instance(of: changed.reference), slot, to: registry.instance(of: target))
        }
      }
    }
  }

  /// Converts a value of the child: an object becomes this context's instance of it.
  func own(_ held: TransientValues.Held) -> TransientValues.Held {
    guard case .object(let set) = held, let object = set.value as? ManagedObject,
      object.header.pointee.memory != registry.memory
    else {
      return held
    }
    return .newObject(registry.instance(of: object.reference))
  }
}

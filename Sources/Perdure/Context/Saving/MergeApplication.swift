// Application of a merge's decisions, after the view has advanced (MG2).

internal import PerdurePredicates

/// Applies the decisions of a merge after the view has advanced.
final class MergeApplication {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  @Shared private var reading: ContextReading
  @Shared private var editing: ContextEditing
  private let mergeRules: MergeRules
  private let stores: StoreAssignment

  init(
    reading: Shared<ContextReading>, editing: Shared<ContextEditing>, mergeRules: MergeRules,
    stores: StoreAssignment
  ) {
    graph = reading.graph
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    _reading = reading
    _editing = editing
    self.mergeRules = mergeRules
    self.stores = stores
  }

  /// Advances the view, and applies the decisions of a merge (first half of MG2).
  ///
  /// - Throws: Errors that are detected only during the application. The save then restores the
  ///   context.
  func apply(_ round: MergeRound) throws(PerdureError) {
    editing.advancing.show(round.newest)
    try editing.recording.excludingFromUndo { () throws(PerdureError) in try take(round.steps) }
    for overlay in pending.ordered.joined() where overlay.changesRow && !overlay.isNew {
      editing.rebase.unmarkReverted(overlay)
    }
    editing.linkEditor.findVanished()
    editing.rebase.rebaseDeltas()
    try viewState.throwReadFailure()
  }

  private func take(_ steps: [MergeStep]) throws(PerdureError) {
    let taken = cascadedDeletions()
    editing.orderEditor.restoresOrder = true
    defer { editing.orderEditor.restoresOrder = false }
    // Restores CX3 for the objects that are inserted again, once for each series of such steps.
    var isToBeRebased = false
    for step in steps {
      if case .insertAgain = step {
        isToBeRebased = true
      } else if isToBeRebased {
        editing.rebase.rebaseDeltas()
        isToBeRebased = false
      }
      try take(step, taken)
    }
  }

  /// - Parameter taken: The objects that each deletion has deleted by a cascade.
  private func take(_ step: MergeStep, _ taken: [ObjectReference: [ObjectOverlay]]) throws(PerdureError) {
    switch step {
    case .merge(let overlay, let values): takeMerged(overlay.reference, values)
    case .asStored(let reference): takeStored(reference, taken)
    case .gone(let reference): takeGone(reference)
    case .insertAgain(let overlay, let base): editing.rebase.insertAgain(overlay, base: base)
    case .dropLink(let owner, let target): dropLink(owner, to: target)
    case .setBack(let owner, let relationship): setBack(owner, relationship)
    case .setTargets(let owner, let relationship, let targets): setTargets(owner, relationship, targets)
    case .dropMoves(let owner, let relationship, let members):
      editing.orderEditor.leaveInStoredOrder(members, of: owner, relationship)
    case .upsert(let new, let other, let duplicate): try upsert(new, into: other, duplicate)
    case .withdraw(let reference): withdraw(reference)
    case .unwatch(let reference): viewState.watched[reference] = nil
    }
  }

  /// The objects that each deletion has deleted by a cascade, in order.
  private func cascadedDeletions() -> [ObjectReference: [ObjectOverlay]] {
    var taken: [ObjectReference: [ObjectOverlay]] = [:]
    for overlay in pending.ordered.joined() where overlay.isDeleted {
      if let parent = overlay.deletedWith { taken[parent, default: []].append(overlay) }
    }
    return taken
  }

  private func dropLink(_ owner: ObjectReference, to target: ObjectReference) {
    guard let overlay = pending[owner] else { return }
    for relationship in overlay.shape.relationships {
      if relationship.form == .column {
        if overlay.reference(relationship.slot) == target { setBack(owner, relationship) }
      } else if !relationship.isInColumn,
        overlay.delta(relationship.slot)?.added.contains(target) == true
      {
        editing.linkEditor.disconnect(owner, relationship, target)
      }
    }
  }

  /// Sets a to-one relationship to the stored target; to nil if the target no longer exists.
  private func setBack(_ owner: ObjectReference, _ relationship: RelationshipShape) {
    let stored = pending.isNew(owner) ? nil : viewState.storedColumn(owner, relationship.slot)
    editing.linkEditor.setColumn(owner, relationship, stored.flatMap { reading.rows.hasRow($0) ? $0 : nil })
    editing.rebase.linkRestorer.unmarkStored(owner, relationship.slot)
  }

  private func setTargets(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ targets: Set<ObjectReference>
  ) {
    let current = Set(self.reading.links.targets(of: owner, relationship))
    for target in current.subtracting(targets) { editing.linkEditor.disconnect(owner, relationship, target) }
    for target in targets.subtracting(current) where reading.rows.hasRow(target) {
      editing.linkEditor.connect(owner, relationship, target)
    }
  }

  private func rebaseOnNewestRow(_ reference: ObjectReference) {
    if let overlay = pending[reference] {
      if overlay.changesRow || overlay.isDeleted { return editing.rebase.rebase(overlay) }
      overlay.baseVersion = nil
      pending.dropIfUnchanged(overlay)
    }
    registry.identityMap.object(reference)?.header.pointee.dropRow()
  }

  private func takeGone(_ reference: ObjectReference) {
    guard let overlay = pending[reference] else { return }
    if overlay.isDeleted { return editing.rebase.rebase(overlay) }
    let lastRow = overlay.keptBase
    editing.rebase.discard(overlay)
    guard pending[reference] == nil, let object = registry.identityMap.object(reference) else { return }
    reading.retirement.vanish(object, lastRow)
  }

  /// Applies merged values, so that the unsaved changes are based on the newest row.
  private func takeMerged(_ reference: ObjectReference, _ values: [Int: Value?]) {
    let shape = graph.shape(of: reference)
    for (slot, value) in values.sorted(by: { $0.key < $1.key }) {
      if shape.isRelationship(slot) {
        let relationship = shape.relationship(slot)
        guard let value else {
          setBack(reference, relationship)
          continue
        }
        var target: ObjectReference?
        if case .reference(let found) = value, reading.rows.hasRow(found) { target = found }
        editing.linkEditor.setColumn(reference, relationship, target)
      } else if let value {
        editing.objectEditor.setColumn(reference, slot, value)
      } else {
        pending[reference]?.unmark { changed, _ in changed == slot }
      }
    }
    rebaseOnNewestRow(reference)
  }

  /// Drops unsaved changes. If they include a deletion, also drops the deletions that it has caused
  /// by cascades.
  private func takeStored(_ reference: ObjectReference, _ taken: [ObjectReference: [ObjectOverlay]]) {
    // No recursion: a long chain of cascades can exceed the stack.
    var waiting = [reference]
    while let reference = waiting.popLast() {
      guard let overlay = pending[reference] else { continue }
      if overlay.isDeleted {
        let along = (taken[reference] ?? []).filter { $0.isDeleted && $0.deletedWith == reference }
        waiting += along.map(\.reference).reversed()
      }
      overlay.deletedWith = nil
      if overlay.isNew { overlay.isDeleted = false } else { editing.rebase.discard(overlay) }
      registry.identityMap.object(reference)?.header.pointee.dropRow()
    }
  }

  // MARK: New objects that are merged into others
  //
  // No delete rule is applied, because no object is deleted. Links to the new object become links
  // to the other object, and its own links become links of the other object.

  /// Merges a new object into another object of its entity.
  ///
  /// Compares the values three ways: the initial values of new objects, the values of the new
  /// object, and those of the other object. To-many relationships get the targets of both.
  ///
  /// - Throws: 133021 if the merge rule of a property gives no value.
  func upsert(
    _ new: ObjectReference, into found: ObjectReference, _ duplicate: StoreConflict.DuplicateKey
  ) throws(PerdureError) {
    let other = pending.survivor(of: found)
    guard let overlay = pending[new], overlay.isNew, new != other else { return }
    let merged = try mergedColumns(overlay, into: other, duplicate)
    let links = links(of: new)
    let sources = editing.removal.unsavedOneWayLinks(to: [new])
    let places = places(of: new, sources).filter {
      !reading.links.contains($0.owner, $0.relationship, other)
    }
    let row = reading.layerFollower.lastRow(of: overlay)
    editing.removal.disconnectAll(overlay)
    for (slot, value) in merged.sorted(by: { $0.key < $1.key }) { set(other, slot, value, replacing: new) }
    for (slot, targets) in links { connect(other, overlay.shape.relationship(slot), targets, replacing: new) }
    for link in sources {
      editing.linkEditor.connect(link.owner == new ? other : link.owner, link.relationship, other)
    }
    for place in places {
      editing.orderEditor.setPlace(
        of: other, to: place.key, of: place.owner, place.relationship, isSpread: false)
    }
    pending.mergedObjects[new] = other
    if !moveInstance(of: overlay, to: other) { reading.retirement.retireNew(overlay, row) }
  }

  /// Makes the instance of a new object the instance of the object that it was merged into.
  ///
  /// - Returns: False, without a change, if the new object has no instance, or if the other object
  ///   already has one: two instances must not have one identity (CX1 in ObjectRegistry.swift).
  private func moveInstance(of overlay: ObjectOverlay, to other: ObjectReference) -> Bool {
    guard registry.identityMap.object(other) == nil, graph.shape(of: other) === overlay.shape,
      let object = registry.identityMap.object(overlay.reference)
    else { return false }
    pending.remove(overlay.reference)
    stores.rename(object, other)
    return true
  }

  /// Removes a new object, as if it had never been inserted.
  func withdraw(_ new: ObjectReference) {
    guard let overlay = pending[new], overlay.isNew else { return }
    editing.removal.withdraw(overlay)
  }

  /// The columns of the other object that change, with their new values.
  private func mergedColumns(
    _ overlay: ObjectOverlay, into other: ObjectReference, _ duplicate: StoreConflict.DuplicateKey
  ) throws(PerdureError) -> [Int: Value] {
    let shape = overlay.shape
    var versions = ObjectVersions(local: [:], base: [:], store: [:])
    let beginning = overlay.beginning ?? []
    for slot in shape.properties.indices where shape.isColumn(slot) {
      let local = overlay.value(slot) ?? .null
      versions.base[slot] = beginning[slot]
      versions.store?[slot] = reading.rows.columnValue(other, slot)
      if local != beginning[slot] { versions.local[slot] = local }
    }
    switch mergeRules.rules(shape, overlay.reference).outcome(versions) {
    case .merged(let values):
      return versions.local.merging(values.compactMapValues { $0 }) { $1 }
        .filter { slot, _ in values[slot].map { $0 != nil } ?? true }
    default:
      throw .conflict(StoreConflict(duplicates: [duplicate]), in: reading)
    }
  }

  private func set(_ owner: ObjectReference, _ slot: Int, _ value: Value, replacing new: ObjectReference) {
    let shape = graph.shape(of: owner)
    guard shape.isRelationship(slot) else {
      if reading.rows.columnValue(owner, slot) != value { editing.objectEditor.setColumn(owner, slot, value) }
      return
    }
    guard case .reference(let target) = value else {
      return editing.linkEditor.setColumn(owner, shape.relationship(slot), nil)
    }
    editing.linkEditor.connect(owner, shape.relationship(slot), target == new ? owner : target)
  }

  /// A position of a new object in an ordered relationship of another object.
  private struct MergedPlace {
    let owner: ObjectReference
    let relationship: RelationshipShape
    let key: OrderKey
  }

  /// The positions of a new object in the ordered relationships of other objects.
  ///
  /// - Parameter sources: The links to the object in relationships without an inverse.
  private func places(of new: ObjectReference, _ sources: [OneWayLink]) -> [MergedPlace] {
    let own = graph.shape(of: new).relationships.filter(\.inverseIsOrdered).flatMap { relationship in
      reading.links.targets(of: new, relationship).compactMap { owner in
        graph.inverse(of: relationship, at: owner).map { (owner: owner, relationship: $0) }
      }
    }
    let owners = own + sources.map { (owner: $0.owner, relationship: $0.relationship) }
    return owners.compactMap { owner, relationship in
      guard relationship.order != nil, owner != new,
        let key = pending[owner]?.order(relationship.slot)?.placed[new]?.key
      else { return nil }
      return MergedPlace(owner: owner, relationship: relationship, key: key)
    }
  }

  /// The targets of a new object, except those in its own columns.
  private func links(of new: ObjectReference) -> [(slot: Int, targets: [ObjectReference])] {
    graph.shape(of: new).relationships.compactMap { relationship in
      if relationship.form == .column { return nil }
      let targets = reading.links.targets(of: new, relationship)
      return targets.isEmpty ? nil : (relationship.slot, targets)
    }
  }

  private func connect(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ targets: [ObjectReference],
    replacing new: ObjectReference
  ) {
    for target in targets {
      // A to-one relationship keeps the other object's target, unless unsaved changes win.
      if !relationship.isToMany, self.reading.links.target(of: owner, relationship) != nil,
        !mergeRules.localWins(owner)
      {
        continue
      }
      editing.linkEditor.connect(owner, relationship, target == new ? owner : target)
    }
  }
}

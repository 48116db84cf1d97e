// A new object that may not be beside another: merged into it, or withdrawn.
//
// No delete rule is applied: nothing is deleted. What led to the new object leads to the other, and what the new one led
// to is led to by the other.

internal import PerdurePredicates

extension ContextCore {
  /// Merges a new object into another of its entity.
  ///
  /// Its values are compared three ways: with what new objects begin with, and with what the other has. To-many
  /// relationships get the objects of both.
  ///
  /// - Throws: 133021 when a rule for a property takes neither value.
  func upsert(
    _ new: ObjectReference, into found: ObjectReference, _ duplicate: StoreConflict.DuplicateKey
  ) throws(PerdureError) {
    let other = survivor(of: found)
    guard let overlay = tracker[new], overlay.isNew, new != other else { return }
    let merged = try mergedColumns(overlay, into: other, duplicate)
    let links = links(of: new)
    let sources = oneWaySources(of: new)
    let row = row(of: overlay, base: nil)
    disconnectAll(new)
    for (slot, value) in merged.sorted(by: { $0.key < $1.key }) { set(other, slot, value, replacing: new) }
    for (slot, targets) in links { connect(other, overlay.shape.relationship(slot), targets, replacing: new) }
    for (owner, relationship) in sources { connect(owner == new ? other : owner, relationship, other) }
    mergedObjects[new] = other
    if !moveInstance(of: overlay, to: other) { retireNew(overlay, row) }
  }

  /// Makes the instance of a new object the instance of the object that it was merged into.
  ///
  /// - Returns: False, without a change, if the context has an instance of that object: two
  ///   instances must not have one identity (C1 in ContextCore.swift).
  private func moveInstance(of overlay: ObjectOverlay, to other: ObjectReference) -> Bool {
    guard identityMap.object(other) == nil, graph.shape(of: other) === overlay.shape,
      let object = identityMap.object(overlay.reference)
    else { return false }
    tracker.remove(overlay.reference)
    rename(object, other)
    return true
  }

  /// Gives an instance another identity of the same entity that has no instance. Drops the loaded
  /// row.
  func rename(_ object: ManagedObject, _ reference: ObjectReference) {
    identityMap.remove(object.reference)
    object.header.pointee.overlay = nil
    object.header.pointee.dropRow()
    object.header.pointee.move(to: reference, graph.shape(of: reference))
    identityMap.insert(object, reference)
    if let overlay = tracker[reference] { attach(overlay, to: object) }
    linksChanged()
  }

  /// Where what was merged is now: what it was merged into may have been merged into a third one.
  func survivor(of reference: ObjectReference) -> ObjectReference {
    var other = reference
    while let next = mergedObjects[other] { other = next }
    return other
  }

  /// Takes a new object back, as if it had never been inserted.
  func withdraw(_ new: ObjectReference) {
    guard let overlay = tracker[new], overlay.isNew else { return }
    let row = row(of: overlay, base: nil)
    disconnectAll(new)
    retireNew(overlay, row)
  }

  // MARK: Values

  /// The columns of the other that change.
  private func mergedColumns(
    _ overlay: ObjectOverlay, into other: ObjectReference, _ duplicate: StoreConflict.DuplicateKey
  ) throws(PerdureError) -> [Int: Value] {
    let shape = overlay.shape
    var versions = ObjectVersions(local: [:], base: [:], store: [:])
    let beginning = overlay.beginning ?? []
    for slot in shape.properties.indices where shape.isColumn(slot) {
      let local = overlay.value(slot) ?? .null
      versions.base[slot] = beginning[slot]
      versions.store?[slot] = columnValue(other, slot)
      if local != beginning[slot] { versions.local[slot] = local }
    }
    switch mergeRules(shape, overlay.reference).outcome(versions) {
    case .merged(let values):
      return versions.local.merging(values.compactMapValues { $0 }) { $1 }
        .filter { slot, _ in values[slot].map { $0 != nil } ?? true }
    default:
      throw .conflict(StoreConflict(duplicates: [duplicate]), in: self)
    }
  }

  private func set(_ owner: ObjectReference, _ slot: Int, _ value: Value, replacing new: ObjectReference) {
    let shape = graph.shape(of: owner)
    guard shape.isRelationship(slot) else {
      if columnValue(owner, slot) != value { setColumn(owner, slot, value) }
      return
    }
    guard case .reference(let target) = value else { return setColumn(owner, shape.relationship(slot), nil) }
    connect(owner, shape.relationship(slot), target == new ? owner : target)
  }

  // MARK: Links

  /// What a new object is linked with otherwise than by a column of its own.
  private func links(of new: ObjectReference) -> [(slot: Int, targets: [ObjectReference])] {
    graph.shape(of: new).relationships.compactMap { relationship in
      if relationship.form == .column { return nil }
      let targets = targets(of: new, relationship)
      return targets.isEmpty ? nil : (relationship.slot, targets)
    }
  }

  private func connect(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ targets: [ObjectReference],
    replacing new: ObjectReference
  ) {
    for target in targets {
      // To-one, and it has one: that is the store's, and stays unless what was set here is to win.
      if !relationship.isToMany, self.target(of: owner, relationship) != nil, !localWins(owner) { continue }
      connect(owner, relationship, target == new ? owner : target)
    }
  }

  private func localWins(_ reference: ObjectReference) -> Bool {
    switch mergePolicy.general(graph.lineage(of: graph.shape(of: reference))) {
    case .objectTrump, .overwrite: true
    case .error, .storeTrump, .rollback: false
    }
  }

  /// What leads to a new object and is not led back to. It is pending, or would know an id.
  private func oneWaySources(
    of new: ObjectReference
  ) -> [(owner: ObjectReference, relationship: RelationshipShape)] {
    if graph.shape(of: new).incoming.isEmpty { return [] }
    return tracker.ordered.joined().flatMap { overlay in
      overlay.shape.relationships.filter { relationship in
        guard relationship.inverseSlot == nil, !overlay.isDeleted else { return false }
        return relationship.form == .column
          ? overlay.reference(relationship.slot) == new
          : overlay.delta(relationship.slot)?.added.contains(new) == true
      }.map { (overlay.reference, $0) }
    }
  }

  private func disconnectAll(_ new: ObjectReference) {
    for (owner, relationship) in oneWaySources(of: new) { disconnect(owner, relationship, new) }
    for relationship in graph.shape(of: new).relationships {
      for target in targets(of: new, relationship) { disconnect(new, relationship, target) }
    }
  }
}

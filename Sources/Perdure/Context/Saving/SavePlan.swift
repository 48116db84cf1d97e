// The conversion of unsaved changes to one commit.
//
// Preconditions detect conflicting saves of other contexts:
//
//   - A row that is written or removed has the version on which the changes are based.
//   - The target of a changed column exists, unless this save inserts it.
//   - Both ends of an added link exist, unless this save inserts them.
//   - For a row that is removed, the entries with the row as key are unchanged in the indexes of
//     relationships and links. So the delete rules have seen all links.
//   - For the target of a one-to-one column, the entries with the target as key are unchanged in
//     the index of the relationship. So no other object refers to the target.
//   - For a to-many relationship with count limits, the entries with the owner as key are unchanged
//     in the index of the relationship. So the validated count is current. The precondition is
//     omitted if this change and one of another context cannot violate a limit together
//     (`isLimited`).
//   - For a to-many relationship with a rule of a merge policy, the entries with the owner as key
//     are unchanged too. So the merged set is current.
//   - A row that is inserted again after a save removed it does not exist. So no other context has
//     inserted it again.
//   - For a changed order key, the stored entry is unchanged. So no other context has moved or
//     removed the member.
//   - For a new order key of a saved link, the links of the owner are unchanged. So the member is
//     still linked.
//   - An object of `detectConflicts(for:)` has the version that the context showed then.
//
// Adding a link changes no row, so two contexts may add links to one object at the same time.

internal import PerdurePredicates

/// A commit under construction.
struct SavePlan {
  private let reading: ContextReading
  private let mergeRules: MergeRules
  private(set) var change: StoreChange
  private var existing: Set<ObjectReference> = []
  private var ranges: Set<Precondition> = []
  private var linksRemoved: Set<StoreLink> = []
  /// Preconditions of rows that were removed or changed before the plan was made.
  private var stale: [Precondition] = []

  /// - Parameter count: The number of objects whose changes will be added.
  init(_ reading: ContextReading, _ mergeRules: MergeRules, durability: Durability, count: Int) {
    (self.reading, self.mergeRules) = (reading, mergeRules)
    change = StoreChange(
      view: reading.viewState.view, schema: reading.graph.store, durability: durability, expectedCount: count)
  }

  /// Adds the changes of one object. The caller adds objects in order of reference.
  mutating func add(_ overlay: ObjectOverlay) {
    if overlay.isDeleted { remove(overlay) } else { write(overlay) }
  }

  /// Adds preconditions for objects that are not written.
  mutating func watch(_ preconditions: [Precondition]) { change.preconditions += preconditions }

  /// Completes the plan, after all changes were added.
  mutating func finish() {
    change.linksRemoved = linksRemoved.sorted {
      ($0.index.rawValue, $0.source.rawValue, $0.target.rawValue)
        < ($1.index.rawValue, $1.source.rawValue, $1.target.rawValue)
    }
  }

  /// The conflicts that were found without the store; nil if there are none.
  var conflict: StoreConflict? { stale.isEmpty ? nil : StoreConflict(failed: stale) }

  var isEmpty: Bool {
    change.puts.isEmpty && change.removals.isEmpty && change.linksAdded.isEmpty
      && change.linksRemoved.isEmpty && change.places.isEmpty && stale.isEmpty
  }

  // MARK: Deleted objects

  private mutating func remove(_ overlay: ObjectOverlay) {
    guard !overlay.isNew else { return }
    change.removals.append(overlay.reference)
    requireVersion(overlay)
    for index in overlay.shape.deletionGuards { requireRange(index, overlay.reference) }
    for relationship in overlay.shape.relationships {
      removeLinks(overlay.reference, relationship)
      removePlaces(overlay.reference, relationship)
    }
  }

  private mutating func removeLinks(_ owner: ObjectReference, _ relationship: RelationshipShape) {
    guard case .links(let links, let isForward) = relationship.form else { return }
    let targets = reading.savedLinks.savedTargets(of: owner, relationship)
    for target in targets {
      linksRemoved.insert(Self.link(links, isForward: isForward, owner, target))
      if reading.graph.inverse(of: relationship, at: target)?.index == relationship.index {
        linksRemoved.insert(Self.link(links, isForward: isForward, target, owner))
      }
    }
  }

  /// Removes the order keys of an object's members, and its own order keys in the relationships of
  /// other objects.
  private mutating func removePlaces(_ owner: ObjectReference, _ relationship: RelationshipShape) {
    if let order = relationship.order {
      for member in reading.savedLinks.storedMembers(of: owner, order) {
        removePlace(member, of: owner, order)
      }
    }
    guard relationship.inverseIsOrdered else { return }
    let targets =
      relationship.form == .column
      ? reading.viewState.storedColumn(owner, relationship.slot).map { [$0] } ?? []
      : reading.savedLinks.savedTargets(of: owner, relationship)
    for target in targets {
      guard let order = reading.graph.inverse(of: relationship, at: target)?.order else { continue }
      removePlace(owner, of: target, order)
    }
  }

  private mutating func removePlace(
    _ member: ObjectReference, of owner: ObjectReference, _ order: OrderIndexes
  ) {
    linksRemoved.insert(StoreLink(index: order.keys, source: owner, target: member))
  }

  // MARK: Inserted and updated objects

  private mutating func write(_ overlay: ObjectOverlay) {
    if overlay.changesRow { writeRow(overlay) }
    for (slot, delta) in overlay.deltas { writeLinks(overlay, slot, delta) }
    for (slot, delta) in overlay.orders { writePlaces(overlay, slot, delta) }
  }

  private mutating func writeRow(_ overlay: ObjectOverlay) {
    guard let layouts = overlay.shape.storage.layouts else { return }
    let writer = RowWriter(layouts)
    if overlay.isNew {
      change.puts.append(overlay.reference) { bytes in
        overlay.withColumns { writer.append(to: &bytes, $0, isGiven: $1) }
      }
      if overlay.isInsertedAgain { change.preconditions.append(.rowAbsent(overlay.reference)) }
    } else {
      let isCurrent = reading.rows.withRow(overlay.reference) { base, version -> Bool in
        guard version == overlay.baseVersion else { return false }
        change.puts.append(overlay.reference) { bytes in
          overlay.withColumns { writer.append(to: &bytes, base: base, $0, isGiven: $1) }
        }
        return true
      }
      guard isCurrent == true else {
        if let version = overlay.baseVersion { stale.append(.rowUnchanged(overlay.reference, version)) }
        return
      }
      requireVersion(overlay)
    }
    for slot in overlay.shape.columnSlots {
      guard let target = overlay.reference(slot) else { continue }
      requireExistence(target)
      let guarded = overlay.shape.uncountedRelationship(slot)._withUnsafeGuaranteedRef {
        $0.inverseIsToOne ? $0.index : nil
      }
      if let guarded { requireRange(guarded, target) }
    }
  }

  private mutating func writeLinks(_ overlay: ObjectOverlay, _ slot: Int, _ delta: LinkDelta) {
    let relationship = overlay.shape.relationship(slot)
    // Transient relationships are not written, and no other context changes them.
    guard let index = relationship.index else { return }
    if relationship.isLimited(in: delta) || mergeRules.isMergedByRule(relationship, overlay.shape) {
      requireRange(index, overlay.reference)
    }
    guard case .links(let links, true) = relationship.form else { return }
    for target in delta.added.ordered {
      change.linksAdded.append(StoreLink(index: links, source: overlay.reference, target: target))
      requireExistence(overlay.reference)
      requireExistence(target)
    }
    for target in delta.removed.ordered {
      linksRemoved.insert(StoreLink(index: links, source: overlay.reference, target: target))
    }
  }

  /// Writes the unsaved order of a relationship. The precondition of a changed order key is its
  /// stored entry. A new order key needs its link: this save adds the link, or the links of the
  /// owner must be unchanged.
  private mutating func writePlaces(_ overlay: ObjectOverlay, _ slot: Int, _ delta: OrderDelta) {
    let relationship = overlay.shape.relationship(slot)
    let owner = overlay.reference
    guard let order = relationship.order, let index = relationship.index else { return }
    let added = overlay.delta(slot)?.added
    for place in delta.tree.added {
      let link = StoreLink(index: order.keys, source: owner, target: place.reference)
      let placement = delta.placed[place.reference]
      change.places.append(
        StoreOrderKey(link: link, key: place.key, isSpread: placement?.isSpread ?? false))
      if let stored = placement?.stored {
        requireRange(order.ordered, owner, .equal(OrderIndexes.indexKey(owner, stored)))
      } else if added?.contains(place.reference) != true {
        requireRange(index, owner)
      }
    }
    for member in delta.hidden.keys { removePlace(member, of: owner, order) }
  }

  private static func link(
    _ links: StoreIndex, isForward: Bool, _ owner: ObjectReference, _ other: ObjectReference
  ) -> StoreLink {
    isForward
      ? StoreLink(index: links, source: owner, target: other)
      : StoreLink(index: links, source: other, target: owner)
  }

  // MARK: Preconditions

  private mutating func requireVersion(_ overlay: ObjectOverlay) {
    guard let version = overlay.baseVersion else { return }
    change.preconditions.append(.rowUnchanged(overlay.reference, version))
  }

  private mutating func requireExistence(_ reference: ObjectReference) {
    guard !reading.pending.isNew(reference), existing.insert(reference).inserted else { return }
    change.preconditions.append(.rowExists(reference))
  }

  private mutating func requireRange(_ index: StoreIndex, _ key: ObjectReference, _ range: KeyRange? = nil) {
    guard !reading.pending.isUnknownToStore(key) else { return }
    let precondition = Precondition.rangeUnchanged(index, range ?? .owner(key))
    if ranges.insert(precondition).inserted { change.preconditions.append(precondition) }
  }
}

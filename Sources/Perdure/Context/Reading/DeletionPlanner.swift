// Determines the effects of delete rules without a deletion. Follows indexes and deltas as
// DeleteRules.swift does, but writes a plan instead of overlays.

internal import PerdureModel
internal import PerdurePredicates

/// Visits all objects that a deletion concerns.
struct DeletionPlanner {
  private let reading: ContextReading
  private var plan = DeletionPlan()
  /// The objects to delete, in the order in which they were found. The objects after the current
  /// position of `run` are not visited yet.
  private var toDelete: [ObjectReference] = []
  private var marked: Set<ObjectReference> = []
  /// The links of the deleted objects. Those to objects that stay are classified when all deleted
  /// objects are known.
  private var others: [(owner: ObjectReference, relationship: RelationshipShape, target: ObjectReference)] =
    []

  init(_ reading: ContextReading) {
    self.reading = reading
  }

  /// Whether an object is to be deleted, or is already marked as deleted.
  private func isToBeDeleted(_ reference: ObjectReference) -> Bool {
    marked.contains(reference) || reading.pending.isDeleted(reference)
  }

  mutating func request(_ reference: ObjectReference) {
    guard !isToBeDeleted(reference) else { return }
    mark(reference)
    plan.requested.append(reading.pending.objectID(of: reference))
  }

  private mutating func mark(_ reference: ObjectReference) {
    marked.insert(reference)
    toDelete.append(reference)
  }

  consuming func run() -> DeletionPlan {
    var position = 0
    while position < toDelete.count {
      visit(toDelete[position])
      position += 1
    }
    for (owner, relationship, target) in others where !isToBeDeleted(target) {
      classify(owner, relationship, target)
    }
    for reference in toDelete { findOneWay(reference) }
    findPendingOneWay()
    return plan
  }

  private mutating func visit(_ owner: ObjectReference) {
    let shape = reading.graph.shape(of: owner)
    let overlay = reading.pending[owner]
    let readsRow =
      overlay?.isNew != true && shape.columns.contains { overlay?.value($0.slot) == nil && matters($0) }
    let stored =
      readsRow ? reading.links.storedReferences(of: owner) : StoredReferences(reading.viewState.epoch)
    for relationship in shape.relationships where matters(relationship) {
      for target in reading.links.targets(of: owner, relationship, stored) {
        if relationship.deleteRule == .cascade { take(target, relationship, of: owner) }
        others.append((owner, relationship, target))
      }
    }
  }

  /// Whether the plan needs the targets of a relationship. It does not need those of a one-way
  /// relationship whose rule only removes links.
  private func matters(_ relationship: RelationshipShape) -> Bool {
    relationship.inverseSlot != nil || relationship.deleteRule == .cascade || relationship.deleteRule == .deny
  }

  private mutating func take(
    _ target: ObjectReference, _ relationship: RelationshipShape, of owner: ObjectReference
  ) {
    guard !isToBeDeleted(target), reading.rows.hasRow(target) else { return }
    mark(target)
    plan.cascaded.append(link(owner, relationship, target))
  }

  /// Adds the effect on a link between a deleted object and one that stays.
  private mutating func classify(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) {
    guard reading.rows.hasRow(target) else { return }
    if relationship.deleteRule == .deny { return plan.denied.append(link(owner, relationship, target)) }
    guard let inverse = reading.graph.inverse(of: relationship, at: target) else { return }
    let link = link(target, inverse, owner)
    // With the rule no action, the row of the other end keeps its reference. A link that is stored
    // elsewhere is removed with its owner.
    if relationship.deleteRule == .noAction, inverse.form == .column, !reading.pending.isNew(owner) {
      plan.leftBehind.append(link)
    } else {
      plan.nullified.append(link)
    }
  }

  /// Finds the objects with a link to a deleted object in a relationship without inverse.
  private mutating func findOneWay(_ target: ObjectReference) {
    guard !reading.pending.isNew(target) else { return }
    for relationship in reading.graph.shape(of: target).incoming {
      for source in reading.savedLinks.storedSources(of: target, relationship) {
        note(source, relationship, target)
      }
    }
    for (source, relationship) in reading.transientState.oneWayTransientSources(of: target) {
      note(source, relationship, target)
    }
  }

  private mutating func note(
    _ source: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) {
    guard !isToBeDeleted(source), isStored(source, relationship, target) else { return }
    plan.nullified.append(link(source, relationship, target))
  }

  /// Whether a stored link is still shown: no unsaved change has replaced or removed it.
  private func isStored(
    _ source: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) -> Bool {
    guard let overlay = reading.pending[source] else { return true }
    if relationship.form == .column { return overlay.value(relationship.slot) == nil }
    return overlay.delta(relationship.slot)?.removed.contains(target) != true
  }

  /// Finds the objects with an unsaved link to a deleted object in a relationship without inverse.
  private mutating func findPendingOneWay() {
    for overlay in reading.pending.oneWaySources(of: marked) where !isToBeDeleted(overlay.reference) {
      for relationship in overlay.shape.relationships where relationship.inverseSlot == nil {
        var targets = overlay.delta(relationship.slot)?.added.ordered ?? []
        if let target = overlay.reference(relationship.slot) { targets.append(target) }
        for target in targets where marked.contains(target) {
          plan.nullified.append(link(overlay.reference, relationship, target))
        }
      }
    }
  }

  private func link(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) -> DeletionPlan.Link {
    DeletionPlan.Link(
      owner: reading.pending.objectID(of: owner), property: relationship.name,
      objectID: reading.pending.objectID(of: target),
      isRequired: !relationship.isOptional)
  }
}

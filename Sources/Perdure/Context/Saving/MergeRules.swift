// The merge policy of a context, applied to single objects.

internal import PerdureModel
internal import PerdurePredicates

/// Applies the merge policy of a context to objects and their properties.
final class MergeRules {
  private let graph: GraphSchema
  private let pending: PendingChanges
  /// The policy that a save applies if other contexts have saved conflicting changes.
  var mergePolicy = MergePolicy.error

  init(_ pending: PendingChanges) {
    graph = pending.graph
    self.pending = pending
  }

  /// The rules of the policy for one object.
  func rules(_ shape: EntityShape, _ reference: ObjectReference) -> EntityMergeRules {
    let lineage = graph.lineage(of: shape)
    let general = mergePolicy.general(lineage)
    var rules = EntityMergeRules(general: general)
    guard mergePolicy.hasRules || !shape.saveTimeSlots.isEmpty else { return rules }
    rules.saveTimeSlots = Set(shape.saveTimeSlots)
    rules.ruled = { [mergePolicy = mergePolicy] slot, versions in
      // Different times are not a conflict: each save sets the time again.
      if shape.saveTimeSlots.contains(slot) {
        return general == .error ? .some(versions.local[slot]) : Optional<Value?>.none
      }
      guard let rule = mergePolicy.rule(lineage, shape.propertyName(slot)) else { return .none }
      let named = self.propertyVersions(versions, reference, slot)
      return .some(rule.merged(named).flatMap { self.stored($0, shape, slot) })
    }
    return rules
  }

  /// A merged value in the form of its column; nil if the column cannot hold it.
  private func stored(_ value: Value, _ shape: EntityShape, _ slot: Int) -> Value? {
    if value.isNull { return .null }
    switch shape.properties[slot] {
    case .attribute(.reference, _):
      guard case .objectID(let text) = value else { return nil }
      return graph.heldIdentity(text)
    case .attribute(let kind, _): return value.stored(as: kind)
    case .relationship(let relationship):
      guard case .objectID(let text) = value, case .reference(let target) = graph.heldIdentity(text),
        graph.isKind(target.entityNumber, of: relationship.destination)
      else { return nil }
      return .reference(target)
    case .count, .derived, .transient: return nil
    }
  }

  /// The base, local and stored values of each changed column, in the form that the program uses.
  /// Excludes columns with the time of a save.
  func propertyVersions(_ versions: ObjectVersions, _ reference: ObjectReference) -> [PropertyVersions] {
    let saveTimeSlots = graph.shape(of: reference).saveTimeSlots
    return versions.local.keys.sorted().filter { !saveTimeSlots.contains($0) }
      .map { propertyVersions(versions, reference, $0) }
  }

  private func propertyVersions(
    _ versions: ObjectVersions, _ reference: ObjectReference, _ slot: Int
  ) -> PropertyVersions {
    PropertyVersions(
      pending.objectID(of: reference), graph.shape(of: reference).propertyName(slot),
      base: graph.shown(versions.base[slot] ?? .null), local: graph.shown(versions.local[slot] ?? .null),
      store: graph.shown(versions.store?[slot] ?? .null))
  }

  /// Whether the policy has a rule for a relationship that is merged as a set.
  func isMergedByRule(_ relationship: RelationshipShape, _ shape: EntityShape) -> Bool {
    mergePolicy.hasRules && !relationship.isInColumn
      && mergePolicy.rule(graph.lineage(of: shape), relationship.name) != nil
  }

  func localWins(_ reference: ObjectReference) -> Bool {
    switch mergePolicy.general(graph.lineage(of: graph.shape(of: reference))) {
    case .objectTrump, .overwrite: true
    case .error, .storeTrump, .rollback: false
    }
  }
}

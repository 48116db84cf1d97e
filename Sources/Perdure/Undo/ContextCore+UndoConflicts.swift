// The obstacles to an undo (UN1 in ContextCore+Undo.swift).

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A place that holds what an undo does not expect.
struct FoundConflict {
  /// The place that an undo would change.
  let place: EditedPlace
  /// The conflict as the program sees it.
  let property: EditedPlace
  let before: EditedContent
  let after: EditedContent
  let current: EditedContent
}

extension ContextCore {
  /// UN1.
  ///
  /// - Parameter isToReturn: Whether a missing object will be restored, by an
  ///   earlier group. Then this one has changed it after its deletion, perhaps in `willSave()`.
  func conflicts(
    of group: UndoGroup, _ isToReturn: (ObjectReference) -> Bool
  ) -> [FoundConflict] {
    let (returning, added) = (group.objects { !$0.isAbsent }, group.objects { $0.isAbsent })
    let places = Set(group.changes.map(\.place))
    var gone: Set<ObjectReference> = []
    var found: [FoundConflict] = []
    for change in group.changes {
      let owner = change.place.owner
      if case .object = change.place {
        found += conflicts(ofObject: change)
      } else if isHere(change.place) || returning.contains(owner) {
        if let conflict = conflict(of: change, returning, places) { found.append(conflict) }
      } else if needsOwner(change), !added.contains(owner), gone.insert(owner).inserted,
        !isToReturn(owner)
      {
        found.append(
          FoundConflict(
            place: change.place, property: .object(owner), before: .value(.bool(true)),
            after: .value(.bool(true)), current: .value(.bool(false))))
      }
    }
    return found
  }

  /// Whether a place can be read: the columns also of an object whose deletion is pending.
  func isHere(_ place: EditedPlace) -> Bool {
    if exists(place.owner) { return true }
    if case .column(let reference, _) = place { return tracker.isDeleted(reference) }
    return false
  }

  /// Whether a content cannot be restored without the owner of the place. Without it there is no
  /// link anyway, and no position: the link is in the conflicts.
  private func needsOwner(_ change: UndoGroup.Change) -> Bool {
    switch change.place {
    case .position: false
    case .link: !change.before.isAbsent
    case .object, .column, .transient: true
    }
  }

  /// - Parameters:
  ///   - returning: The objects that the undo brings back.
  ///   - places: The places of the group.
  private func conflict(
    of change: UndoGroup.Change, _ returning: Set<ObjectReference>, _ places: Set<EditedPlace>
  ) -> FoundConflict? {
    let target = target(of: change)
    let isReturning = returning.contains(change.place.owner)
    if case .position(let member, let owner, _) = change.place, !exists(owner) || !exists(member) {
      return nil
    }
    let current = content(of: change.place)
    let isLost = target.map { !exists($0) && !returning.contains($0) } ?? false
    // The group has all columns of an object that it restores.
    let isChanged = !isReturning && !current.isSame(as: change.after) && !current.isSame(as: change.before)
    if isLost || isChanged {
      return FoundConflict(
        place: change.place, property: change.place, before: change.before, after: change.after,
        current: current)
    }
    guard let target else { return nil }
    return conflict(ofPartner: target, change, places)
  }

  /// An object that others have given to another partner in a one-to-one relationship, which only
  /// the partner's column holds.
  private func conflict(
    ofPartner target: ObjectReference, _ change: UndoGroup.Change, _ places: Set<EditedPlace>
  ) -> FoundConflict? {
    guard case .column(let owner, let slot) = change.place, exists(target),
      let inverse = inverse(of: graph.shape(of: owner).relationship(slot), at: target),
      inverse.form == .inverseToOne, let partner = self.target(of: target, inverse), partner != owner
    else { return nil }
    guard let column = self.inverse(of: inverse, at: partner),
      // The undo takes the object from the partner, or the partner itself away.
      !places.contains(.column(partner, slot: column.slot)), !places.contains(.object(partner))
    else { return nil }
    return FoundConflict(
      place: change.place, property: .column(target, slot: inverse.slot),
      before: .value(.reference(owner)), after: .absent, current: .value(.reference(partner)))
  }

  /// Whether a change is left as it is: it is a conflict, or it concerns an object that stays in
  /// spite of the undo.
  func isKept(_ change: UndoGroup.Change, _ kept: Set<EditedPlace>) -> Bool {
    if kept.isEmpty { return false }
    if kept.contains(change.place) || kept.contains(.object(change.place.owner)) { return true }
    return switch (change.place, change.after) {
    case (.link(_, _, let other), _), (.position(let other, _, _), _),
      (.column, .value(.reference(let other))):
      kept.contains(.object(other))
    default: false
    }
  }

  /// An object that the group has added, and that has changed since.
  private func conflicts(ofObject change: UndoGroup.Change) -> [FoundConflict] {
    guard case .object(let after) = change.after, case .object(let current) = content(of: change.place) else {
      return []
    }
    let (reference, shape) = (change.place.owner, graph.shape(of: change.place.owner))
    return after.columns.indices.filter { after.columns[$0] != current.columns[$0] && shape.isColumn($0) }
      .map { slot in
        FoundConflict(
          place: change.place, property: .column(reference, slot: slot), before: .absent,
          after: .value(after.columns[slot]), current: .value(current.columns[slot]))
      }
  }

  /// The object that a restored place leads to.
  private func target(of change: UndoGroup.Change) -> ObjectReference? {
    switch (change.place, change.before) {
    case (.column, .value(.reference(let target))): target
    case (.link(_, _, let target), .linked): target
    default: nil
    }
  }

  func shown(_ conflict: FoundConflict) -> UndoConflict {
    let (owner, slot) = (conflict.property.owner, conflict.property.slot)
    var member: ManagedObjectID?
    switch conflict.property {
    case .link(_, _, let target), .position(let target, _, _): member = objectID(of: target)
    default: break
    }
    return UndoConflict(
      objectID: objectID(of: owner),
      property: slot.map { graph.shape(of: owner).propertyName($0) } ?? "",
      before: shown(conflict.before, conflict.property), after: shown(conflict.after, conflict.property),
      current: shown(conflict.current, conflict.property), member: member)
  }

  private func shown(_ content: EditedContent, _ place: EditedPlace) -> Value {
    switch content {
    case .value(let value), .transient(.value(let value)): graph.shown(value)
    case .transient(.instance(let reference)): graph.shown(.reference(reference))
    case .linked, .object: .bool(true)
    case .key(let key): .data(Data(key.bytes))
    case .absent: if case .link = place { .bool(false) } else { .null }
    case .stored, .transient: .null
    }
  }
}

extension UndoGroup {
  /// The objects that the group has added or removed, by their content before the group.
  fileprivate func objects(where isIncluded: (_ before: EditedContent) -> Bool) -> Set<ObjectReference> {
    Set(
      changes.compactMap { change in
        guard case .object(let reference) = change.place, isIncluded(change.before) else { return nil }
        return reference
      })
  }
}

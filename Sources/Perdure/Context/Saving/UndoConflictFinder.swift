// Finds the conflicts of an undo (UN1 in UndoApplication.swift).

internal import PerdurePredicates

/// Finds the conflicts of undo groups with later changes.
final class UndoConflictFinder {
  private let graph: GraphSchema
  private let pending: PendingChanges
  @Shared private var reading: ContextReading
  private let recording: EditRecording

  init(_ reading: Shared<ContextReading>, _ recording: EditRecording) {
    graph = reading.graph
    pending = reading.pending
    _reading = reading
    self.recording = recording
  }

  /// Finds the conflicts of a group (UN1).
  ///
  /// - Parameter groups: Called at most once, at the first missing object or overlap.
  func conflicts(of group: UndoGroup, _ groups: () -> EarlierGroups) -> [FoundConflict] {
    let returning = Set(returning(group.changes).map(\.reference))
    let added = group.objects { $0.isAbsent }
    let kept = group.objects { !$0.isAbsent }.subtracting(returning)
    let places = Set(group.changes.map(\.place))
    lazy var earlier = groups()
    var gone: Set<ObjectReference> = []
    var found: [FoundConflict] = []
    for change in group.changes {
      let owner = change.place.owner
      let isOverlapped = change.marks.lastBeforeOverlap != nil && earlier.overlap(change)
      if case .object = change.place {
        found +=
          conflicts(ofObject: change, isOverlapped: isOverlapped) + addedTargets(of: change, added, places)
      } else if hasMissingEnd(change, returning), earlier.follow(change) {
        found.append(
          FoundConflict(
            place: change.place, property: change.place, before: change.before, after: change.after,
            current: .absent))
      } else if isHere(change.place) || returning.contains(owner) {
        var wasKept =
          switch change.place {
          case .column: kept.contains(owner)
          case .link: !kept.isDisjoint(with: change.ends)
          default: false
          }
        // As long as one end is deleted, the content after the group holds.
        wasKept = wasKept && returning.isDisjoint(with: change.ends)
        if let conflict = conflict(
          of: change, returning, places, wasKept: wasKept, isOverlapped: isOverlapped)
        {
          found.append(conflict)
        }
      } else if needsOwner(change), !added.contains(owner), gone.insert(owner).inserted,
        !isToReturn(owner, earlier)
      {
        found.append(
          FoundConflict(
            place: change.place, property: .object(owner), before: .value(.bool(true)),
            after: .value(.bool(true)), current: .value(.bool(false))))
      }
    }
    return found
  }

  /// The objects that an undo restores: those that the group has removed and that do not exist now.
  /// The others exist again, for example after a refresh has discarded their deletion.
  func returning(_ changes: [UndoGroup.Change]) -> [(reference: ObjectReference, object: EditedObject)] {
    changes.compactMap { change in
      guard case (.object(let reference), .object(let object)) = (change.place, change.before),
        !reading.contents.exists(reference)
      else { return nil }
      return (reference, object)
    }
  }

  /// Whether the undo of an earlier group will restore a missing object. Then the current group has
  /// changed the object after its deletion, perhaps in `willSave()`. False for an object that
  /// another context has removed and that has other unsaved changes than a deletion: it existed
  /// after the earlier group.
  func isToReturn(
    _ reference: ObjectReference, _ earlier: EarlierGroups
  ) -> Bool {
    earlier.contains(reference) && (pending[reference] == nil || pending.isDeleted(reference))
  }

  /// Whether the owner of a changed place, or an end of an added link, does not exist and is not
  /// restored by the undo.
  private func hasMissingEnd(_ change: UndoGroup.Change, _ returning: Set<ObjectReference>) -> Bool {
    func isMissing(_ end: ObjectReference) -> Bool {
      !returning.contains(end) && !reading.contents.exists(end)
    }
    if case (.link(let owner, _, let target), true) = (change.place, change.before.isAbsent) {
      return isMissing(owner) || isMissing(target)
    }
    return isMissing(change.place.owner)
  }

  /// Whether a place can be read. Columns can be read even if the deletion of the object is
  /// pending.
  func isHere(_ place: EditedPlace) -> Bool {
    if reading.contents.exists(place.owner) { return true }
    if case .column(let reference, _) = place { return pending.isDeleted(reference) }
    return false
  }

  /// Whether the content of a place can only be restored if its owner exists. An absent link needs
  /// no owner. A position needs none either: the conflict of its link reports the missing owner.
  func needsOwner(_ change: UndoGroup.Change) -> Bool {
    switch change.place {
    case .position: false
    case .link: !change.before.isAbsent
    case .object, .column, .transient: true
    }
  }

  /// The conflict of a change whose place exists or is restored by the undo; nil if there is none.
  ///
  /// - Parameters:
  ///   - returning: The objects that the undo restores.
  ///   - places: The places of the group.
  ///   - wasKept: Whether the group has deleted the object of the column or the link, and a refresh
  ///     or a save has dropped the deletion. Then only the content before the group is expected.
  ///     The content after it was dropped too, for example a null that a delete rule has set.
  ///   - isOverlapped: Whether an earlier group and this group have changed the place in turns.
  func conflict(
    of change: UndoGroup.Change, _ returning: Set<ObjectReference>, _ places: Set<EditedPlace>,
    wasKept: Bool, isOverlapped: Bool
  ) -> FoundConflict? {
    let target = target(of: change)
    let isReturning = returning.contains(change.place.owner)
    if case .position(let member, _, _) = change.place, !reading.contents.exists(member),
      !returning.contains(member)
    {
      return nil
    }
    let current = reading.contents.content(of: change.place)
    let isLost =
      target.map {
        !returning.contains($0) && !canLink(change.place, $0) && !mayBeLeftBehind($0, at: change.place)
      } ?? false
    // An undo sets all columns of an object that it restores, so their current values do not
    // matter.
    let hasOtherContent = (wasKept || !current.isSame(as: change.after)) && !current.isSame(as: change.before)
    let isChanged =
      !isReturning && (isOverlapped || hasOtherContent && !isLostTransient(change.place))
      || isReplacedTarget(change, places)
    let hidden = hiddenSave(change)
    if hidden != nil || isLost || isChanged {
      return FoundConflict(
        place: change.place, property: change.place, before: change.before, after: change.after,
        current: hidden ?? current)
    }
    if let conflict = hiddenPartners(change).first { return conflict }
    guard let target else { return nil }
    return conflict(ofPartner: target, change, places)
  }

  /// The content that another context has saved over the content before a change, if an unsaved
  /// edit hides it (HiddenSaves.swift). Nil also if the saved content equals the content before the
  /// change or the shown content.
  func hiddenSave(_ change: UndoGroup.Change) -> EditedContent? {
    guard recording.recorder?.hiddenSaves.hasReplaced(change.before, at: change.place) == true,
      reading.rows.viewVersion(of: change.place.owner) != nil,
      let saved = reading.contents.storedRelation(change.place), !saved.isSame(as: change.before),
      change.place.isLink || change.ends.contains(where: pending.isDeleted)
        || !saved.isSame(as: reading.contents.content(of: change.place))
    else { return nil }
    return saved
  }

  private func isHidden(_ place: EditedPlace) -> Bool {
    recording.recorder?.hiddenSaves.contains(place) == true
  }

  /// The conflict if the unsaved link of an object hides a saved link of another object to the same
  /// target (HS2).
  private func hiddenPartner(
    _ place: EditedPlace, _ owner: ObjectReference, _ slot: Int, _ target: ObjectReference
  ) -> FoundConflict? {
    let relationship = graph.shape(of: owner).relationship(slot)
    guard relationship.inverseIsToOne, let inverse = graph.inverse(of: relationship, at: target),
      inverse.form == .inverseToOne
    else { return nil }
    let partner = reading.savedLinks.storedSources(of: target, relationship).first { source in
      guard source != owner, let column = graph.inverse(of: inverse, at: source) else { return false }
      return isHidden(.column(source, slot: column.slot)) && reading.rows.column(source, column.slot) == nil
    }
    return partner.map {
      FoundConflict(
        place: place, property: .column(target, slot: inverse.slot), before: .absent,
        after: .value(.reference(owner)), current: .value(.reference($0)))
    }
  }

  /// The conflicts of `hiddenPartner` for a changed column, or for all columns of an added object.
  private func hiddenPartners(_ change: UndoGroup.Change) -> [FoundConflict] {
    guard recording.recorder?.hiddenSaves.isEmpty == false else { return [] }
    switch (change.place, change.after) {
    case (.column(let owner, let slot), .value(.reference(let target))):
      return hiddenPartner(change.place, owner, slot, target).map { [$0] } ?? []
    case (.object(let owner), .object(let object)):
      return graph.shape(of: owner).columns.compactMap { column in
        guard case .reference(let target) = object.columns[column.slot] else { return nil }
        return hiddenPartner(change.place, owner, column.slot, target)
      }
    default: return []
    }
  }

  /// Whether a transient attribute has no value because the instance was released or refreshed.
  func isLostTransient(_ place: EditedPlace) -> Bool {
    guard case .transient(let reference, let slot) = place else { return false }
    return !reading.contents.holdsTransient(reference, slot)
  }

  /// Whether the undo restores a link of a to-one relationship that is not a column, and so
  /// replaces a link that was made after the group.
  private func isReplacedTarget(_ change: UndoGroup.Change, _ places: Set<EditedPlace>) -> Bool {
    guard case (.link(let owner, let slot, let target), .linked) = (change.place, change.before),
      reading.contents.exists(owner)
    else { return false }
    let relationship = graph.shape(of: owner).relationship(slot)
    if relationship.isToMany { return false }
    guard let current = reading.links.target(of: owner, relationship), current != target else { return false }
    let inverse = graph.inverse(of: relationship, at: current)
    return !places.contains(relationship.canonicalEnd(owner, current, inverse: inverse))
  }

  /// The conflict if the target of a one-to-one relationship has another partner now. Only the
  /// column of that partner stores the new link.
  func conflict(
    ofPartner target: ObjectReference, _ change: UndoGroup.Change, _ places: Set<EditedPlace>
  ) -> FoundConflict? {
    guard case .column(let owner, let slot) = change.place, reading.contents.exists(target),
      let inverse = graph.inverse(of: graph.shape(of: owner).relationship(slot), at: target),
      inverse.form == .inverseToOne, let partner = self.reading.links.target(of: target, inverse)
    else { return nil }
    guard let column = self.graph.inverse(of: inverse, at: partner),
      // No conflict if the undo also changes the partner's column, or removes the partner. The
      // column of the owner itself is a place of the group.
      !places.contains(.column(partner, slot: column.slot)), !places.contains(.object(partner))
    else { return nil }
    return FoundConflict(
      place: change.place, property: .column(target, slot: inverse.slot),
      before: .value(.reference(owner)), after: .absent, current: .value(.reference(partner)))
  }

  /// Removes from a group the moves of a relationship that only made space, if one of these members
  /// was moved again after the group. Then the old order keys of the other members cannot be
  /// compared with the current keys. The moves need no undo, because they have not changed the
  /// order of these members. All moves stay if the group also contains a move that the program
  /// requested, because the old key of that member is valid only among the old keys.
  func withoutReplacedSpreads(_ group: UndoGroup) -> UndoGroup {
    let spreads = group.changes.filter(\.isSpread)
    var replaced: Set<EditedPlace> = []
    for change in spreads where reading.contents.exists(change.place.owner) {
      let current = reading.contents.content(of: change.place)
      if !current.isSame(as: change.after), !current.isSame(as: change.before) {
        replaced.insert(change.place.relationship)
      }
    }
    for change in group.changes where !change.isSpread {
      if case (.position, .key) = (change.place, change.before) {
        replaced.remove(change.place.relationship)
      }
    }
    if replaced.isEmpty { return group }
    let changes = group.changes.filter { !$0.isSpread || !replaced.contains($0.place.relationship) }
    return UndoGroup(name: group.name, changes: changes, number: group.number)
  }

  /// Whether the undo skips a change. It does if the change is a conflict or concerns an added
  /// object that is kept, or if the other end of its one-to-one relationship is kept.
  func isKept(_ change: UndoGroup.Change, _ kept: Set<EditedPlace>) -> Bool {
    if kept.isEmpty { return false }
    if case (.column(let owner, let slot), .value(.reference(let target))) = (change.place, change.before),
      isPairKept(owner, slot, target, kept)
    {
      return true
    }
    if kept.contains(change.place) || kept.contains(.object(change.place.owner)) { return true }
    return switch (change.place, change.after) {
    case (.link(_, _, let other), _), (.position(let other, _, _), _),
      (.column, .value(.reference(let other))):
      kept.contains(.object(other))
    default: false
    }
  }

  /// The conflicts of an object that the undo removes: the targets that were connected after the
  /// group, and that a cascade deletes.
  private func addedTargets(
    of change: UndoGroup.Change, _ added: Set<ObjectReference>, _ places: Set<EditedPlace>
  ) -> [FoundConflict] {
    let owner = change.place.owner
    guard change.before.isAbsent, reading.contents.exists(owner) else { return [] }
    return graph.shape(of: owner).relationships.filter { $0.deleteRule == .cascade }.flatMap { relationship in
      reading.links.targets(of: owner, relationship).compactMap { target in
        guard !added.contains(target), reading.contents.exists(target),
          let inverse = graph.inverse(of: relationship, at: target)
        else { return nil }
        let place =
          inverse.form == .column
          ? EditedPlace.column(target, slot: inverse.slot)
          : relationship.canonicalEnd(owner, target, inverse: inverse)
        if relationship.form == .column || places.contains(place) { return nil }
        return FoundConflict(
          place: change.place, property: .column(target, slot: inverse.slot), before: .value(.null),
          after: .value(.null), current: .value(.reference(owner)), connected: target)
      }
    }
  }

  /// Whether the column at the other end of a one-to-one relationship is kept. Then the undo must
  /// not connect the target, because this disconnects the target's current partner.
  func isPairKept(
    _ owner: ObjectReference, _ slot: Int, _ target: ObjectReference, _ kept: Set<EditedPlace>
  ) -> Bool {
    if kept.isEmpty || !graph.shape(of: owner).isRelationship(slot) { return false }
    guard let inverse = graph.inverse(of: graph.shape(of: owner).relationship(slot), at: target),
      inverse.form == .column
    else { return false }
    return kept.contains(.column(target, slot: inverse.slot))
  }

  /// The conflicts of an object that the group has added: the columns that have changed after the
  /// group.
  ///
  /// - Parameter isOverlapped: Whether an earlier group has removed the object meanwhile.
  func conflicts(ofObject change: UndoGroup.Change, isOverlapped: Bool) -> [FoundConflict] {
    let current = reading.contents.content(of: change.place)
    if isOverlapped, current.isSame(as: change.before) {
      return [
        FoundConflict(
          place: change.place, property: change.place, before: change.before, after: change.after,
          current: current)
      ]
    }
    guard case .object(let after) = change.after, case .object(let current) = current else { return [] }
    let reference = change.place.owner
    // A different time of a save is not a conflict: each save sets the time again.
    let times = graph.shape(of: reference).saveTimeSlots
    let changed = after.columns.indices
      .filter { after.columns[$0] != current.columns[$0] && !times.contains($0) }
      .map { slot in
        FoundConflict(
          place: change.place, property: .column(reference, slot: slot), before: .absent,
          after: .value(after.columns[slot]), current: .value(current.columns[slot]))
      }
    return changed + hiddenPartners(change)
  }

  /// Whether a column or a link can refer to an object: the object exists, or its deletion is
  /// pending and its delete rule keeps such references. In the second case, an earlier group has
  /// deleted the object.
  func canLink(_ place: EditedPlace, _ target: ObjectReference) -> Bool {
    if reading.contents.exists(target) { return true }
    guard let slot = place.slot, pending.isDeleted(target),
      let inverse = graph.inverse(of: graph.shape(of: place.owner).relationship(slot), at: target)
    else { return false }
    return inverse.keepsLinks
  }

  /// Whether the target of a column that cannot be linked may have been left behind: the delete
  /// rule at the other end is no action. Then the undo leaves the column empty, because a save
  /// refuses new references to an object that does not exist.
  func mayBeLeftBehind(_ target: ObjectReference, at place: EditedPlace) -> Bool {
    guard case .column(let owner, let slot) = place, !pending.isDeleted(target) else { return false }
    let inverse = graph.inverse(of: graph.shape(of: owner).relationship(slot), at: target)
    return inverse?.deleteRule == .noAction
  }

  /// Whether both ends of a link can be linked.
  func canLinkEnds(_ place: EditedPlace, _ target: ObjectReference) -> Bool {
    canLink(place, target) && canLinkOwner(place)
  }

  /// Whether the owner of a link can be linked.
  func canLinkOwner(_ place: EditedPlace) -> Bool {
    if reading.contents.exists(place.owner) { return true }
    guard let slot = place.slot, pending.isDeleted(place.owner) else { return false }
    return graph.shape(of: place.owner).relationship(slot).keepsLinks
  }

  /// The object that a restored column or link refers to.
  func target(of change: UndoGroup.Change) -> ObjectReference? {
    switch (change.place, change.before) {
    case (.column, .value(.reference(let target))): target
    case (.link(_, _, let target), .linked): target
    default: nil
    }
  }

  func shown(_ conflict: FoundConflict) -> UndoConflict { conflict.shown(graph, pending) }
}

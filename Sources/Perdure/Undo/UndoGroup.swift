// Complete undo groups (OpenUndoGroup.swift has the invariants).

/// The changes of a complete undo group.
struct UndoGroup {
  /// One place with its contents.
  struct Change {
    let place: EditedPlace
    let before: EditedContent
    let after: EditedContent
    var marks = Marks()

    /// Facts about a change that its contents do not show.
    struct Marks {
      /// Whether the change is a position that the program did not request: the member was moved to
      /// make space for another one.
      var isSpread = false
      /// If another group has changed the place before this group ended: the number of the last
      /// group that was complete at that time.
      var lastBeforeOverlap: UInt64?

      /// The marks of an edit and a later edit of the same place, in one group.
      func followed(by later: Marks) -> Marks {
        Marks(
          isSpread: isSpread && later.isSpread,
          lastBeforeOverlap: lastBeforeOverlap ?? later.lastBeforeOverlap)
      }
    }

    var isSpread: Bool { marks.isSpread }

    /// The owner of the place, and the target of its link.
    var ends: [ObjectReference] {
      if case (.column(let owner, _), .value(.reference(let target))) = (place, before) {
        return [owner, target]
      }
      return place.ends
    }

    var byteCount: Int { MemoryLayout<Change>.size + before.byteCount + after.byteCount }
  }

  let name: String
  let changes: [Change]
  /// The number of the group, which is unique in its manager.
  let number: UInt64
  let byteCount: Int

  init(name: String, changes: [Change], number: UInt64) {
    self.name = name
    self.changes = changes
    self.number = number
    byteCount = changes.reduce(name.utf8.count) { $0 + $1.byteCount }
  }
}

extension UndoGroup {
  /// The violations of UG1, UG2 and UG3, for tests.
  var brokenInvariants: [String] {
    let inserted = objects { $0.isAbsent }
    var broken: [String] = []
    if Self.merged(changes).count != changes.count {
      broken.append("UG1 or UG2: group \(number) has a place twice, or an unchanged place")
    }
    for case .column(let owner, let slot) in changes.map(\.place) where inserted.contains(owner) {
      broken.append("UG3: group \(number) has column \(slot) of the inserted object \(owner)")
    }
    return broken
  }

  /// Combines changes, in their order, into at most one for each place. The result has the content
  /// before the first change of the place, and the content after the last one. Omits places that
  /// have not changed, except the values of objects that the changes remove (UG1, UG2).
  static func merged(_ changes: some Sequence<Change>) -> [Change] {
    var merged: [Change] = []
    var positions: [EditedPlace: Int] = [:]
    for change in changes {
      if let position = positions[change.place] {
        merged[position] = Change(
          place: change.place, before: merged[position].before, after: change.after,
          marks: merged[position].marks.followed(by: change.marks))
      } else {
        positions[change.place] = merged.count
        merged.append(change)
      }
    }
    let removed = objects(of: merged) { !$0.isAbsent }
    merged.removeAll { $0.before.isSame(as: $0.after) && !removed.contains($0.place.owner) }
    return merged
  }

  /// The group with later changes after its own. The values of objects that the group has inserted
  /// are part of these objects (UG3).
  func followed(by later: [Change]) -> UndoGroup {
    var values: [ObjectReference: [Int: Value]] = [:]
    let inserted = objects { $0.isAbsent }
    let others = later.filter { change in
      guard case (.column(let owner, let slot), .value(let value)) = (change.place, change.after),
        inserted.contains(owner)
      else { return true }
      values[owner, default: [:]][slot] = value
      return false
    }
    let own = changes.map { change in
      guard case .object(let object) = change.after, let new = values[change.place.owner] else {
        return change
      }
      return Change(place: change.place, before: change.before, after: .object(object.with(new)))
    }
    return UndoGroup(name: name, changes: Self.merged(own + others), number: number)
  }

  /// The group after an object got another reference.
  func renamed(_ rename: ReferenceChange) -> UndoGroup {
    UndoGroup(
      name: name,
      changes: changes.map {
        Change(
          place: $0.place.renamed(rename), before: $0.before.renamed(rename),
          after: $0.after.renamed(rename), marks: $0.marks)
      }, number: number)
  }

  /// The objects that the group has inserted or removed and whose content before the group
  /// satisfies a condition.
  func objects(where isIncluded: (_ before: EditedContent) -> Bool) -> Set<ObjectReference> {
    Self.objects(of: changes, where: isIncluded)
  }

  private static func objects(
    of changes: [Change], where isIncluded: (_ before: EditedContent) -> Bool
  ) -> Set<ObjectReference> {
    Set(
      changes.compactMap { change in
        guard case .object(let reference) = change.place, isIncluded(change.before) else { return nil }
        return reference
      })
  }
}

// Complete undo groups (OpenUndoGroup.swift has the invariants).

/// The changes of a complete undo group.
struct UndoGroup {
  /// One place with its contents.
  struct Change {
    let place: EditedPlace
    let before: EditedContent
    let after: EditedContent
    /// Whether the change is a position that the program did not request: the member was moved to
    /// make space for another one.
    var isSpread = false

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
  /// Checks UG2 and UG3, for tests.
  func checkInvariants() {
    let (inserted, removed) = (objects { $0.isAbsent }, objects { !$0.isAbsent })
    precondition(Set(changes.map(\.place)).count == changes.count, "UG1: a place is in the group twice.")
    for change in changes {
      let owner = change.place.owner
      if change.before.isSame(as: change.after) {
        precondition(removed.contains(owner), "UG2: the group has an unchanged place.")
      }
      if case .column = change.place {
        precondition(!inserted.contains(owner), "UG3: the group has a column of an inserted object.")
      }
    }
  }

  /// The changes of the group since an earlier time of it.
  func changes(since earlier: UndoGroup) -> UndoGroup {
    let known = Dictionary(uniqueKeysWithValues: earlier.changes.map { ($0.place, $0.after) })
    let later = changes.compactMap { change -> Change? in
      guard let before = known[change.place] else { return change }
      if before.isSame(as: change.after) { return nil }
      return Change(
        place: change.place, before: before, after: change.after, isSpread: change.isSpread)
    }
    return UndoGroup(name: name, changes: later, number: number)
  }

  /// The group with the changes of earlier groups before its own.
  func preceded(by earlier: [UndoGroup]) -> UndoGroup {
    if earlier.isEmpty { return self }
    var merged: [Change] = []
    var positions: [EditedPlace: Int] = [:]
    for change in earlier.flatMap(\.changes) + changes {
      if let position = positions[change.place] {
        merged[position] = Change(
          place: change.place, before: merged[position].before, after: change.after,
          isSpread: merged[position].isSpread && change.isSpread)
      } else {
        positions[change.place] = merged.count
        merged.append(change)
      }
    }
    // The group may have set a content back (UG2).
    let removed = UndoGroup(name: name, changes: merged, number: number).objects { !$0.isAbsent }
    merged.removeAll { $0.before.isSame(as: $0.after) && !removed.contains($0.place.owner) }
    return UndoGroup(name: name, changes: merged, number: number)
  }

  /// The group with the reference `old` replaced by `new`.
  func renamed(_ old: ObjectReference, _ new: ObjectReference) -> UndoGroup {
    UndoGroup(
      name: name,
      changes: changes.map {
        Change(
          place: $0.place.renamed(old, new), before: $0.before.renamed(old, new),
          after: $0.after.renamed(old, new), isSpread: $0.isSpread)
      }, number: number)
  }
}

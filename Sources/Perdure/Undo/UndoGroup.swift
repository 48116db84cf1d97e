// Undo groups: one while it takes edits, and one that is complete.
//
// Invariants:
//   UG1. A place is in a group once. `before` is its content before the first edit of the group
//        there, `after` its content behind the last one.
//   UG2. A complete group has no place whose content was the same before and after, except columns
//        of objects that it has removed: they return with the values at their removal.
//   UG3. A column of an object that the group has inserted is not in it: to undo the group is to
//        take the object away.

/// What an undo group has changed, complete.
struct UndoGroup {
  /// One place with its contents.
  struct Change {
    let place: EditedPlace
    let before: EditedContent
    let after: EditedContent

    var byteCount: Int { MemoryLayout<Change>.size + before.byteCount + after.byteCount }
  }

  let name: String
  let changes: [Change]
  /// Different for each group of a manager.
  let number: UInt64
  let byteCount: Int

  init(name: String, changes: [Change], number: UInt64) {
    self.name = name
    self.changes = changes
    self.number = number
    byteCount = changes.reduce(name.utf8.count) { $0 + $1.byteCount }
  }
}

/// Reads what places hold.
protocol EditedContentReader {
  /// What a place holds now, with unsaved changes.
  func content(of place: EditedPlace) -> EditedContent
  /// What the store has at a place, in the state that the context sees.
  func storedContent(of place: EditedPlace) -> EditedContent
}

/// An undo group that takes edits.
final class OpenUndoGroup {
  private struct Entry {
    let place: EditedPlace
    var before: EditedContent
    /// Nil while the last edit of the place may be the group's.
    var after: EditedContent?
  }

  var name: String
  /// Whether a save has saved edits of the group, which is still open.
  var isSaved = false
  // Not checked for exclusivity at run time, as in EditRecorder: contents are read before accesses.
  @exclusivity(unchecked) private var entries: [Entry] = []
  @exclusivity(unchecked) private var positions: [EditedPlace: Int] = [:]
  /// Whether the group has the insertion of any object.
  @exclusivity(unchecked) private var hasInsertions = false

  init(name: String) { self.name = name }

  /// A complete group that takes edits again.
  init(continuing group: UndoGroup) {
    name = group.name
    for change in group.changes {
      append(Entry(place: change.place, before: change.before, after: change.after))
    }
  }

  private func append(_ entry: Entry) {
    if case .object = entry.place, entry.before.isAbsent { hasInsertions = true }
    positions[entry.place] = entries.count
    entries.append(entry)
  }

  var isEmpty: Bool { entries.isEmpty }

  /// Whether the group has inserted an object.
  func hasInserted(_ reference: ObjectReference) -> Bool {
    positions[.object(reference)].map { entries[$0].before.isAbsent } ?? false
  }

  /// Notes that the group is about to edit a place (UG1, UG3).
  ///
  /// - Parameter before: What the place holds.
  func note(_ place: EditedPlace, _ before: () -> EditedContent) {
    if hasInsertions, case .column(let reference, _) = place, let position = positions[.object(reference)],
      entries[position].before.isAbsent
    {
      entries[position].after = nil
      return
    }
    if let position = positions[place] {
      entries[position].after = nil
    } else {
      append(Entry(place: place, before: before(), after: nil))
    }
  }

  /// Notes that something else than the group is about to change a place.
  ///
  /// - Parameter now: What the place holds.
  func seal(_ place: EditedPlace, _ now: () -> EditedContent) {
    guard let position = positions[place], entries[position].after == nil else { return }
    entries[position].after = now()
  }

  /// Reads everything that has not been read yet, before the context moves to another state.
  func settle(_ reader: some EditedContentReader) {
    for position in entries.indices {
      let entry = entries[position]
      if entry.before.isStored { entries[position].before = reader.storedContent(of: entry.place) }
      let after = entry.after ?? reader.content(of: entry.place)
      entries[position].after = after.isStored ? reader.storedContent(of: entry.place) : after
    }
  }

  /// The changes of the settled group (UG2).
  func changes() -> [UndoGroup.Change] {
    entries.compactMap { entry in
      guard let after = entry.after, !entry.before.isSame(as: after) || isOfRemoved(entry.place) else {
        return nil
      }
      return UndoGroup.Change(place: entry.place, before: entry.before, after: after)
    }
  }

  /// Whether a place is a column of an object that the group has removed.
  private func isOfRemoved(_ place: EditedPlace) -> Bool {
    guard case .column(let owner, _) = place, let position = positions[.object(owner)] else { return false }
    return entries[position].after?.isAbsent == true
  }

  /// An object has another reference now.
  func rename(_ old: ObjectReference, _ new: ObjectReference) {
    positions = [:]
    for position in entries.indices {
      let entry = entries[position]
      let place = entry.place.renamed(old, new)
      positions[place] = position
      entries[position] = Entry(
        place: place, before: entry.before.renamed(old, new), after: entry.after?.renamed(old, new))
    }
  }
}

extension UndoGroup {
  /// The group after an object has got another reference.
  func renamed(_ old: ObjectReference, _ new: ObjectReference) -> UndoGroup {
    UndoGroup(
      name: name,
      changes: changes.map {
        Change(
          place: $0.place.renamed(old, new), before: $0.before.renamed(old, new),
          after: $0.after.renamed(old, new))
      }, number: number)
  }
}

// Open undo groups, which record edits (RecordedEdits.swift).
//
// Invariants:
//   UG1. A group contains a place at most once. `before` is the content of the place before the
//        group's first edit of it. `after` is its content after the last edit. Before the view
//        advances, the group drops places whose content equals `before`. So a later save of another
//        context is not attributed to the group.
//   UG2. A complete group omits places whose content did not change. It keeps all columns
//        and transient attributes of objects that it has removed, because an undo restores their
//        values.
//   UG3. A group contains no columns of objects that it has inserted, because an undo removes these
//        objects.
//   UG4. A content that could not be read stays `.stored`, and a complete group omits its place.
//        Then either the context demands a rollback, which reverts the edit, or the operation is
//        reverted. A save cannot write such an edit, because it reads the contents before it checks
//        for failed reads (SaveSteps).

internal import PerdurePredicates

/// Reads the contents of places.
protocol EditedContentReader {
  /// The current content of a place, including unsaved changes.
  func content(of place: EditedPlace) -> EditedContent
  /// The content of a place in the store's state that the context sees; nil if it cannot be read.
  func storedContent(of place: EditedPlace) -> EditedContent?
}

/// An undo group that records edits.
final class OpenUndoGroup {
  var name: String
  /// The number of the complete group that was reopened; nil for a new group.
  var number: UInt64?
  // The exclusivity of accesses to these properties is not checked at run time (see EditRecorder).
  // Accesses do not overlap: contents are read before an array is accessed.
  @exclusivity(unchecked) private var edits = RecordedEdits()
  /// Whether a save has saved edits of the group while it was open.
  private(set) var isSaved = false

  init(name: String) { self.name = name }

  /// Reopens a complete group for more edits.
  init(continuing group: UndoGroup) {
    name = group.name
    number = group.number
    for change in group.changes {
      edits.append(
        RecordedEdits.Entry(
          place: change.place, before: change.before, after: change.after, marks: change.marks))
    }
  }

  /// Marks the edits as saved, after a save.
  ///
  /// - Parameter includes: Whether the save has saved the changes of an object; nil for all.
  /// - Complexity: O(k) for k places that were edited since the last save.
  func didSave(_ reader: some EditedContentReader, _ includes: ((ObjectReference) -> Bool)? = nil) {
    if edits.entries.isEmpty, !isSaved { return }
    readContents(reader)
    if edits.save(includes) || includes == nil { isSaved = true }
    edits.compact()
  }

  /// Removes the edits since the last save, after a rollback has reverted them. Does nothing if no
  /// save has saved the group. Contents that were read after the save are from before the rollback,
  /// so they are removed too.
  func rollBack() {
    guard isSaved else { return }
    let old = edits.entries
    edits = RecordedEdits()
    for entry in old {
      if let saved = entry.saved { edits.append(saved: saved, entry.place) }
    }
  }

  /// Whether the group has inserted an object.
  func hasInserted(_ reference: ObjectReference) -> Bool {
    edits.hasInsertions && edits.hasInserted(reference)
  }

  /// Whether the group has deleted an object.
  func hasRemoved(_ reference: ObjectReference) -> Bool {
    edits.entry(of: .object(reference)).map { !$0.before.isAbsent } ?? false
  }

  /// Records that an edit of the group will change a place (UG1, UG3).
  ///
  /// - Parameters:
  ///   - isSpread: Whether the edit moves a member only to make space for other members.
  ///   - before: Reads the current content of the place.
  func note(_ place: EditedPlace, isSpread: Bool = false, _ before: () -> EditedContent) {
    if edits.hasInsertions, case .column(let reference, _) = place,
      let position = edits.positions[.object(reference)], edits.entries[position].before.isAbsent
    {
      return edits.change(position)
    }
    if let position = edits.positions[place] {
      edits.change(position)
      if !isSpread { edits.entries[position].marks.isSpread = false }
    } else {
      // Without this test, each call copies the struct, and retains its arrays.
      let old = edits.insertedAgain.isEmpty ? nil : edits.contentBeforeRemoval(of: place)
      let before = old ?? before()
      edits.append(
        RecordedEdits.Entry(place: place, before: before, after: nil, marks: .init(isSpread: isSpread)))
    }
  }

  /// Records the insertion of an object, also of one that the group has removed. A child can delete
  /// an object in one save and insert it again in the next one.
  func noteInsertion(_ reference: ObjectReference) {
    if hasRemoved(reference) { edits.insertedAgain.insert(reference) }
    note(.object(reference)) { .absent }
  }

  /// Records the content of a place before a change that does not belong to the group.
  ///
  /// - Parameters:
  ///   - overlap: If the change belongs to another group: the number of the last complete group.
  ///   - now: Reads the current content of the place.
  func seal(_ place: EditedPlace, overlap: UInt64? = nil, _ now: () -> EditedContent) {
    guard let position = edits.positions[place] else { return }
    if edits.entries[position].marks.lastBeforeOverlap == nil {
      edits.entries[position].marks.lastBeforeOverlap = overlap
    }
    if edits.entries[position].after == nil { edits.entries[position].after = now() }
  }

  /// Reads all contents that were not read yet. Called at the latest when the group ends, after a
  /// save, and before the context gets another state of the store.
  ///
  /// - Complexity: O(k) for k places that were edited since the last call.
  func readContents(_ reader: some EditedContentReader) {
    let changed = edits.takeUnread()
    for position in changed {
      let entry = edits.entries[position]
      if entry.isRemoved {
        edits.didRead(position)
        continue
      }
      if entry.before.isStored, let stored = reader.storedContent(of: entry.place) {
        edits.entries[position].before = stored
      }
      let after = entry.after ?? reader.content(of: entry.place)
      edits.entries[position].after =
        after.isStored ? reader.storedContent(of: entry.place) ?? after : after
      edits.didRead(position)
    }
    edits.removeUnchanged(among: changed)
    edits.insertedAgain = []
  }

  /// The changes of the group (UG2, UG4). All contents must have been read (`readContents(_:)`).
  func changes() -> [UndoGroup.Change] {
    edits.entries.compactMap { entry in
      entry.isRemoved
        ? nil : change(entry.place, before: entry.before, after: entry.after, marks: entry.marks)
    }
  }

  /// The changes that were saved while the group was open.
  func savedChanges() -> [UndoGroup.Change] {
    edits.entries.compactMap { entry in
      entry.saved.flatMap {
        change(entry.place, before: $0.before, after: $0.after, marks: $0.marks)
      }
    }
  }

  private func change(
    _ place: EditedPlace, before: EditedContent, after: EditedContent?, marks: UndoGroup.Change.Marks
  ) -> UndoGroup.Change? {
    guard let after, !before.isStored, !after.isStored else { return nil }
    if case .object = place, before.isSame(as: after) { return nil }
    return UndoGroup.Change(place: place, before: before, after: after, marks: marks)
  }

  /// The violations of UG1, UG3 and UG5, for tests.
  var brokenInvariants: [String] { edits.brokenInvariants }

  // MARK: Other references and values

  /// Replaces the values that an object had before the group removed it.
  ///
  /// - Parameter value: Returns the new value of a column. Gets the column's slot and old value.
  func replaceValues(ofRemoved reference: ObjectReference, _ value: (Int, Value) -> Value) {
    edits.mapBefore(ofRemoved: reference) { place, before in
      switch (place, before) {
      case (.object, .object(let object)):
        .object(
          EditedObject(
            columns: object.columns.enumerated().map(value), transients: object.transients,
            wasStored: object.wasStored, hasPermanentID: object.hasPermanentID))
      case (.column(_, let slot), .value(let old)): .value(value(slot, old))
      default: before
      }
    }
  }

  /// Notes that a link did not exist before the group.
  func noteAbsentBefore(_ link: EditedPlace) { edits.setBefore(link.emptyLink, at: link) }

  /// Replaces new objects that a save has merged into others. The merge has sealed their places.
  func replace(_ merged: MergedReferences) {
    edits.rebuild { entry, isKnown in
      let place = merged.replaced(entry.place)
      return RecordedEdits.Entry(
        place: place,
        before: isKnown(place)
          ? entry.before : merged.before(entry.before, at: place, replacing: entry.place),
        after: entry.after.map { merged.replaced($0) }, marks: entry.marks,
        saved: entry.saved.map { saved in
          RecordedEdits.SavedContents(
            before: merged.replaced(saved.before), after: saved.after.map { merged.replaced($0) },
            marks: saved.marks)
        })
    }
    edits.insertedAgain = Set(edits.insertedAgain.map { merged.replaced(.object($0)).owner })
  }

  /// Replaces the reference of an object.
  func rename(_ change: ReferenceChange) {
    edits.rebuild { entry, _ in
      RecordedEdits.Entry(
        place: entry.place.renamed(change), before: entry.before.renamed(change),
        after: entry.after?.renamed(change), marks: entry.marks,
        saved: entry.saved.map { saved in
          RecordedEdits.SavedContents(
            before: saved.before.renamed(change), after: saved.after?.renamed(change),
            marks: saved.marks)
        })
    }
    if edits.insertedAgain.remove(change.old) != nil { edits.insertedAgain.insert(change.new) }
  }

  // MARK: Copies

  /// The edits of the group at one time.
  struct Copy {
    fileprivate let name: String
    fileprivate let number: UInt64?
    fileprivate let edits: RecordedEdits
    fileprivate let isSaved: Bool
  }

  var copy: Copy { Copy(name: name, number: number, edits: edits, isSaved: isSaved) }

  func restore(_ copy: Copy) {
    (name, number, edits, isSaved) = (copy.name, copy.number, copy.edits, copy.isSaved)
  }
}

// Open undo groups, which record edits, and complete undo groups.
//
// Invariants:
//   UG1. A group has a place at most once. `before` is the content of the place before the group's
//        first edit of it. `after` is its content after the last edit. Before the context gets
//        another state of the store, a place with its earlier content is removed: another context
//        may change it until the next edit.
//   UG2. A complete group omits places whose content did not change. It keeps all columns
//        and transient attributes of objects that it has removed, because an undo restores their
//        values.
//   UG3. A group has no columns of objects that it has inserted, because an undo removes these
//        objects.
//   UG4. A content that could not be read stays `.stored`, and a complete group omits its place.
//        The context then demands a rollback, which reverts the edit, or the operation is reverted. A
//        save cannot write such an edit, because it reads the contents before it checks for failed
//        reads (SaveSteps).

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

/// Reads the contents of places.
protocol EditedContentReader {
  /// The current content of a place, including unsaved changes.
  func content(of place: EditedPlace) -> EditedContent
  /// The content of a place in the store's state that the context sees; nil if it cannot be read.
  func storedContent(of place: EditedPlace) -> EditedContent?
}

/// An undo group that records edits.
final class OpenUndoGroup {
  fileprivate struct Entry {
    let place: EditedPlace
    var before: EditedContent
    /// Nil until a change that does not belong to the group. Then it is the content before that
    /// change.
    var after: EditedContent?
    var isSpread = false

    var isUnchanged: Bool { after.map { before.isSame(as: $0) } ?? false }
  }

  var name: String
  /// The number of the group when it is complete; nil for a new group.
  var number: UInt64?
  // The exclusivity of accesses to these properties is not checked at run time (see EditRecorder).
  // Accesses do not overlap: contents are read before an array is accessed.
  @exclusivity(unchecked) private var entries: [Entry] = []
  @exclusivity(unchecked) private var positions: [EditedPlace: Int] = [:]
  /// Whether the group has inserted any object.
  @exclusivity(unchecked) private var hasInsertions = false
  /// The objects that the group has removed and inserted again.
  private var insertedAgain: Set<ObjectReference> = []
  /// The entries as of the last save while the group was open; nil if no save has saved edits of
  /// the group.
  private var savedEntries: [Entry]?

  init(name: String) { self.name = name }

  /// Reopens a complete group for more edits.
  init(continuing group: UndoGroup) {
    name = group.name
    number = group.number
    for change in group.changes {
      append(
        Entry(
          place: change.place, before: change.before, after: change.after, isSpread: change.isSpread))
    }
  }

  private func append(_ entry: Entry) {
    if case .object = entry.place, entry.before.isAbsent { hasInsertions = true }
    positions[entry.place] = entries.count
    entries.append(entry)
  }

  var isEmpty: Bool { entries.isEmpty }

  /// Whether a save has saved edits of the group while it was open.
  var isSaved: Bool { savedEntries != nil }

  /// Marks the edits as saved, after a save.
  func didSave(_ reader: some EditedContentReader) {
    if entries.isEmpty, savedEntries == nil { return }
    settle(reader)
    savedEntries = entries
  }

  /// Removes the edits since the last save, after a rollback has reverted them. The group must be
  /// saved. Contents that were read after the save are those before the rollback, so they are
  /// removed too.
  func rollBack() {
    guard let savedEntries else { return }
    (entries, positions, hasInsertions) = ([], [:], false)
    for entry in savedEntries { append(entry) }
  }

  /// Whether the group has inserted an object.
  func hasInserted(_ reference: ObjectReference) -> Bool {
    positions[.object(reference)].map { entries[$0].before.isAbsent } ?? false
  }

  /// Whether the group has deleted an object.
  func hasRemoved(_ reference: ObjectReference) -> Bool {
    positions[.object(reference)].map { !entries[$0].before.isAbsent } ?? false
  }

  /// Records that an edit of the group will change a place (UG1, UG3).
  ///
  /// - Parameters:
  ///   - isSpread: Whether the edit is a move that only makes space.
  ///   - before: Reads the current content of the place.
  func note(_ place: EditedPlace, isSpread: Bool = false, _ before: () -> EditedContent) {
    if hasInsertions, case .column(let reference, _) = place, let position = positions[.object(reference)],
      entries[position].before.isAbsent
    {
      entries[position].after = nil
      return
    }
    if let position = positions[place] {
      entries[position].after = nil
      if !isSpread { entries[position].isSpread = false }
    } else {
      let before = contentBeforeRemoval(of: place) ?? before()
      append(Entry(place: place, before: before, after: nil, isSpread: isSpread))
    }
  }

  /// Records the insertion of an object, also of one that the group has removed: a child can delete
  /// an object in one save and insert it again in the next one.
  func noteInsertion(_ reference: ObjectReference) {
    if hasRemoved(reference) { insertedAgain.insert(reference) }
    note(.object(reference)) { .absent }
  }

  /// The value that a column had when the group removed its object, if the object was inserted
  /// again; nil for other places.
  private func contentBeforeRemoval(of place: EditedPlace) -> EditedContent? {
    guard !insertedAgain.isEmpty, case .column(let reference, let slot) = place,
      insertedAgain.contains(reference), let position = positions[.object(reference)],
      case .object(let object) = entries[position].before
    else { return nil }
    return .value(object.columns[slot])
  }

  /// Records the content of a place before a change that does not belong to the group.
  ///
  /// - Parameter now: Reads the current content of the place.
  func seal(_ place: EditedPlace, _ now: () -> EditedContent) {
    guard let position = positions[place], entries[position].after == nil else { return }
    entries[position].after = now()
  }

  /// Reads all contents that were not read yet. Called when the group ends, and before the context
  /// gets another state of the store.
  func settle(_ reader: some EditedContentReader) {
    for position in entries.indices {
      let entry = entries[position]
      if entry.before.isStored, let stored = reader.storedContent(of: entry.place) {
        entries[position].before = stored
      }
      let after = entry.after ?? reader.content(of: entry.place)
      entries[position].after = after.isStored ? reader.storedContent(of: entry.place) ?? after : after
    }
    removeUnchanged()
  }

  /// Removes places with their earlier content, except the values that UG2 keeps.
  private func removeUnchanged() {
    var removed: Set<ObjectReference> = []
    for entry in entries where !entry.before.isAbsent && entry.after?.isAbsent == true {
      if case .object(let reference) = entry.place { removed.insert(reference) }
    }
    let changed = entries.filter { entry in
      // The group must know which objects it has inserted, also after their deletion (UG3).
      if case .object = entry.place { return true }
      return !entry.isUnchanged || isValue(entry.place, ofOneOf: removed)
    }
    if changed.count == entries.count { return }
    (entries, positions, hasInsertions) = ([], [:], false)
    for entry in changed { append(entry) }
  }

  /// The changes of the group (UG2, UG4). All contents must have been read (`settle(_:)`).
  func changes() -> [UndoGroup.Change] { changes(entries) }

  /// The changes that were saved while the group was open.
  func savedChanges() -> [UndoGroup.Change] { changes(savedEntries ?? []) }

  private func changes(_ entries: [Entry]) -> [UndoGroup.Change] {
    entries.compactMap { entry in
      guard let after = entry.after, !entry.before.isStored, !after.isStored else { return nil }
      if case .object = entry.place, entry.isUnchanged { return nil }
      return UndoGroup.Change(
        place: entry.place, before: entry.before, after: after, isSpread: entry.isSpread)
    }
  }

  private func isValue(_ place: EditedPlace, ofOneOf owners: Set<ObjectReference>) -> Bool {
    if owners.isEmpty { return false }
    return switch place {
    case .column(let owner, _), .transient(let owner, _): owners.contains(owner)
    case .object, .link, .position: false
    }
  }

  /// Checks UG1 and UG3, for tests.
  func checkInvariants() {
    precondition(
      positions.count == entries.count && entries.indices.allSatisfy { positions[entries[$0].place] == $0 },
      "UG1: a place is not in the group exactly once.")
    for entry in entries {
      guard case .column(let reference, _) = entry.place else { continue }
      precondition(!hasInserted(reference), "UG3: the group has a column of an inserted object.")
    }
  }

  /// Replaces the values that an object had before the group removed it.
  ///
  /// - Parameter value: Returns the new value of a column with a value.
  func replaceValues(ofRemoved reference: ObjectReference, _ value: (Int, Value) -> Value) {
    for position in entries.indices where entries[position].place.owner == reference {
      switch (entries[position].place, entries[position].before) {
      case (.object, .object(let object)):
        entries[position].before = .object(
          EditedObject(
            columns: object.columns.enumerated().map(value), transients: object.transients,
            wasStored: object.wasStored, hasPermanentID: object.hasPermanentID))
      case (.column(_, let slot), .value(let old)): entries[position].before = .value(value(slot, old))
      default: break
      }
    }
  }

  /// The edits of the group at one time.
  struct Copy {
    fileprivate let name: String
    fileprivate let number: UInt64?
    fileprivate let entries: [Entry]
    fileprivate let savedEntries: [Entry]?
    fileprivate let positions: [EditedPlace: Int]
    fileprivate let hasInsertions: Bool
  }

  var copy: Copy {
    Copy(
      name: name, number: number, entries: entries, savedEntries: savedEntries, positions: positions,
      hasInsertions: hasInsertions)
  }

  func restore(_ copy: Copy) {
    (name, number, savedEntries) = (copy.name, copy.number, copy.savedEntries)
    (entries, positions, hasInsertions) = (copy.entries, copy.positions, copy.hasInsertions)
  }

  /// Replaces new objects that a save has merged into others. The merge has sealed their places.
  func replace(_ merged: MergedReferences) {
    let old = entries
    (entries, positions, hasInsertions) = ([], [:], false)
    for entry in old {
      let (place, after) = (merged.replaced(entry.place), entry.after.map { merged.replaced($0) })
      if let position = positions[place] {
        entries[position].after = after
      } else {
        append(
          Entry(
            place: place, before: merged.before(entry.before, at: place, replacing: entry.place),
            after: after, isSpread: entry.isSpread))
      }
    }
  }

  /// Replaces the reference of an object.
  func rename(_ old: ObjectReference, _ new: ObjectReference) {
    func renamed(_ entry: Entry) -> Entry {
      Entry(
        place: entry.place.renamed(old, new), before: entry.before.renamed(old, new),
        after: entry.after?.renamed(old, new), isSpread: entry.isSpread)
    }
    entries = entries.map(renamed)
    savedEntries = savedEntries?.map(renamed)
    positions = [:]
    for (position, entry) in entries.enumerated() { positions[entry.place] = position }
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

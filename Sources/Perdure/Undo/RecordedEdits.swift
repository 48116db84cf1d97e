// The edits that an open undo group has recorded.
//
// A group can stay open for long, for example while an asynchronous closure imports and saves many
// batches. Therefore a save, or an advance to another state of the store, processes only the
// entries that changed since the previous one. If the group drops a place, its entry stays in the
// array while its saved contents are needed.
//
// Invariant:
//   UG5. The entries from `readEnd` on were not read yet. Every earlier entry with an unread
//        content is in `unread`. Every other earlier entry that differs from its saved contents is
//        in `unsaved`.

internal import PerdurePredicates

/// The places of an open undo group with their contents.
struct RecordedEdits {
  /// The contents of a place as of the last save.
  final class SavedContents {
    let before: EditedContent
    let after: EditedContent?
    let marks: UndoGroup.Change.Marks

    init(before: EditedContent, after: EditedContent?, marks: UndoGroup.Change.Marks) {
      (self.before, self.after, self.marks) = (before, after, marks)
    }
  }

  struct Entry {
    let place: EditedPlace
    var before: EditedContent
    /// The content after the last edit; nil if it was not read after that edit. `seal` reads it
    /// before a change that does not belong to the group.
    var after: EditedContent?
    var marks = UndoGroup.Change.Marks()
    /// Whether the group no longer contains the place.
    var isRemoved = false
    /// Whether the entry is in `unread`.
    var isUnread = false
    /// Whether the entry is in `unsaved`.
    var isUnsaved = false
    /// Nil if no save has saved the edit while the group was open.
    var saved: SavedContents?

    var isUnchanged: Bool { after.map { before.isSame(as: $0) } ?? false }
    var lacksContent: Bool { before.isStored || after?.isStored != false }
  }

  var entries: [Entry] = []
  /// The positions of the entries that are not removed.
  private(set) var positions: [EditedPlace: Int] = [:]
  /// Whether the group has inserted any object.
  private(set) var hasInsertions = false
  /// The objects that the group has removed, and inserted again since the contents were last read.
  /// Edits of their columns get the values before the removal as earlier contents
  /// (`contentBeforeRemoval`), because an insertion sets all columns.
  var insertedAgain: Set<ObjectReference> = []
  /// The end of the entries that were read at least once.
  private var readEnd = 0
  private var unread: [Int] = []
  private var unsaved: [Int] = []
  private var removedCount = 0

  func entry(of place: EditedPlace) -> Entry? { positions[place].map { entries[$0] } }

  func hasInserted(_ reference: ObjectReference) -> Bool {
    guard hasInsertions, let position = positions[.object(reference)] else { return false }
    return entries[position].before.isAbsent
  }

  mutating func append(_ new: Entry) {
    if case .object = new.place, new.before.isAbsent { hasInsertions = true }
    positions[new.place] = entries.count
    entries.append(new)
  }

  mutating func append(saved: SavedContents, _ place: EditedPlace) {
    append(
      Entry(
        place: place, before: saved.before, after: saved.after, marks: saved.marks, saved: saved))
  }

  /// Notes that an edit changes the place of an entry.
  mutating func change(_ position: Int) {
    entries[position].after = nil
    mark(position)
  }

  /// Adds an entry to `unread` or to `unsaved` (UG5).
  private mutating func mark(_ position: Int) {
    if position >= readEnd { return }
    if entries[position].lacksContent {
      if entries[position].isUnread { return }
      entries[position].isUnread = true
      unread.append(position)
    } else if !entries[position].isUnsaved {
      entries[position].isUnsaved = true
      unsaved.append(position)
    }
  }

  /// Returns the positions of the entries that may lack a content. Some of these entries may be
  /// removed.
  mutating func takeUnread() -> [Int] {
    defer { (unread, readEnd) = ([], entries.count) }
    return unread + Array(readEnd..<entries.count)
  }

  /// Notes that the contents of an entry of `takeUnread` were read, or could not be read (UG4).
  mutating func didRead(_ position: Int) {
    entries[position].isUnread = false
    mark(position)
  }

  /// The value that a column had when the group removed its object, if the object was inserted
  /// again; nil for other places.
  func contentBeforeRemoval(of place: EditedPlace) -> EditedContent? {
    guard !insertedAgain.isEmpty, case .column(let reference, let slot) = place,
      insertedAgain.contains(reference), case .object(let object) = entry(of: .object(reference))?.before
    else { return nil }
    return .value(object.columns[slot])
  }

  // MARK: Unchanged places

  /// Removes places whose content equals the earlier content, except the values that UG2 keeps.
  mutating func removeUnchanged(among changed: [Int]) {
    // If a deletion was cancelled, the values of the object are no longer kept.
    let isCancelled = changed.contains { position in
      guard case .object = entries[position].place, !entries[position].before.isAbsent else { return false }
      return !isAbsent(entries[position])
    }
    for position in isCancelled ? Array(entries.indices) : changed where isDispensable(entries[position]) {
      positions[entries[position].place] = nil
      entries[position].isRemoved = true
      removedCount += 1
      if entries[position].saved != nil { mark(position) }
    }
  }

  private func isDispensable(_ entry: Entry) -> Bool {
    if entry.isRemoved || !entry.isUnchanged { return false }
    switch entry.place {
    // The group must know which objects it has inserted, also after their deletion (UG3).
    case .object: return false
    case .link, .position: return true
    case .column(let owner, _), .transient(let owner, _):
      guard let object = self.entry(of: .object(owner)) else { return true }
      return object.before.isAbsent || !isAbsent(object)
    }
  }

  private func isAbsent(_ entry: Entry) -> Bool { entry.after?.isAbsent == true }

  // MARK: Saves

  /// Records the contents of the unsaved entries as saved.
  ///
  /// - Parameter includes: Whether the save has saved the changes of an object; nil for all.
  /// - Returns: Whether the save has saved any entry.
  mutating func save(_ includes: ((ObjectReference) -> Bool)?) -> Bool {
    var rest: [Int] = []
    var hasSaved = false
    for position in unsaved {
      let entry = entries[position]
      if let includes, !includes(entry.place.owner) {
        rest.append(position)
        continue
      }
      hasSaved = true
      entries[position].isUnsaved = false
      entries[position].saved =
        entry.isRemoved
        ? nil : SavedContents(before: entry.before, after: entry.after, marks: entry.marks)
    }
    unsaved = rest
    return hasSaved
  }

  /// Removes dropped places without saved contents from the array, if more than half of the entries
  /// are dropped places and all entries were read.
  mutating func compact() {
    if removedCount <= entries.count / 2 || !unread.isEmpty || readEnd < entries.count { return }
    let needed = entries.filter { !$0.isRemoved || $0.saved != nil }
    (entries, positions, unsaved, removedCount) = (needed, [:], [], 0)
    readEnd = needed.count
    for (position, entry) in needed.enumerated() {
      if entry.isRemoved { removedCount += 1 } else { positions[entry.place] = position }
      if entry.isUnsaved { unsaved.append(position) }
    }
  }

  // MARK: Other references and values

  mutating func mapBefore(
    ofRemoved reference: ObjectReference, _ transform: (EditedPlace, EditedContent) -> EditedContent
  ) {
    for position in entries.indices
    where entries[position].place.owner == reference && !entries[position].isRemoved {
      entries[position].before = transform(entries[position].place, entries[position].before)
      mark(position)
    }
  }

  mutating func setBefore(_ content: EditedContent, at place: EditedPlace) {
    guard let position = positions[place] else { return }
    entries[position].before = content
    mark(position)
  }

  /// Replaces all entries. If two entries get the same place, the result has the content before the
  /// first entry and the content after the last one.
  ///
  /// - Parameter transform: Returns the new entry. It is called with a function that returns
  ///   whether an earlier new entry has a place.
  mutating func rebuild(_ transform: (Entry, _ isKnown: (EditedPlace) -> Bool) -> Entry) {
    let old = entries
    let insertedAgain = insertedAgain
    self = RecordedEdits()
    self.insertedAgain = insertedAgain
    for entry in old {
      let new = transform(entry) { positions[$0] != nil }
      if entry.isRemoved {
        guard new.saved != nil else { continue }
        entries.append(new)
        entries[entries.count - 1].isRemoved = true
        removedCount += 1
      } else if let position = positions[new.place] {
        entries[position].after = new.after
        entries[position].marks = entries[position].marks.followed(by: new.marks)
        mark(position)
      } else {
        append(new)
      }
    }
  }

  /// The violations of UG1, UG3 and UG5, for tests.
  var brokenInvariants: [String] {
    let live = entries.indices.filter { !entries[$0].isRemoved }
    var broken: [String] = []
    if positions.count != live.count || !live.allSatisfy({ positions[entries[$0].place] == $0 }) {
      broken.append("UG1: a place is not in the open group exactly once")
    }
    for entry in live.map({ entries[$0] }) {
      guard case .column(let owner, let slot) = entry.place, hasInserted(owner) else { continue }
      broken.append("UG3: the open group has column \(slot) of the inserted object \(owner)")
    }
    let (unread, unsaved) = (Set(unread), Set(unsaved))
    for position in entries.indices where position < readEnd {
      let entry = entries[position]
      let isListed =
        unread.contains(position) == entry.isUnread && unsaved.contains(position) == entry.isUnsaved
      let isKnown = entry.isUnread || entry.isUnsaved || !entry.lacksContent && entry.saved != nil
      if !isListed || !entry.isRemoved && !isKnown {
        broken.append("UG5: \(entry.place) would not be read or saved")
      }
    }
    return broken
  }
}

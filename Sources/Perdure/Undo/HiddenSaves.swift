// Values that other contexts have saved and that unsaved edits hide.
//
// A context keeps its unsaved edits when it shows a save of another context. If both have changed
// the same place, the edit hides the saved value. Without a check, the undo of the edit restores
// the value that the other context has replaced, and the next save silently replaces the saved
// value. So this undo is a conflict. An undo that restores another unsaved value does not conflict,
// because that value also hides the saved one.
//
// Invariants:
//   HS1. `replaced` has all places whose unsaved edits hide a saved content, with the stored
//        contents that the saves have replaced. An undo that restores one of them is a conflict,
//        unless the context shows the saved content now.
//   HS2. If only one end of a one-to-one relationship is a column, a target has at most one
//        partner. An unsaved link of one object can hide a saved link of another object to the same
//        target. Then `replaced` has the column of the other object, and the undo of the unsaved
//        link is a conflict.
//   HS3. A complete save, a rollback or a removal of all groups empties `replaced`. If only some
//        stores have committed their part of a save, the places of the saved objects are removed. A
//        place is also removed when an undo has overwritten it. If an edit is discarded, its place
//        stays, but the exception in HS1 prevents a conflict.
//   HS4. `deletions` has the objects with a pending deletion whose columns other contexts have
//        changed after the deletion. `replaced` has these columns. When a save removes the row, the
//        undo group gets the saved values instead of the replaced ones. Values that were never
//        saved stay.
//   HS5. `links` has the links and references that a pending deletion has removed and that another
//        context has removed too. The undo of the deletion connects the objects again, so it is a
//        conflict. When a save removes the deleted object, its undo group loses the link.

internal import PerdurePredicates

/// The places whose unsaved edits hide contents that other contexts have saved.
struct HiddenSaves {
  /// The hash values of the replaced contents (HS1). The contents are not kept, because other
  /// contexts may save many large values. If two contents have the same hash value, an undo can be
  /// refused unnecessarily.
  private var replaced: [EditedPlace: Set<Int>] = [:]
  /// The links of HS5, with the deleted objects.
  private(set) var links: [EditedPlace: ObjectReference] = [:]
  /// The deleted objects of HS4.
  private(set) var deletions: Set<ObjectReference> = []

  var isEmpty: Bool { replaced.isEmpty && links.isEmpty }

  mutating func insert(_ place: EditedPlace, replaced content: EditedContent) {
    if let hash = content.contentHash { replaced[place, default: []].insert(hash) }
  }

  mutating func insert(link: EditedPlace, ofDeleted reference: ObjectReference) { links[link] = reference }

  func contains(_ place: EditedPlace) -> Bool { replaced[place] != nil }

  /// Whether a hidden save has replaced a content.
  func hasReplaced(_ content: EditedContent, at place: EditedPlace) -> Bool {
    if case .linked = content { return links[place] != nil }
    guard let hashes = replaced[place], let hash = content.contentHash else { return false }
    return hashes.contains(hash)
  }

  mutating func remove(_ place: EditedPlace) { (replaced[place], links[place]) = (nil, nil) }

  /// Notes that another context has changed columns of a deleted object.
  mutating func insertDeletion(_ reference: ObjectReference) { deletions.insert(reference) }

  mutating func removeAll() { (replaced, links, deletions) = ([:], [:], []) }

  /// Removes the places of objects whose changes were saved.
  mutating func removeAll(of isSaved: (ObjectReference) -> Bool) {
    replaced = replaced.filter { !isSaved($0.key.owner) }
    links = links.filter { !isSaved($0.value) }
    deletions = deletions.filter { !isSaved($0) }
  }
}

extension EditedContent {
  /// The hash value of the content of a column or a position; nil for other contents.
  fileprivate var contentHash: Int? {
    switch self {
    case .value(let value): value.hashValue
    case .key(let key): key.hashValue
    case .stored, .absent, .object, .linked, .transient: nil
    }
  }
}

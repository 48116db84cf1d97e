// The changes of an overlay that the layer lacks. The overlay of an owner may have thousands of
// links, so an edit of one link must not apply all of them again.

internal import PerdurePredicates

/// The parts of an overlay's changes that the layer lacks.
struct LayerGap: OptionSet {
  let rawValue: UInt8

  /// The columns.
  static let row = LayerGap(rawValue: 1)
  /// The links and order keys of the members in `ObjectOverlay.editedMembers`.
  static let members = LayerGap(rawValue: 2)
  /// All parts. Edits of single parts are then not noted.
  static let all = LayerGap(rawValue: 7)
}

/// A member of a relationship with links or with order keys, whose link or order key was edited.
struct EditedMember {
  /// The slot of the relationship.
  let slot: Int
  let member: ObjectReference
}

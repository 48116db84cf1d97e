// The other ends of relationships in the store, read for many objects at once.
//
// A deletion reads every relationship of an object, and a save reads it again. If each read is a
// request to a distant store, the delete rules and the save take as many requests as there are
// links. Therefore the links of all objects that are being deleted are read ahead. They are cached
// until the view advances.

internal import PerdurePredicates

/// The stored entries of some owners in some indexes.
struct StoredLinks {
  private struct Key: Hashable {
    let index: StoreIndex
    let owner: ObjectReference
  }

  private var found: [Key: [ObjectReference]] = [:]

  /// The references of an owner; nil if they were not read.
  func references(under owner: ObjectReference, in index: StoreIndex) -> [ObjectReference]? {
    found[Key(index: index, owner: owner)]
  }

  mutating func add(_ references: [ObjectReference], under owner: ObjectReference, in index: StoreIndex) {
    found[Key(index: index, owner: owner)] = references
  }
}

// The other ends of relationships in the store, read for many objects at once.
//
// A deletion asks for every relationship of an object, and a save asks again. If each answer is a
// request to a distant store, the delete rules and the save take as many requests as there are
// links. So these are read ahead for all objects that are being deleted, and kept until the context
// moves on.

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

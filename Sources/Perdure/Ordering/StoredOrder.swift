// The stored order of a relationship.
//
// A member of an ordered relationship P normally has an entry in the keyspace `order/P` (SO2). The
// key of the entry is the owner and the member, and its value is the order key. The key of the
// derived index `ordered/P` is the owner and the order key. So a move usually writes one short
// record, and does not write the rows of the owner and the member. Therefore a move does not
// conflict with changes of attributes. If two contexts insert members at the same time, both are
// present, in the order of keys. Members with equal keys are in the order of references.
//
// Invariants
//   SO1. Every entry of `order/P` has a link. A commit that adds or removes a link of an ordered
//        relationship also adds or removes its entry. A commit that changes an entry requires that
//        no other commit has changed it.
//   SO2. A link may have no entry, if the relationship was not ordered when the link was made, or
//        if the entry was lost. Such members follow all others, in the order of references.

package import PerdurePredicates

/// The indexes that contain the stored order of a relationship.
package struct OrderIndexes: Hashable, Sendable {
  /// The index from an owner and a member to the member's order key.
  package let keys: StoreIndex
  /// The index from an owner and an order key to the member.
  package let ordered: StoreIndex

  package init(keys: StoreIndex, ordered: StoreIndex) {
    self.keys = keys
    self.ordered = ordered
  }

  /// The entries of an owner in `ordered`.
  static func range(of owner: ObjectReference) -> KeyRange {
    var key = OrderedKey()
    key.append(bare: owner)
    return .prefix(key.bytes)
  }

  /// The key of an entry in `ordered`.
  package static func indexKey(_ owner: ObjectReference, _ key: OrderKey) -> [UInt8] {
    var bytes = OrderedKey()
    bytes.append(bare: owner)
    for byte in key.bytes { bytes.bytes += byte == 0 ? [0, 0xFF] : [byte] }
    return bytes.bytes + [0, 0]
  }

  /// The order key in the key of an entry; nil if the key contains no valid order key.
  package static func orderKey(in key: UnsafeRawBufferPointer) -> OrderKey? {
    guard key.count > 10 else { return nil }
    var bytes: [UInt8] = []
    var place = 8
    while place < key.count - 2 {
      bytes.append(key[place])
      place += key[place] == 0 ? 2 : 1
    }
    return OrderKey(bytes)
  }
}

/// The new order key of a member in an ordered relationship.
package struct StoreOrderKey: Hashable, Sendable {
  /// Owner and member, in the index `OrderIndexes.keys`.
  package let link: StoreLink
  package let key: OrderKey
  /// Whether the program did not request the key: the member was moved to make space for others, or
  /// had no key. A parent context keeps this mark in its own unsaved order.
  package let isSpread: Bool

  package init(link: StoreLink, key: OrderKey, isSpread: Bool = false) {
    self.link = link
    self.key = key
    self.isSpread = isSpread
  }
}

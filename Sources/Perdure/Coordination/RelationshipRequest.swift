package import PerdurePredicates

/// A request for the objects at the other end of a relationship, for some owners.
package struct RelationshipRequest {
  package let owners: [ObjectReference]
  /// The index of the relationship, whose keys are references without a mark for null.
  package let index: StoreIndex
  /// The order of the references of an owner; nil for the order of PS5.
  package let order: OrderIndexes?
  /// The request stops after an owner if the total number of references then exceeds this limit.
  package let countMax: Int
  /// Whether the rows of the references are wanted too.
  package let wantsRows: Bool

  package init(
    owners: [ObjectReference], index: StoreIndex, order: OrderIndexes? = nil, countMax: Int = .max,
    wantsRows: Bool = false
  ) {
    self.owners = owners
    self.index = index
    self.order = order
    self.countMax = countMax
    self.wantsRows = wantsRows
  }
}

// Where a relationship of a block of siblings leads.
//
// Who asks one of many objects for what it is related to is likely to ask the next one too. So the answer is got for a
// whole block of siblings: of a to-one relationship from rows that are there already, of any other from the
// index, in one request. What they lead to is a group of its own, whose rows are read together in turn. So n
// siblings, each asked for the name of what it leads to, cost as many requests as they have blocks.
//
// Invariants
//   B1. An answer of an index is what the store had at `epoch`; it holds as long as the context's view does. One from
//       rows may be older: whoever uses it has the reference and looks whether it is the one.
//   B2. `places` are positions in `group`; ranges of siblings that were not asked are nil.

internal import PerdurePredicates

final class SiblingRelation {
  let relationship: RelationshipShape
  /// nil for all siblings at once.
  let block: Int?
  let epoch: UInt64
  /// The position of the first sibling.
  private let first: Int
  private let ranges: [Range<UInt32>?]
  /// For one sibling after the other, where its objects are in the group.
  let places: [UInt32]
  /// What the siblings lead to, each once; nil when that is nothing.
  let group: SiblingGroup?

  init(
    _ relationship: RelationshipShape, block: Int?, epoch: UInt64, first: Int, ranges: [Range<UInt32>?],
    places: [UInt32], group: SiblingGroup?
  ) {
    self.relationship = relationship
    self.block = block
    self.epoch = epoch
    self.first = first
    self.ranges = ranges
    self.places = places
    self.group = group
  }

  /// How much room it takes: siblings count whatever they lead to, so that those without anything go too.
  var entryCount: Int { ranges.count + places.count }

  /// The part of `places` that is a sibling's; nil when it was not asked.
  @inline(__always)
  func range(of position: Int) -> Range<Int>? {
    guard position >= first, position < first &+ ranges.count, let range = ranges[position &- first] else {
      return nil
    }
    return Int(range.lowerBound)..<Int(range.upperBound)
  }
}

/// The numbers of targets of a block of siblings in a relationship, as the store has them at `epoch`.
struct SiblingCounts {
  /// The number of blocks that a group keeps counts of.
  static let keptMax = 16

  let relationship: RelationshipShape
  let block: Int
  let epoch: UInt64
  /// The position of the first sibling.
  let first: Int
  /// One for each sibling; nil for a sibling that was not asked.
  let counts: [Int?]

  func count(of position: Int) -> Int? {
    counts.indices.contains(position - first) ? counts[position - first] : nil
  }
}

/// What is known of the relationships of a group's siblings.
struct SiblingRelations {
  /// How many siblings and objects at their other ends are kept at most, beside the newest block.
  private static let entryCountMax = 32_768

  /// The oldest first.
  private var relations: [SiblingRelation] = []
  private var entryCount = 0
  /// The slots of relationships that somebody has asked a sibling for.
  private var asked: Set<Int> = []
  /// The oldest first.
  private var counts: [SiblingCounts] = []
  /// The slots of relationships whose number of targets a sibling was asked for.
  private var counted: Set<Int> = []

  /// Notes that a sibling was asked for a relationship.
  ///
  /// - Returns: Whether it was the first.
  mutating func isFirst(slot: Int) -> Bool { asked.insert(slot).inserted }

  /// Notes that a sibling was asked for the number of its targets.
  ///
  /// - Returns: Whether it was the first.
  mutating func isFirstCount(slot: Int) -> Bool { counted.insert(slot).inserted }

  /// The numbers of targets of a block, for as long as the view of an epoch holds.
  func findCounts(_ relationship: RelationshipShape, block: Int, epoch: UInt64) -> SiblingCounts? {
    counts.last { $0.epoch == epoch && $0.block == block && $0.relationship.isSame(as: relationship) }
  }

  mutating func add(_ new: SiblingCounts) {
    counts.removeAll { $0.epoch != new.epoch }
    if counts.count == SiblingCounts.keptMax { counts.removeFirst() }
    counts.append(new)
  }

  /// What is known of a relationship of a block, for as long as the view of an epoch holds.
  func find(_ relationship: RelationshipShape, block: Int, epoch: UInt64) -> SiblingRelation? {
    relations.last {
      $0.epoch == epoch && ($0.block == block || $0.block == nil) && $0.relationship.isSame(as: relationship)
    }
  }

  /// What is known of a relationship of all siblings.
  func find(_ relationship: RelationshipShape, epoch: UInt64) -> SiblingRelation? {
    relations.last { $0.epoch == epoch && $0.block == nil && $0.relationship.isSame(as: relationship) }
  }

  mutating func add(_ relation: SiblingRelation) {
    // All of them are of one state of the store.
    if relations.last?.epoch != relation.epoch { (relations, entryCount) = ([], 0) }
    while entryCount > Self.entryCountMax, let oldest = relations.firstIndex(where: { $0.block != nil }) {
      entryCount -= relations.remove(at: oldest).entryCount
    }
    relations.append(relation)
    if relation.block != nil { entryCount += relation.entryCount }
  }
}

extension RelationshipShape {
  /// Whether both are one relationship, as objects of an entity and of a sub-entity have it.
  func isSame(as other: RelationshipShape) -> Bool {
    self === other || slot == other.slot && index == other.index && form == other.form
  }
}

/// A relation under construction.
struct SiblingRelationBuilder {
  private var ranges: [Range<UInt32>?] = []
  private var places: [UInt32] = []
  private(set) var references: [ObjectReference] = []
  private var known: [ObjectReference: UInt32] = [:]
  /// Whether several siblings may lead to the same object.
  private let mayRepeat: Bool

  init(_ relationship: RelationshipShape) {
    switch relationship.form {
    case .column, .links: mayRepeat = true
    case .inverseToOne, .inverseToMany: mayRepeat = false
    case .transient: preconditionFailure("The store is not asked for transient relationships.")
    }
  }

  /// Adds a sibling that was not asked.
  mutating func skip() { ranges.append(nil) }

  /// Adds a sibling with what it leads to.
  mutating func add(_ targets: some Sequence<ObjectReference>) {
    let start = UInt32(places.count)
    for target in targets { places.append(place(of: target)) }
    ranges.append(start..<UInt32(places.count))
  }

  /// In the order in which they come: who walks over the siblings goes over the group from its beginning to its end.
  private mutating func place(of target: ObjectReference) -> UInt32 {
    if let last = places.last, references[Int(last)] == target { return last }
    let next = UInt32(references.count)
    guard mayRepeat else {
      references.append(target)
      return next
    }
    let place = known[target, default: next]
    if place == next {
      known[target] = next
      references.append(target)
    }
    return place
  }

  func finish(
    _ relationship: RelationshipShape, block: Int?, epoch: UInt64, first: Int, group: SiblingGroup?
  ) -> SiblingRelation {
    SiblingRelation(
      relationship, block: block, epoch: epoch, first: first, ranges: ranges, places: places, group: group)
  }
}

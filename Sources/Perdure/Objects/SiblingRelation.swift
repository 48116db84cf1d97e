// A relationship of a block of siblings.
//
// After a relationship of one object, a program probably reads the same relationship of the next
// one. So the relationship is read for a whole block of siblings. If the relationship is stored in
// a column, it is read from the loaded rows, and otherwise from the index, in one request. The
// targets form a group of their own, and their rows are read together too. So a loop that reads a
// name at the other end of each of n siblings sends one request for the targets of each block.
//
// Invariants
//   RG1. A relation from an index has the targets in the store at `epoch`, and is valid until the
//        view changes. A relation from rows may be outdated. The code that uses such a relation
//        knows the reference of the current target, and compares it with the reference in the
//        relation.
//   RG2. `places` are positions in `group`. The ranges of siblings that were not read are nil.

internal import PerdurePredicates

final class SiblingRelation {
  let relationship: RelationshipShape
  /// The number of the block; nil for all siblings.
  let block: Int?
  let epoch: UInt64
  /// The position of the first sibling.
  private let first: Int
  private let ranges: [Range<UInt32>?]
  /// The positions of the targets in the group, sibling by sibling.
  let places: [UInt32]
  /// The targets of the siblings, without duplicates; nil if there are none.
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

  /// The size of the relation. Siblings count too, so that relations without targets are evicted.
  var entryCount: Int { ranges.count + places.count }

  /// The part of `places` that belongs to a sibling; nil if the sibling was not read.
  @inline(__always)
  func range(of position: Int) -> Range<Int>? {
    guard position >= first, position < first &+ ranges.count, let range = ranges[position &- first] else {
      return nil
    }
    return Int(range.lowerBound)..<Int(range.upperBound)
  }
}

/// The numbers of targets of a block of siblings in a relationship, in the store at `epoch`.
struct SiblingCounts {
  /// The maximum number of blocks whose counts a group caches.
  static let keptMax = 16

  let relationship: RelationshipShape
  let block: Int
  let epoch: UInt64
  /// The position of the first sibling.
  let first: Int
  /// One count for each sibling; nil for a sibling that was not read.
  let counts: [Int?]

  func count(of position: Int) -> Int? {
    counts.indices.contains(position - first) ? counts[position - first] : nil
  }
}

/// The cached relationships of a group's siblings.
struct SiblingRelations {
  /// The maximum number of cached siblings and targets, in addition to the newest block.
  private static let entryCountMax = 32_768

  /// The cached relations, oldest first.
  private var relations: [SiblingRelation] = []
  private var entryCount = 0
  /// The slots of the relationships that were read from a sibling.
  private var asked: Set<Int> = []
  /// The cached counts, oldest first.
  private var counts: [SiblingCounts] = []
  /// The slots of the relationships whose number of targets was read from a sibling.
  private var counted: Set<Int> = []

  /// Whether no relationship is cached.
  var isEmpty: Bool { relations.isEmpty }

  /// Notes that a relationship of a sibling is read.
  ///
  /// - Returns: Whether no sibling's relationship in this slot was read before.
  mutating func isFirst(slot: Int) -> Bool { asked.insert(slot).inserted }

  /// Notes that the number of a sibling's targets is read.
  ///
  /// - Returns: Whether no sibling's number in this slot was read before.
  mutating func isFirstCount(slot: Int) -> Bool { counted.insert(slot).inserted }

  /// The cached numbers of targets of a block, if they were read at this epoch.
  func findCounts(_ relationship: RelationshipShape, block: Int, epoch: UInt64) -> SiblingCounts? {
    counts.last { $0.epoch == epoch && $0.block == block && $0.relationship.isSame(as: relationship) }
  }

  mutating func add(_ new: SiblingCounts) {
    counts.removeAll { $0.epoch != new.epoch }
    if counts.count == SiblingCounts.keptMax { counts.removeFirst() }
    counts.append(new)
  }

  /// The cached relationship of a block, if it was read at this epoch.
  func find(_ relationship: RelationshipShape, block: Int, epoch: UInt64) -> SiblingRelation? {
    relations.last {
      $0.epoch == epoch && ($0.block == block || $0.block == nil) && $0.relationship.isSame(as: relationship)
    }
  }

  /// The cached relationship of all siblings, if it was read at this epoch.
  func find(_ relationship: RelationshipShape, epoch: UInt64) -> SiblingRelation? {
    relations.last { $0.epoch == epoch && $0.block == nil && $0.relationship.isSame(as: relationship) }
  }

  mutating func add(_ relation: SiblingRelation) {
    // All cached relations belong to one state of the store.
    if relations.last?.epoch != relation.epoch { (relations, entryCount) = ([], 0) }
    while entryCount > Self.entryCountMax, let oldest = relations.firstIndex(where: { $0.block != nil }) {
      entryCount -= relations.remove(at: oldest).entryCount
    }
    relations.append(relation)
    if relation.block != nil { entryCount += relation.entryCount }
  }
}

extension RelationshipShape {
  /// Whether both are the same relationship. They may belong to an entity and to one of its
  /// subentities.
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
  /// Whether several siblings may have the same target.
  private let mayRepeat: Bool

  init(_ relationship: RelationshipShape) {
    switch relationship.form {
    case .column, .links: mayRepeat = true
    case .inverseToOne, .inverseToMany: mayRepeat = false
    case .transient: preconditionFailure("The store is not asked for transient relationships.")
    }
  }

  /// Adds a sibling that was not read.
  mutating func skip() { ranges.append(nil) }

  /// Adds a sibling with its targets.
  mutating func add(_ targets: some Sequence<ObjectReference>) {
    let start = UInt32(places.count)
    for target in targets { places.append(place(of: target)) }
    ranges.append(start..<UInt32(places.count))
  }

  /// The position of a target in the group. Targets have the order of their first appearance, so a
  /// walk over the siblings visits the group from its beginning to its end.
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

/// The origin of the objects of a `ToMany` or `OrderedToMany`.
@usableFromInline
enum ToManySource {
  /// A relationship of an object, by its slot.
  case relationship(ManagedObject, Int)
  /// Objects that the program has listed, each once, to assign them to a relationship.
  case list([ManagedObject])

  /// Lists objects; a repeated object counts at its first occurrence.
  init(listing objects: some Sequence<ManagedObject>) {
    var seen: Set<ManagedObject> = []
    self = .list(objects.filter { seen.insert($0).inserted })
  }

  /// The object with the relationship; nil for a list.
  var owner: ManagedObject? {
    if case .relationship(let owner, _) = self { owner } else { nil }
  }

  /// The slot of the relationship; nil for a list.
  var slot: Int? {
    if case .relationship(_, let slot) = self { slot } else { nil }
  }

  /// The relationship, for a change. Stops the program for a list, which has no relationship.
  func changeable() -> (owner: ManagedObject, slot: Int) {
    guard case .relationship(let owner, let slot) = self else {
      stop(
        "This collection was made of objects. It belongs to no relationship, and cannot be changed. Assign it to a "
          + "relationship, and change the relationship.")
    }
    return (owner, slot)
  }

  @usableFromInline var count: Int {
    switch self {
    case .relationship(let owner, let slot): owner.relatedCount(slot)
    case .list(let objects): objects.count
    }
  }

  @inlinable @inline(__always)
  func makeWalk() -> SiblingWalk {
    switch self {
    case .relationship(let owner, let slot): owner.siblings(slot)
    case .list(let objects): SiblingWalk(objects)
    }
  }
}

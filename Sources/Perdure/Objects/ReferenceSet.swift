internal import PerdurePredicates

/// A set of references, optimized for pending changes. Sets of pending changes are small, or are
/// filled in ascending order, because the ids of inserted objects ascend. So the set is a sorted
/// array as long as this is cheap, and a hash set otherwise.
struct ReferenceSet {
  // At most one of `sorted` and `hashed` has elements.
  /// The references in ascending order.
  private var sorted: [ObjectReference] = []
  private var hashed: Set<ObjectReference> = []

  /// The maximum size of an array whose elements are moved by an insertion or a removal. A larger
  /// array becomes a hash set instead.
  private static let movedCountMax = 64

  var isEmpty: Bool { sorted.isEmpty && hashed.isEmpty }
  var count: Int { sorted.count + hashed.count }

  /// The elements in ascending order.
  var ordered: [ObjectReference] {
    hashed.isEmpty ? sorted : hashed.sorted { $0.rawValue < $1.rawValue }
  }

  func contains(_ reference: ObjectReference) -> Bool {
    hashed.isEmpty ? place(of: reference).isFound : hashed.contains(reference)
  }

  /// Adds an element. Returns false if the set already has it.
  @discardableResult
  mutating func insert(_ reference: ObjectReference) -> Bool {
    if !hashed.isEmpty { return hashed.insert(reference).inserted }
    if let last = sorted.last, last.rawValue >= reference.rawValue {
      return insertBeforeLast(reference)
    }
    sorted.append(reference)
    return true
  }

  private mutating func insertBeforeLast(_ reference: ObjectReference) -> Bool {
    let place = place(of: reference)
    if place.isFound { return false }
    if sorted.count < Self.movedCountMax {
      sorted.insert(reference, at: place.index)
    } else {
      useHashing()
      hashed.insert(reference)
    }
    return true
  }

  /// Removes an element. Returns false if the set does not have it.
  @discardableResult
  mutating func remove(_ reference: ObjectReference) -> Bool {
    if !hashed.isEmpty { return hashed.remove(reference) != nil }
    let place = place(of: reference)
    guard place.isFound else { return false }
    if sorted.count <= Self.movedCountMax {
      sorted.remove(at: place.index)
    } else {
      useHashing()
      hashed.remove(reference)
    }
    return true
  }

  mutating func removeAll(where isRemoved: (ObjectReference) -> Bool) {
    sorted.removeAll(where: isRemoved)
    if !hashed.isEmpty { hashed = hashed.filter { !isRemoved($0) } }
  }

  private mutating func useHashing() {
    hashed = Set(sorted)
    sorted = []
  }

  /// The index of a reference in the array, or the index at which to insert it.
  private func place(of reference: ObjectReference) -> (index: Int, isFound: Bool) {
    var low = 0
    var high = sorted.count
    while low < high {
      let middle = (low + high) / 2
      if sorted[middle].rawValue < reference.rawValue { low = middle + 1 } else { high = middle }
    }
    return (low, low < sorted.count && sorted[low] == reference)
  }
}

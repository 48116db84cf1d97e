internal import PerdurePredicates

/// A set of references, made for the sets that pending changes have: small, or filled in ascending order,
/// because ids ascend as objects are inserted. So it is a sorted array while that is cheap, and a hash set
/// otherwise.
struct ReferenceSet {
  // At most one of the two has elements.
  /// Ascending.
  private var sorted: [ObjectReference] = []
  private var hashed: Set<ObjectReference> = []

  /// From this size on elements are no longer moved in the array to make or to fill a place.
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

  /// Adds an element; false if it was there.
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

  /// Removes an element; false if it was not there.
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

  /// Where a reference is in the array, or belongs.
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

// The unsaved changes of one ordered relationship, in order: the entries that they add, and the
// stored entries that they hide. With the counts of the store's index, the tree finds the position
// of a member in O(log n), and the member at a position in O(log n · log m), for n members and m
// unsaved changes: each step of that search counts stored members.
//
// It is a treap: a search tree by order key, and a heap by a number derived from the reference. So
// it has the depth of a random tree, and the same shape in every run.

internal import PerdurePredicates

/// An entry of an ordered relationship. Entries are ordered by order key, then by reference (KY3 in
/// OrderKey.swift).
struct OrderEntry: Hashable, Comparable {
  let key: OrderKey
  let reference: ObjectReference

  static func < (left: OrderEntry, right: OrderEntry) -> Bool {
    if left.key != right.key { return left.key < right.key }
    return left.reference.rawValue < right.reference.rawValue
  }
}

/// A tree of entries, in the order of `OrderEntry`. Each entry adds an object to the stored ones or
/// hides a stored object.
struct OrderTree {
  private struct Node {
    let place: OrderEntry
    /// 1 for an added object, -1 for a hidden one.
    let weight: Int
    var left = -1
    var right = -1
    /// The sum of the weights of the node and of all nodes below it.
    var sum: Int

    var priority: UInt64 {
      // The finalizer of SplitMix64: neighbouring references get unrelated numbers.
      var bits = place.reference.rawValue &+ 0x9E37_79B9_7F4A_7C15
      bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
      bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
      return bits ^ (bits >> 31)
    }
  }

  private var nodes: [Node] = []
  private var free: [Int] = []
  private var root = -1

  var isEmpty: Bool { root < 0 }

  /// The number of objects in the unsaved order minus the number in the store.
  var weight: Int { weight(root) }

  /// Adds an entry that is absent. Another entry may have the same order key.
  mutating func insert(_ place: OrderEntry, weight: Int) {
    let node = Node(place: place, weight: weight, sum: weight)
    let position: Int
    if let unused = free.popLast() {
      position = unused
      nodes[position] = node
    } else {
      position = nodes.count
      nodes.append(node)
    }
    let (left, right) = split(root, before: place)
    root = merge(merge(left, position), right)
  }

  /// Removes an entry, which must exist.
  mutating func remove(_ place: OrderEntry) {
    let (left, rest) = split(root, before: place)
    // Remove the first node of the rest.
    var path: [Int] = []
    var position = rest
    while position >= 0, nodes[position].left >= 0 {
      path.append(position)
      position = nodes[position].left
    }
    guard position >= 0, nodes[position].place == place else {
      preconditionFailure("The entry must be in the tree.")
    }
    var right = nodes[position].right
    free.append(position)
    for parent in path.reversed() {
      nodes[parent].left = right
      update(parent)
      right = parent
    }
    root = merge(left, right)
  }

  /// The weight of the entries before an entry: the number of objects before it in the unsaved
  /// order, minus the number before it in the store.
  func weight(before place: OrderEntry) -> Int {
    var sum = 0
    var position = root
    while position >= 0 {
      let node = nodes[position]
      if node.place < place {
        sum += node.weight + weight(node.left)
        position = node.right
      } else {
        position = node.left
      }
    }
    return sum
  }

  /// The object at a position of the combined order.
  enum Found {
    /// An added object.
    case added(OrderEntry)
    /// A stored object, by its position among the stored objects.
    case stored(Int)
  }

  /// Finds the object at a position of the combined order.
  ///
  /// - Parameter storedCount: Returns the number of stored objects before an entry.
  func find(_ wanted: Int, storedCount: (OrderEntry) throws -> Int) rethrows -> Found {
    var before = 0
    var position = root
    while position >= 0 {
      let node = nodes[position]
      let rank = try storedCount(node.place) + before + weight(node.left)
      if wanted < rank {
        position = node.left
      } else if node.weight > 0, wanted == rank {
        return .added(node.place)
      } else {
        before += weight(node.left) + node.weight
        position = node.right
      }
    }
    return .stored(wanted - before)
  }

  /// The added entries, in order.
  var added: [OrderEntry] {
    var result: [OrderEntry] = []
    var path: [Int] = []
    var position = root
    while position >= 0 || !path.isEmpty {
      while position >= 0 {
        path.append(position)
        position = nodes[position].left
      }
      let next = path.removeLast()
      if nodes[next].weight > 0 { result.append(nodes[next].place) }
      position = nodes[next].right
    }
    return result
  }

  /// The last entry, if it was added; nil if it hides a stored object, or if there is none.
  /// O(log n).
  var lastIfAdded: OrderEntry? {
    var position = root
    while position >= 0, nodes[position].right >= 0 { position = nodes[position].right }
    return position >= 0 && nodes[position].weight > 0 ? nodes[position].place : nil
  }

  // MARK: The treap

  private func weight(_ position: Int) -> Int { position < 0 ? 0 : nodes[position].sum }

  private mutating func update(_ position: Int) {
    nodes[position].sum =
      weight(nodes[position].left) + nodes[position].weight + weight(nodes[position].right)
  }

  private mutating func split(_ position: Int, before place: OrderEntry) -> (left: Int, right: Int) {
    guard position >= 0 else { return (-1, -1) }
    if nodes[position].place < place {
      let (left, right) = split(nodes[position].right, before: place)
      nodes[position].right = left
      update(position)
      return (position, right)
    }
    let (left, right) = split(nodes[position].left, before: place)
    nodes[position].left = right
    update(position)
    return (left, position)
  }

  private mutating func merge(_ left: Int, _ right: Int) -> Int {
    if left < 0 { return right }
    if right < 0 { return left }
    if nodes[left].priority > nodes[right].priority {
      nodes[left].right = merge(nodes[left].right, right)
      update(left)
      return left
    }
    nodes[right].left = merge(left, nodes[right].left)
    update(right)
    return right
  }
}

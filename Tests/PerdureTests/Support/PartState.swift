// A part of a graph of a random model, as plain values: links, the attribute, and the order of
// ordered relationships.

/// One of several parts of a graph. No link leads from one part to another.
struct PartState {
  /// An ordered relationship of an object.
  struct Place: Hashable {
    let owner: Int
    let pair: Int
    let side: Int

    init(_ owner: Int, _ end: RandomEnd) {
      (self.owner, pair, side) = (owner, end.pair, end.side)
    }
  }

  var graph: GraphTwin
  /// The attribute `number` of each object.
  var values: [Int: Int] = [:]
  /// The members of an ordered end, in order.
  private(set) var orders: [Place: [Int]] = [:]

  init(_ model: RandomModel) {
    graph = GraphTwin(model)
  }

  /// Whether an object was deleted after the last save.
  var hasDeletions: Bool { graph.living.count < graph.objects.count }

  func members(_ owner: Int, _ end: RandomEnd) -> [Int] { orders[Place(owner, end)] ?? [] }

  mutating func setMembers(_ owner: Int, _ end: RandomEnd, _ members: [Int]) {
    orders[Place(owner, end)] = members
  }

  /// The ordered ends of the objects that are not deleted.
  private var orderedEnds: [(owner: Int, end: RandomEnd)] {
    graph.living.flatMap { owner in graph.ends(of: owner).filter(\.isOrdered).map { (owner, $0) } }
  }

  /// Updates the orders after changes of links: removes former members, and appends new members.
  ///
  /// - Returns: The ends with new members.
  @discardableResult
  mutating func resolveOrders() -> [(owner: Int, end: RandomEnd)] {
    var grown: [(owner: Int, end: RandomEnd)] = []
    var resolved: [Place: [Int]] = [:]
    for (owner, end) in orderedEnds {
      let targets = graph.targets(owner, end)
      let stayed = members(owner, end).filter(targets.contains)
      let new = targets.subtracting(stayed).sorted()
      if !new.isEmpty { grown.append((owner, end)) }
      resolved[Place(owner, end)] = stayed + new
    }
    orders = resolved
    return grown
  }

  /// Removes deleted objects.
  mutating func save() {
    graph.save()
    values = values.filter { graph.objects[$0.key] != nil }
    resolveOrders()
  }

  /// The difference from another state; nil if there is none.
  func difference(_ other: PartState) -> String? {
    guard graph.living == other.graph.living else { return "\(graph.living) are not \(other.graph.living)" }
    for owner in graph.living {
      if values[owner] != other.values[owner] { return "the number of \(owner)" }
      for end in graph.ends(of: owner)
      where graph.targets(owner, end) != other.graph.targets(owner, end)
        || members(owner, end) != other.members(owner, end)
      {
        return "\(owner).\(end.name)"
      }
    }
    return nil
  }
}

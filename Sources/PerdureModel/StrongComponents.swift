/// The strongly connected components of a directed graph: two nodes are in one component if each
/// can be reached from the other.
struct StrongComponents {
  /// The component of each node.
  private(set) var numbers: [Int]
  /// The number of edges that were followed: each edge once.
  private(set) var steps = 0

  /// - Parameter edges: For each node, the end nodes of its edges.
  /// - Complexity: O(n + e) for n nodes and e edges, without recursion.
  init(of edges: [[Int]]) {
    numbers = Array(repeating: -1, count: edges.count)
    var search = Search(edges)
    for node in edges.indices where search.order[node] == nil { visit(node, &search) }
  }

  /// Follows all edges from a node in the order of Tarjan's algorithm.
  private mutating func visit(_ start: Int, _ search: inout Search) {
    search.enter(start)
    while let node = search.path.last {
      guard search.next[node] < search.edges[node].count else {
        leave(node, &search)
        continue
      }
      let target = search.edges[node][search.next[node]]
      search.next[node] += 1
      steps += 1
      if let order = search.order[target] {
        if numbers[target] < 0 { search.lowest[node] = min(search.lowest[node], order) }
      } else {
        search.enter(target)
      }
    }
  }

  /// Completes a node. If the node is the first node of its component that the search entered,
  /// completes the component too.
  private mutating func leave(_ node: Int, _ search: inout Search) {
    search.path.removeLast()
    if let above = search.path.last { search.lowest[above] = min(search.lowest[above], search.lowest[node]) }
    guard search.lowest[node] == search.order[node] else { return }
    while let member = search.open.popLast() {
      numbers[member] = node
      if member == node { return }
    }
  }

  private struct Search {
    let edges: [[Int]]
    /// The position of each node among those that were entered.
    var order: [Int?]
    /// The least position in the node's component that is known so far.
    var lowest: [Int]
    /// The index of the next edge of each node.
    var next: [Int]
    /// The nodes from the start to the current one.
    var path: [Int] = []
    /// The nodes whose components are not complete.
    var open: [Int] = []
    var count = 0

    init(_ edges: [[Int]]) {
      self.edges = edges
      order = Array(repeating: nil, count: edges.count)
      lowest = Array(repeating: 0, count: edges.count)
      next = lowest
    }

    mutating func enter(_ node: Int) {
      order[node] = count
      lowest[node] = count
      count += 1
      path.append(node)
      open.append(node)
    }
  }
}

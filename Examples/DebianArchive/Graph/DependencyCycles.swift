import Perdure

/// Finds groups of packages that require each other, directly or indirectly: the strongly connected
/// components of the dependency graph.
///
/// This is Tarjan's algorithm (Depth-first search and linear graph algorithms, 1972) with an
/// explicit stack. A recursive version can overflow a thread's stack.
struct DependencyCycles {
  /// For each package, the positions of the packages that it requires.
  private let edges: [[Int]]
  private var order: [Int]
  private var lowest: [Int]
  private var isOpen: [Bool]
  private var open: [Int] = []
  private var next = 1
  /// Components with more than one member.
  private(set) var cycles: [[Int]] = []

  private struct Visit {
    var node: Int
    var edge = 0
  }

  init(_ edges: [[Int]]) {
    self.edges = edges
    order = [Int](repeating: 0, count: edges.count)
    lowest = order
    isOpen = [Bool](repeating: false, count: edges.count)
    for node in edges.indices where order[node] == 0 { search(from: node) }
  }

  private mutating func search(from root: Int) {
    var visits = [enter(root)]
    while var visit = visits.popLast() {
      let node = visit.node
      if visit.edge < edges[node].count {
        let target = edges[node][visit.edge]
        visit.edge += 1
        visits.append(visit)
        if order[target] == 0 {
          visits.append(enter(target))
        } else if isOpen[target] {
          lowest[node] = min(lowest[node], order[target])
        }
      } else {
        leave(node)
        if let parent = visits.last?.node { lowest[parent] = min(lowest[parent], lowest[node]) }
      }
    }
  }

  private mutating func enter(_ node: Int) -> Visit {
    order[node] = next
    lowest[node] = next
    next += 1
    open.append(node)
    isOpen[node] = true
    return Visit(node: node)
  }

  /// Leaves a node. If the node reaches no older node, it completes a component.
  private mutating func leave(_ node: Int) {
    guard lowest[node] == order[node] else { return }
    var members: [Int] = []
    while let member = open.popLast() {
      isOpen[member] = false
      members.append(member)
      if member == node { break }
    }
    if members.count > 1 { cycles.append(members) }
  }
}

extension ArchiveQuestions {
  /// Groups of packages that require each other, the largest first.
  public func dependencyCycles() throws -> [[Package]] {
    let packages = try context.fetch(FetchRequest<Package>())
    let positions = Dictionary(uniqueKeysWithValues: zip(packages, packages.indices))
    var candidates: [Name: [Int]] = [:]
    let edges = packages.map { package -> [Int] in
      var targets: Set<Int> = []
      for dependency in package.dependencies where Self.isRequired(dependency.kind) {
        guard let name = dependency.target else { continue }
        let found = candidates[name] ?? Self.candidates(for: name).compactMap { positions[$0] }
        candidates[name] = found
        targets.formUnion(found)
      }
      return Array(targets)
    }
    return DependencyCycles(edges).cycles.map { $0.map { packages[$0] } }.sorted { $0.count > $1.count }
  }
}

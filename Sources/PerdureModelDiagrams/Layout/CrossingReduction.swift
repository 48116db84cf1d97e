/// Orders the nodes of each layer so that few links cross (Sugiyama's method).
///
/// Sweeps over the layers sort the nodes of each layer by the mean place of their neighbours. At
/// most `sweepCount` sweeps run, and ties keep their order. So the result depends only on the
/// graph. The order with the fewest crossings is kept. Exchanges of adjacent nodes then reduce its
/// crossings further, if they can.
struct CrossingReduction {
  private static let sweepCount = 24
  private static let exchangeCount = 8
  /// The difference between the places of two nodes with consecutive ranks.
  private static let unit = 1 << 20

  private(set) var graph: LayeredGraph
  /// The rank of each node in its layer.
  private var ranks: [Int]
  private var work: LayoutWork

  static func run(_ graph: LayeredGraph, _ work: inout LayoutWork) -> LayeredGraph {
    var reduction = CrossingReduction(graph, work)
    reduction.sweep()
    reduction.exchangeNeighbours()
    work = reduction.work
    return reduction.graph
  }

  private init(_ graph: LayeredGraph, _ work: LayoutWork) {
    self.graph = graph
    self.work = work
    ranks = Array(repeating: 0, count: graph.nodes.count)
    for layer in graph.order.indices { updateRanks(in: layer) }
  }

  private mutating func sweep() {
    var best = (order: graph.order, count: crossingCount())
    for sweep in 0..<Self.sweepCount where best.count > 0 {
      let isToTheRight = sweep.isMultiple(of: 2)
      let layers = isToTheRight ? Array(graph.order.indices) : graph.order.indices.reversed()
      for layer in layers.dropFirst() { sort(layer, byLeft: isToTheRight) }
      let count = crossingCount()
      if count < best.count { best = (graph.order, count) }
    }
    graph.order = best.order
    for layer in graph.order.indices { updateRanks(in: layer) }
  }

  private mutating func sort(_ layer: Int, byLeft: Bool) {
    let nodes = graph.order[layer]
    let places = nodes.enumerated().map { rank, node in
      (place: meanPlace(of: node, byLeft: byLeft) ?? rank * Self.unit, rank: rank, node: node)
    }
    work.add(nodes.count)
    graph.order[layer] = places.sorted { ($0.place, $0.rank) < ($1.place, $1.rank) }.map(\.node)
    updateRanks(in: layer)
  }

  private mutating func meanPlace(of node: Int, byLeft: Bool) -> Int? {
    let links = byLeft ? graph.leftLinks[node] : graph.rightLinks[node]
    if links.isEmpty { return nil }
    work.add(links.count)
    return links.reduce(0) { $0 + place(of: $1, atLeft: byLeft) } / links.count
  }

  /// The vertical place of one end of a link: the rank of its node, plus a fraction for the
  /// distance from the node's top. Both are multiplied by `unit`.
  private func place(of link: Int, atLeft: Bool) -> Int {
    let link = graph.links[link]
    let (node, y) = atLeft ? (link.left, link.leftY) : (link.right, link.rightY)
    return ranks[node] * Self.unit + y * Self.unit / (graph.nodes[node].height + 1)
  }

  private mutating func updateRanks(in layer: Int) {
    for (rank, node) in graph.order[layer].enumerated() { ranks[node] = rank }
  }

  private mutating func crossingCount() -> Int {
    graph.order.dropLast().reduce(0) { count, layer in
      let links = layer.flatMap { graph.rightLinks[$0] }
      let places = links.map { (place(of: $0, atLeft: true), place(of: $0, atLeft: false)) }
      work.add(links.count)
      return count + Inversions.count(places.sorted { $0 < $1 }.map(\.1))
    }
  }

  /// Exchanges adjacent nodes of a layer if that removes crossings.
  private mutating func exchangeNeighbours() {
    for _ in 0..<Self.exchangeCount {
      var hasChanged = false
      for layer in graph.order.indices {
        for rank in graph.order[layer].indices.dropLast() where exchangeHelps(layer, rank) {
          graph.order[layer].swapAt(rank, rank + 1)
          updateRanks(in: layer)
          hasChanged = true
        }
      }
      if !hasChanged { return }
    }
  }

  private mutating func exchangeHelps(_ layer: Int, _ rank: Int) -> Bool {
    let (upper, lower) = (graph.order[layer][rank], graph.order[layer][rank + 1])
    var gain = 0
    for (links, isLeft) in [(graph.leftLinks, true), (graph.rightLinks, false)] {
      for above in links[upper] {
        for below in links[lower] {
          let difference = place(of: above, atLeft: isLeft) - place(of: below, atLeft: isLeft)
          gain += difference.signum()
        }
      }
      work.add(links[upper].count * links[lower].count)
    }
    return gain > 0
  }
}

/// Counts the pairs of a sequence that are in descending order.
enum Inversions {
  /// - Complexity: O(n log n).
  static func count(_ numbers: [Int]) -> Int {
    let ranks = Dictionary(uniqueKeysWithValues: Set(numbers).sorted().enumerated().map { ($1, $0 + 1) })
    // A Fenwick tree of the numbers so far.
    var tree = Array(repeating: 0, count: ranks.count + 1)
    var count = 0
    for (before, number) in numbers.enumerated() {
      guard let rank = ranks[number] else { continue }
      var (index, notGreater) = (rank, 0)
      while index > 0 {
        notGreater += tree[index]
        index &= index - 1
      }
      count += before - notGreater
      index = rank
      while index < tree.count {
        tree[index] += 1
        index += index & -index
      }
    }
    return count
  }
}

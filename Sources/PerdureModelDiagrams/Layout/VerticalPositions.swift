/// Chooses the y coordinates of the nodes so that links are as horizontal as possible.
///
/// Sweeps over the layers compute a target for each node: the y coordinate at which its links are
/// horizontal on average. Then the nodes of the layer get the coordinates that keep the order and
/// the gaps, with the least squared distance from the targets.
struct VerticalPositions {
  private static let sweepCount = 16
  private static let bendGap = 14
  /// The weight of a link between two bends. It is high, so that long lines are straight.
  private static let bendWeight = 6

  /// The sides of a node whose links a sweep makes horizontal.
  private struct Sides: OptionSet {
    static let left = Sides(rawValue: 1)
    static let right = Sides(rawValue: 2)
    let rawValue: Int
  }

  private let graph: LayeredGraph
  private(set) var tops: [Int]

  init(_ graph: LayeredGraph, _ work: inout LayoutWork) {
    self.graph = graph
    tops = Array(repeating: 0, count: graph.nodes.count)
    for layer in graph.order {
      for (top, node) in zip(offsets(in: layer), layer) { tops[node] = top }
    }
    for sweep in 0..<Self.sweepCount {
      let isLast = sweep >= Self.sweepCount - 2
      let isToTheRight = sweep.isMultiple(of: 2)
      let sides: Sides = isLast ? [.left, .right] : isToTheRight ? .left : .right
      for layer in isToTheRight ? graph.order : graph.order.reversed() { level(layer, by: sides, &work) }
    }
  }

  /// The smallest tops of the nodes of a layer.
  private func offsets(in layer: [Int]) -> [Int] {
    var offsets: [Int] = []
    var y = 0
    for (position, node) in layer.enumerated() {
      if position > 0 { y += gap(between: layer[position - 1], node) }
      offsets.append(y)
      y += graph.nodes[node].height
    }
    return offsets
  }

  private func gap(between upper: Int, _ lower: Int) -> Int {
    graph.nodes[upper].isBend || graph.nodes[lower].isBend ? Self.bendGap : Layering.gap
  }

  private mutating func level(_ layer: [Int], by sides: Sides, _ work: inout LayoutWork) {
    let offsets = offsets(in: layer)
    let targets = layer.enumerated().map { position, node in
      target(of: node, by: sides, &work).shifted(by: -offsets[position])
    }
    for (position, value) in Monotone.nearest(to: targets).enumerated() {
      tops[layer[position]] = value + offsets[position]
    }
    work.add(layer.count)
  }

  private func target(of node: Int, by sides: Sides, _ work: inout LayoutWork) -> Monotone.Target {
    var target = Monotone.Target(sum: 0, weight: 0)
    for link in sides.contains(.left) ? graph.leftLinks[node] : [] {
      let link = graph.links[link]
      target.add(tops[link.left] + link.leftY - link.rightY, weight(of: link))
    }
    for link in sides.contains(.right) ? graph.rightLinks[node] : [] {
      let link = graph.links[link]
      target.add(tops[link.right] + link.rightY - link.leftY, weight(of: link))
    }
    work.add(graph.leftLinks[node].count + graph.rightLinks[node].count)
    if target.weight == 0 { target.add(tops[node], 1) }
    return target
  }

  private func weight(of link: LayeredGraph.Link) -> Int {
    graph.nodes[link.left].isBend && graph.nodes[link.right].isBend ? Self.bendWeight : 2
  }
}

/// Isotonic regression: least squares with ascending values (the pool-adjacent-violators
/// algorithm).
enum Monotone {
  /// A target value with a weight: the mean `sum / weight`.
  struct Target {
    var sum: Int
    var weight: Int

    /// The mean, rounded down.
    var value: Int { (sum - (sum % weight + weight) % weight) / weight }

    mutating func add(_ value: Int, _ weight: Int) {
      sum += value * weight
      self.weight += weight
    }

    func shifted(by offset: Int) -> Target { Target(sum: sum + offset * weight, weight: weight) }
  }

  /// The ascending values with the least weighted squared distance from the targets, rounded down.
  ///
  /// - Complexity: O(n).
  static func nearest(to targets: [Target]) -> [Int] {
    var pools: [(target: Target, count: Int)] = []
    for target in targets {
      var pool = (target: target, count: 1)
      // Compare the means exactly, as products.
      while let last = pools.last,
        last.target.sum * pool.target.weight >= pool.target.sum * last.target.weight
      {
        pool.target.sum += last.target.sum
        pool.target.weight += last.target.weight
        pool.count += last.count
        pools.removeLast()
      }
      pools.append(pool)
    }
    return pools.flatMap { Array(repeating: $0.target.value, count: $0.count) }
  }
}

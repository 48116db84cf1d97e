/// Removes small steps from lines, and moves boxes so that fewer lines cover each other.
///
/// `VerticalPositions` minimizes distances on average, so a long line may have a small step in
/// every gutter. `Straightening` gives the bends of a line the same y coordinate, as far as their
/// neighbours allow it.
struct Straightening {
  /// The least space between a box and the line or the box above or below it.
  private static let gapMin = 14
  /// Horizontal parts of lines that are closer than this look like one line.
  private static let nearness = 5
  private static let shifts = [6, -6, 9, -9, 12, -12]

  private let graph: LayeredGraph
  private(set) var tops: [Int]
  /// The nodes above and below each node in its layer.
  private var above: [Int?]
  private var below: [Int?]

  init(_ graph: LayeredGraph, _ tops: [Int], _ work: inout LayoutWork) {
    self.graph = graph
    self.tops = tops
    above = Array(repeating: nil, count: tops.count)
    below = above
    for layer in graph.order {
      for (upper, lower) in zip(layer, layer.dropFirst()) { (below[upper], above[lower]) = (lower, upper) }
    }
    for chain in graph.chains.sorted(by: { $0.count > $1.count }) where chain.count > 1 {
      straighten(chain)
      work.add(chain.count)
    }
    for layer in graph.order {
      for node in layer where !graph.nodes[node].isBend { separate(node, &work) }
    }
    let least = self.tops.min() ?? 0
    self.tops = self.tops.map { $0 - least }
  }

  /// The tops that a node can have if its neighbours do not move.
  private func range(of node: Int) -> ClosedRange<Int> {
    let least = above[node].map { tops[$0] + graph.nodes[$0].height + Self.gapMin } ?? Int.min / 2
    let most = below[node].map { tops[$0] - graph.nodes[node].height - Self.gapMin } ?? Int.max / 2
    // A node without any space keeps its place.
    return min(least, tops[node])...max(most, tops[node])
  }

  /// Divides the bends into runs, each as long as possible, and gives all bends of a run the same y
  /// coordinate.
  private mutating func straighten(_ chain: [Int]) {
    var bends = chain.dropLast().map { graph.links[$0].right }[...]
    let start = graph.links[chain[0]]
    var wish = tops[start.left] + start.leftY
    let end = graph.links[chain[chain.count - 1]]
    while !bends.isEmpty {
      var common = range(of: bends[bends.startIndex])
      let run = bends.prefix { bend in
        let range = range(of: bend)
        guard range.overlaps(common) else { return false }
        common = range.clamped(to: common)
        return true
      }
      // If the last run cannot continue at the y coordinate before it, it gets the nearest possible
      // one to the line's end.
      if run.count == bends.count, !common.contains(wish) { wish = tops[end.right] + end.rightY }
      let height = min(max(wish, common.lowerBound), common.upperBound)
      for bend in run { tops[bend] = height }
      bends = bends.dropFirst(run.count)
      wish = height
    }
  }

  /// Moves a box a little if two of its lines exchange their y coordinates in a gutter. The
  /// horizontal parts of such lines cover each other, whatever their tracks are.
  private mutating func separate(_ box: Int, _ work: inout LayoutWork) {
    let links = [graph.leftLinks[box], graph.rightLinks[box]]
    let range = range(of: box)
    let top = tops[box]
    var best = (top: top, count: exchangeCount(links, &work))
    for shift in Self.shifts where best.count > 0 && range.contains(top + shift) {
      tops[box] = top + shift
      let count = exchangeCount(links, &work)
      if count < best.count { best = (top + shift, count) }
    }
    tops[box] = best.top
  }

  private func exchangeCount(_ links: [[Int]], _ work: inout LayoutWork) -> Int {
    var count = 0
    for links in links {
      let ends = links.map { graph.links[$0] }.map { link in
        (left: tops[link.left] + link.leftY, right: tops[link.right] + link.rightY)
      }
      for (position, first) in ends.enumerated() {
        count += ends[..<position].count { second in
          abs(first.left - second.right) < Self.nearness && abs(second.left - first.right) < Self.nearness
            && abs(first.left - first.right) >= Self.nearness
        }
      }
      work.add(ends.count * ends.count)
    }
    return count
  }
}

/// Assigns the boxes of a graph without cycles to layers, from left to right.
///
/// Each line goes to a layer further to the right. The height of a layer is at most about the
/// width of the picture. So the neighbours of a box with many lines are not all in one high layer.
struct Layering {
  /// The space between two boxes of a layer.
  static let gap = 26

  /// The layer of each box. All layers have boxes.
  private(set) var layers: [Int]
  private let graph: LayoutGraph
  private let heightMax: Int
  private var heights: [Int]

  init(_ graph: LayoutGraph, _ work: inout LayoutWork) {
    self.graph = graph
    layers = Array(repeating: 0, count: graph.sizes.count)
    heights = Array(repeating: 0, count: 2 * graph.sizes.count + 1)
    let area = graph.sizes.reduce(0) { $0 + ($1.width + 90) * ($1.height + Self.gap) }
    heightMax = max(graph.sizes.map(\.height).max() ?? 0, area.squareRoot)
    let order = Self.order(graph)
    moveRight(order, &work)
    shortenLines(order, &work)
    removeEmptyLayers()
  }

  /// The boxes in topological order: each box is after the boxes at the left ends of its lines.
  private static func order(_ graph: LayoutGraph) -> [Int] {
    var waits = Array(repeating: 0, count: graph.sizes.count)
    var right = Array(repeating: [Int](), count: graph.sizes.count)
    for line in graph.lines where !line.isLoop {
      waits[line.right] += 1
      right[line.left].append(line.right)
    }
    var order = waits.indices.filter { waits[$0] == 0 }
    var next = 0
    while next < order.count {
      for box in right[order[next]] {
        waits[box] -= 1
        if waits[box] == 0 { order.append(box) }
      }
      next += 1
    }
    return order
  }

  /// Puts each box into the first layer with enough space that is to the right of its left
  /// neighbours.
  private mutating func moveRight(_ order: [Int], _ work: inout LayoutWork) {
    let left = neighbours { ($0.right, $0.left) }
    for box in order {
      var layer = (left[box].map { layers[$0] }.max() ?? -1) + 1
      while !hasSpace(in: layer, for: box) { layer += 1 }
      put(box, in: layer)
      work.add(left[box].count + 1)
    }
  }

  /// Moves a box to the right, towards its neighbours, if it has more lines to the right than to
  /// the left.
  private mutating func shortenLines(_ order: [Int], _ work: inout LayoutWork) {
    let left = neighbours { ($0.right, $0.left) }
    let right = neighbours { ($0.left, $0.right) }
    for box in order.reversed() where right[box].count > left[box].count {
      work.add(right[box].count)
      guard var layer = right[box].map({ layers[$0] }).min().map({ $0 - 1 }) else { continue }
      heights[layers[box]] -= graph.sizes[box].height + Self.gap
      while layer > layers[box], !hasSpace(in: layer, for: box) { layer -= 1 }
      put(box, in: layer)
    }
  }

  private func hasSpace(in layer: Int, for box: Int) -> Bool {
    heights[layer] == 0 || heights[layer] + graph.sizes[box].height <= heightMax
  }

  private mutating func put(_ box: Int, in layer: Int) {
    layers[box] = layer
    heights[layer] += graph.sizes[box].height + Self.gap
  }

  private mutating func removeEmptyLayers() {
    let used = Set(layers).sorted()
    let numbers = Dictionary(uniqueKeysWithValues: used.enumerated().map { ($1, $0) })
    layers = layers.compactMap { numbers[$0] }
  }

  private func neighbours(_ ends: (LayoutGraph.Line) -> (Int, Int)) -> [[Int]] {
    var neighbours = Array(repeating: [Int](), count: graph.sizes.count)
    for line in graph.lines where !line.isLoop {
      let (box, other) = ends(line)
      neighbours[box].append(other)
    }
    return neighbours
  }
}

extension Int {
  /// The greatest number whose square is at most this one.
  var squareRoot: Int {
    var root = Int(Double(self).squareRoot())
    while root * root > self { root -= 1 }
    while (root + 1) * (root + 1) <= self { root += 1 }
    return root
  }
}

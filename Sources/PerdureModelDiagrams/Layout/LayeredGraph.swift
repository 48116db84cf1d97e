/// A graph in layers, whose lines are chains of links between adjacent layers.
///
/// If a line passes through a layer, a *bend* reserves space for the line among the boxes of the
/// layer. The nodes are the boxes, in the order of the graph, followed by the bends.
struct LayeredGraph {
  struct Node {
    let layer: Int
    let height: Int
    let isBend: Bool
  }

  /// A part of a line, between two adjacent layers.
  struct Link {
    let line: Int
    let left: Int
    /// The y coordinates of the ends, from the tops of the nodes.
    let leftY: Int
    let right: Int
    let rightY: Int
  }

  private(set) var nodes: [Node]
  private(set) var links: [Link] = []
  /// The links of each line, from left to right. Loops have no links.
  private(set) var chains: [[Int]]
  /// The links at the left and at the right of each node.
  private(set) var leftLinks: [[Int]] = []
  private(set) var rightLinks: [[Int]] = []
  /// The nodes of each layer, from top to bottom.
  var order: [[Int]] = []

  init(_ graph: LayoutGraph, _ layers: [Int]) {
    nodes = zip(graph.sizes, layers).map { Node(layer: $1, height: $0.height, isBend: false) }
    chains = []
    for (number, line) in graph.lines.enumerated() { addChain(line, number) }
    leftLinks = Array(repeating: [], count: nodes.count)
    rightLinks = leftLinks
    for (number, link) in links.enumerated() {
      rightLinks[link.left].append(number)
      leftLinks[link.right].append(number)
    }
    order = initialOrder(layerCount: (layers.max() ?? -1) + 1)
  }

  private mutating func addChain(_ line: LayoutGraph.Line, _ number: Int) {
    var chain: [Int] = []
    if !line.isLoop {
      var (node, y) = (line.left, line.leftY)
      for layer in nodes[line.left].layer + 1..<nodes[line.right].layer {
        nodes.append(Node(layer: layer, height: 0, isBend: true))
        chain.append(links.count)
        links.append(Link(line: number, left: node, leftY: y, right: nodes.count - 1, rightY: 0))
        (node, y) = (nodes.count - 1, 0)
      }
      chain.append(links.count)
      links.append(Link(line: number, left: node, leftY: y, right: line.right, rightY: line.rightY))
    }
    chains.append(chain)
  }

  /// An order that puts nodes close together if they are adjacent in a walk through the graph.
  private func initialOrder(layerCount: Int) -> [[Int]] {
    var order = Array(repeating: [Int](), count: layerCount)
    var seen = Array(repeating: false, count: nodes.count)
    let starts = nodes.indices.sorted { (nodes[$0].layer, $0) < (nodes[$1].layer, $1) }
    for start in starts {
      var stack = [start]
      while let node = stack.popLast() {
        if seen[node] { continue }
        seen[node] = true
        order[nodes[node].layer].append(node)
        let right = rightLinks[node].sorted { (links[$0].leftY, $0) < (links[$1].leftY, $1) }
        stack += right.reversed().map { links[$0].right }
      }
    }
    return order
  }
}

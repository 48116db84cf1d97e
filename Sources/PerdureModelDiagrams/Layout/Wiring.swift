/// Distributes the links of a graph to the gutters.
///
/// A loop uses the gutter at the right of its box. Links that end at the name of the same entity
/// share a wire.
struct Wiring {
  /// The path of a line through one gutter.
  struct Pass {
    let gutter: Int
    let wire: Int
    let leftY: Int
    let rightY: Int
    /// Whether both ends are at the left of the gutter.
    let isLoop: Bool
  }

  /// The wires of each gutter.
  private(set) var wires: [[Gutter.Wire]]
  /// The passes of each line, from left to right.
  private(set) var passes: [[Pass]]

  /// The shared end of several links.
  private struct Junction: Hashable {
    let node: Int
    let y: Int
    let isLeft: Bool
  }

  private var wiresByJunction: [Junction: Int] = [:]

  init(_ graph: LayoutGraph, _ layered: LayeredGraph, _ tops: [Int]) {
    wires = Array(repeating: [], count: layered.order.count)
    passes = Array(repeating: [], count: graph.lines.count)
    for (number, line) in graph.lines.enumerated() {
      if line.isLoop {
        addLoop(number, line, gutter: layered.nodes[line.left].layer, top: tops[line.left])
      } else {
        for link in layered.chains[number] { add(layered.links[link], of: line, layered, tops) }
      }
    }
  }

  private mutating func addLoop(_ number: Int, _ line: LayoutGraph.Line, gutter: Int, top: Int) {
    // A relationship that is its own inverse has both ends at one row, so they are moved apart.
    let spread = line.leftY == line.rightY ? 4 : 0
    let (leftY, rightY) = (top + line.leftY - spread, top + line.rightY + spread)
    passes[number].append(
      Pass(gutter: gutter, wire: wires[gutter].count, leftY: leftY, rightY: rightY, isLoop: true))
    wires[gutter].append(Gutter.Wire(lefts: [leftY, rightY], rights: []))
  }

  private mutating func add(
    _ link: LayeredGraph.Link, of line: LayoutGraph.Line, _ layered: LayeredGraph, _ tops: [Int]
  ) {
    let gutter = layered.nodes[link.left].layer
    let (leftY, rightY) = (tops[link.left] + link.leftY, tops[link.right] + link.rightY)
    let wire = wire(for: junction(of: link, line), in: gutter)
    wires[gutter][wire].lefts.append(leftY)
    wires[gutter][wire].rights.append(rightY)
    passes[link.line].append(
      Pass(gutter: gutter, wire: wire, leftY: leftY, rightY: rightY, isLoop: false))
  }

  /// The end of the link that it may share with other links.
  private func junction(of link: LayeredGraph.Link, _ line: LayoutGraph.Line) -> Junction? {
    if line.mergesAtLeft, link.left == line.left {
      return Junction(node: link.left, y: link.leftY, isLeft: true)
    }
    if line.mergesAtRight, link.right == line.right {
      return Junction(node: link.right, y: link.rightY, isLeft: false)
    }
    return nil
  }

  private mutating func wire(for junction: Junction?, in gutter: Int) -> Int {
    if let junction, let wire = wiresByJunction[junction] { return wire }
    wires[gutter].append(Gutter.Wire(lefts: [], rights: []))
    if let junction { wiresByJunction[junction] = wires[gutter].count - 1 }
    return wires[gutter].count - 1
  }
}

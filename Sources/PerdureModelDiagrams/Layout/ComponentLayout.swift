/// The layout of one connected part of a diagram. Its coordinates begin at 0.
struct ComponentLayout {
  private(set) var boxes: [Rectangle] = []
  /// The corners of each line of the graph, from the end that was given as `left`.
  private(set) var lines: [[Point]] = []
  private(set) var size = Point(x: 0, y: 0)

  init(_ graph: LayoutGraph, _ work: inout LayoutWork) {
    var graph = graph
    graph.breakCycles(&work)
    let layers = Layering(graph, &work).layers
    let layered = CrossingReduction.run(LayeredGraph(graph, layers), &work)
    let tops = Straightening(layered, VerticalPositions(layered, &work).tops, &work).tops
    let wiring = Wiring(graph, layered, tops)
    let gutters = wiring.wires.map { Gutter($0, &work) }
    let columns = Self.columns(graph, layered, gutters)
    boxes = graph.sizes.indices.map { box in
      let column = columns[layers[box]]
      return Rectangle(x: column.x, y: tops[box], width: column.width, height: graph.sizes[box].height)
    }
    let xs = zip(columns, gutters).map { (left: $0.x + $0.width, gutter: $1) }
    lines = graph.lines.indices.map { line in
      let corners = wiring.passes[line].flatMap { pass -> [Point] in
        let (left, gutter) = xs[pass.gutter]
        let right = pass.isLoop ? left : left + gutter.width
        let track = left + gutter.tracks[pass.wire]
        return [(left, pass.leftY), (track, pass.leftY), (track, pass.rightY), (right, pass.rightY)]
          .map { Point(x: $0.0, y: $0.1) }
      }
      let path = Self.simplified(corners)
      return graph.lines[line].isTurned ? path.reversed() : path
    }
    // Include the last gutter only if a loop runs through it.
    let right = (boxes.map(\.right) + lines.joined().map(\.x)).max() ?? 0
    size = Point(x: right, y: (boxes.map(\.bottom) + lines.joined().map(\.y)).max() ?? 0)
  }

  /// The left side and the width of each layer. All boxes of a layer have the same width.
  private static func columns(
    _ graph: LayoutGraph, _ layered: LayeredGraph, _ gutters: [Gutter]
  ) -> [(x: Int, width: Int)] {
    var x = 0
    return zip(layered.order, gutters).map { layer, gutter in
      let width = layer.filter { !layered.nodes[$0].isBend }.map { graph.sizes[$0].width }.max() ?? 0
      defer { x += width + gutter.width }
      return (x, width)
    }
  }

  /// The corners, without repeated ones and those on a straight line between their neighbours.
  private static func simplified(_ points: [Point]) -> [Point] {
    points.reduce(into: []) { path, point in
      if path.last == point { return }
      if let last = path.last, let before = path.dropLast().last,
        before.x == last.x && last.x == point.x || before.y == last.y && last.y == point.y
      {
        path.removeLast()
      }
      path.append(point)
    }
  }
}

package struct Point: Sendable, Hashable {
  package var x: Int
  package var y: Int
}

package struct Rectangle: Sendable, Hashable {
  package var x: Int
  package var y: Int
  package var width: Int
  package var height: Int

  package var right: Int { x + width }
  package var bottom: Int { y + height }
}

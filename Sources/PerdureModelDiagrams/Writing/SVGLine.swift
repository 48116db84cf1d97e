import PerdureText

/// A line of a diagram as SVG, with its arrow heads.
enum SVGLine {
  private static let radius = 5
  private static let headLength = 8
  private static let headWidth = 4
  private static let triangleLength = 11
  private static let triangleWidth = 6

  static func text(_ layout: DiagramLayout, _ number: Int) -> String {
    let (edge, path) = (layout.diagram.edges[number], layout.paths[number])
    let title = "<title>\(MarkupText.escaped(layout.diagram.sentence(about: edge)))</title>"
    let line = "<path class=\"line\" d=\"\(curve(path))\"/>"
    let style = style(of: edge)
    let heads: String
    if edge.kind == .inheritance {
      heads = "<path class=\"triangle\" d=\"\(triangle(path))\"/>"
    } else {
      let shapes = arrows(edge.to.head, path) + arrows(edge.from.head, path.reversed())
      heads = "<path class=\"arrow\" d=\"\(shapes)\"/>"
    }
    return "<g\(style)>\(title)\(line)\(heads)</g>"
  }

  private static func style(of edge: ModelDiagram.Edge) -> String {
    switch edge.kind {
    case .inheritance: " class=\"inherits\""
    case .relationship(isTransient: true, _): " class=\"unstored\""
    case .relationship: ""
    }
  }

  /// The line with round corners.
  private static func curve(_ path: [Point]) -> String {
    guard let first = path.first, let last = path.last else { return "" }
    var text = "M\(first.x) \(first.y)"
    for ((before, corner), after) in zip(zip(path, path.dropFirst()), path.dropFirst(2)) {
      let radius = min(radius, before.distance(to: corner) / 2, corner.distance(to: after) / 2)
      let (start, end) = (corner.moved(radius, towards: before), corner.moved(radius, towards: after))
      text += "L\(start.x) \(start.y)Q\(corner.x) \(corner.y) \(end.x) \(end.y)"
    }
    return text + "L\(last.x) \(last.y)"
  }

  /// The filled arrow heads at the end of the path: none, one or two.
  private static func arrows(_ head: ModelDiagram.Head, _ path: some BidirectionalCollection<Point>) -> String
  {
    guard let tip = path.last, let before = path.dropLast().last else { return "" }
    let back = tip.x > before.x ? -1 : 1
    return (0..<head.rawValue).map { number in
      let x = tip.x + back * number * (headLength - 1)
      let base = x + back * headLength
      return "M\(x) \(tip.y)L\(base) \(tip.y - headWidth)V\(tip.y + headWidth)z"
    }.joined()
  }

  /// The triangle at the end of the path.
  private static func triangle(_ path: [Point]) -> String {
    guard let tip = path.last, let before = path.dropLast().last else { return "" }
    let base = tip.x + (tip.x > before.x ? -triangleLength : triangleLength)
    return "M\(tip.x) \(tip.y)L\(base) \(tip.y - triangleWidth)V\(tip.y + triangleWidth)z"
  }
}

extension Point {
  /// The distance along a horizontal or a vertical line.
  fileprivate func distance(to other: Point) -> Int { abs(x - other.x) + abs(y - other.y) }

  fileprivate func moved(_ distance: Int, towards other: Point) -> Point {
    Point(x: x + distance * (other.x - x).signum(), y: y + distance * (other.y - y).signum())
  }
}

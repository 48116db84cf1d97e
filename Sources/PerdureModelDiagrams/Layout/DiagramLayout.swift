/// A diagram with coordinates, in pixels.
///
/// The layout depends only on the diagram: coordinates are whole numbers, and the order of boxes
/// and lines decides all ties.
package struct DiagramLayout: Sendable, Hashable {
  /// The space around the picture, and between its connected parts.
  static let margin = 24
  static let partGap = 40

  package let diagram: ModelDiagram
  /// The shapes and the places of the boxes.
  package let shapes: [BoxShape]
  package private(set) var frames: [Rectangle]
  /// The corners of each line, from its end `from` to its end `to`. Between two corners, a line is
  /// horizontal or vertical.
  package private(set) var paths: [[Point]]
  package private(set) var width = 0
  package private(set) var height = 0
  /// The number of steps that the layout took.
  package private(set) var stepCount = 0

  /// Computes the layout of a diagram.
  ///
  /// - Complexity: O(l · (b + l)) for b boxes and l lines.
  package init(_ diagram: ModelDiagram) {
    self.diagram = diagram
    shapes = diagram.boxes.map(BoxShape.init)
    frames = shapes.map { Rectangle(x: 0, y: 0, width: $0.width, height: $0.height) }
    paths = diagram.edges.map { _ in [] }
    var work = LayoutWork()
    let parts = DiagramParts(diagram)
    let layouts = parts.connected.map { part in
      ComponentLayout(LayoutGraph(part, diagram, shapes), &work)
    }
    let packing = Packing(layouts.map(\.size), single: parts.single.map { shapes[$0] })
    for (part, (layout, origin)) in zip(parts.connected, zip(layouts, packing.origins)) {
      place(part, layout, at: origin)
    }
    for (box, frame) in zip(parts.single, packing.singleFrames) { frames[box] = frame.moved(by: Self.margin) }
    stepCount = work.stepCount
    width = packing.size.x + 2 * Self.margin
    height = packing.size.y + 2 * Self.margin
  }

  private mutating func place(_ part: DiagramParts.Part, _ layout: ComponentLayout, at origin: Point) {
    let (x, y) = (origin.x + Self.margin, origin.y + Self.margin)
    for (box, frame) in zip(part.boxes, layout.boxes) {
      frames[box] = Rectangle(x: frame.x + x, y: frame.y + y, width: frame.width, height: frame.height)
    }
    for (edge, path) in zip(part.edges, layout.lines) {
      let points = path.map { Point(x: $0.x + x, y: $0.y + y) }
      paths[edge] = LayoutGraph.startsAtTo(diagram.edges[edge], diagram) ? points.reversed() : points
    }
  }
}

extension Rectangle {
  fileprivate func moved(by distance: Int) -> Rectangle {
    Rectangle(x: x + distance, y: y + distance, width: width, height: height)
  }
}

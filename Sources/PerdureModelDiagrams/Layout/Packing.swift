/// Places the connected parts of a diagram side by side in rows, and single boxes below them in
/// columns.
struct Packing {
  private static let gap = DiagramLayout.partGap
  /// The space between single boxes.
  private static let boxGap = Layering.gap

  private(set) var origins: [Point]
  private(set) var singleFrames: [Rectangle] = []
  private(set) var size = Point(x: 0, y: 0)

  /// - Parameter sizes: The sizes of the parts.
  init(_ sizes: [Point], single: [BoxShape]) {
    origins = sizes.map { _ in Point(x: 0, y: 0) }
    let areas =
      sizes.map { ($0.x + Self.gap) * ($0.y + Self.gap) }
      + single.map { ($0.width + Self.boxGap) * ($0.height + Self.boxGap) }
    // The ideal picture is about one and a half times as wide as it is high.
    let ideal = (areas.reduce(0, +) * 3 / 2).squareRoot
    let width = max(ideal, sizes.map(\.x).max() ?? 0, single.map(\.width).max() ?? 0)
    placeParts(sizes, width)
    placeSingle(single, width)
  }

  /// Places the parts in rows, the tallest first.
  private mutating func placeParts(_ sizes: [Point], _ width: Int) {
    let order = sizes.indices.sorted { (-sizes[$0].y, -sizes[$0].x, $0) < (-sizes[$1].y, -sizes[$1].x, $1) }
    var (x, y, rowHeight) = (0, 0, 0)
    for part in order {
      if x > 0, x + sizes[part].x > width { (x, y, rowHeight) = (0, y + rowHeight + Self.gap, 0) }
      origins[part] = Point(x: x, y: y)
      size = Point(x: max(size.x, x + sizes[part].x), y: max(size.y, y + sizes[part].y))
      x += sizes[part].x + Self.gap
      rowHeight = max(rowHeight, sizes[part].y)
    }
  }

  /// Places single boxes into columns of the same width, each into the shortest column.
  private mutating func placeSingle(_ shapes: [BoxShape], _ width: Int) {
    guard let boxWidth = shapes.map(\.width).max() else { return }
    let start = size.y == 0 ? 0 : size.y + Self.gap
    let fitting = (max(width, size.x) + Self.boxGap) / (boxWidth + Self.boxGap)
    var bottoms = Array(repeating: start, count: min(shapes.count, max(1, fitting)))
    for shape in shapes {
      let column = bottoms.indices.min { (bottoms[$0], $0) < (bottoms[$1], $1) } ?? 0
      let frame = Rectangle(
        x: column * (boxWidth + Self.boxGap), y: bottoms[column], width: boxWidth, height: shape.height)
      singleFrames.append(frame)
      bottoms[column] = frame.bottom + Self.boxGap
      size = Point(x: max(size.x, frame.right), y: max(size.y, frame.bottom))
    }
  }
}

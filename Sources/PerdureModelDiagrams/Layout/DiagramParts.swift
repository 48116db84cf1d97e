/// The connected parts of a diagram.
struct DiagramParts {
  /// Boxes that lines connect, and all their lines.
  struct Part {
    var boxes: [Int] = []
    var edges: [Int] = []
  }

  /// The parts with lines, in the order of their first boxes.
  private(set) var connected: [Part]
  /// The boxes without lines.
  private(set) var single: [Int] = []

  init(_ diagram: ModelDiagram) {
    // For each box, the first box of its part.
    var roots = Array(diagram.boxes.indices)
    for edge in diagram.edges {
      let (from, to) = (Self.root(edge.from.port.box, &roots), Self.root(edge.to.port.box, &roots))
      roots[max(from, to)] = min(from, to)
    }
    var parts = diagram.boxes.map { _ in Part() }
    for box in diagram.boxes.indices { parts[Self.root(box, &roots)].boxes.append(box) }
    for (number, edge) in diagram.edges.enumerated() {
      parts[Self.root(edge.from.port.box, &roots)].edges.append(number)
    }
    connected = parts.filter { !$0.edges.isEmpty }
    single = parts.filter { $0.edges.isEmpty }.flatMap(\.boxes)
  }

  private static func root(_ box: Int, _ roots: inout [Int]) -> Int {
    var box = box
    while roots[box] != box {
      roots[box] = roots[roots[box]]
      box = roots[box]
    }
    return box
  }
}

extension LayoutGraph {
  /// The graph of a part of a diagram.
  init(_ part: DiagramParts.Part, _ diagram: ModelDiagram, _ shapes: [BoxShape]) {
    let positions = Dictionary(uniqueKeysWithValues: part.boxes.enumerated().map { ($1, $0) })
    sizes = part.boxes.map { (shapes[$0].width, shapes[$0].height) }
    lines = part.edges.map { diagram.edges[$0] }.map { edge in
      let ends = [edge.from.port, edge.to.port].map { port in
        (box: positions[port.box] ?? 0, y: shapes[port.box].portY(port, of: edge))
      }
      var line = Line(
        left: ends[0].box, leftY: ends[0].y, right: ends[1].box, rightY: ends[1].y, rank: Self.rank(of: edge),
        mergesAtRight: edge.to.port.row == nil)
      if Self.startsAtTo(edge, diagram) { line.turn() }
      line.isTurned = false
      return line
    }
  }

  /// The priority of the direction of a line; 0 is the highest.
  private static func rank(of edge: ModelDiagram.Edge) -> Int {
    switch edge.kind {
    case .inheritance: 0
    case .relationship(_, .to), .relationship(_, .from): 1
    case .relationship: edge.from.head == edge.to.head ? 3 : 2
    }
  }

  /// Whether the end `to` is at the left, if possible. Superentities are at the left of
  /// subentities, and owners at the left of their parts. In the graph, the line then begins at the
  /// end `to`.
  static func startsAtTo(_ edge: ModelDiagram.Edge, _ diagram: ModelDiagram) -> Bool {
    switch edge.kind {
    case .inheritance: return true
    case .relationship(_, .to): return false
    case .relationship(_, .from): return true
    case .relationship: break
    }
    // If the ends differ, an end with one object is at the left, and an end with many at the right.
    if edge.from.head != edge.to.head { return edge.to.head == .one }
    return false
  }
}

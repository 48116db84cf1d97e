import PerdureText

/// Writes a diagram in the language of Graphviz.
package enum DOTWriter {
  /// The text of the graph. The same diagram gives the same bytes.
  package static func text(_ diagram: ModelDiagram) -> String {
    let head = [
      "digraph model {", "  rankdir=LR;", "  node [shape=plain, fontname=\"Helvetica\", fontsize=11];",
      "  edge [dir=both, color=\"#4a5568\"];",
    ]
    let boxes = diagram.boxes.enumerated().map { "  e\($0) [label=<\(table(of: $1))>];" }
    return (head + boxes + diagram.edges.map(line) + ["}", ""]).joined(separator: "\n")
  }

  private static func table(of box: ModelDiagram.Box) -> String {
    let name = MarkupText.escaped(box.name)
    let title = box.isAbstract ? "<i>\(name)</i>" : "<b>\(name)</b>"
    let head = "<tr><td port=\"name\" colspan=\"2\" bgcolor=\"#dfe8f6\">\(title)</td></tr>"
    let rows = box.rows.enumerated().map { number, row in
      let name = MarkupText.escaped(row.name)
      return "<tr><td port=\"l\(number)\" align=\"left\">\(row.isKey ? "<u>\(name)</u>" : name)</td>"
        + "<td port=\"r\(number)\" align=\"right\">\(MarkupText.escaped(row.detail))</td></tr>"
    }
    return "<table border=\"1\" cellborder=\"0\" cellspacing=\"0\">\(head)\(rows.joined())</table>"
  }

  private static func line(of edge: ModelDiagram.Edge) -> String {
    guard case .relationship(let isTransient, _) = edge.kind else {
      let ends = "\(port(edge.to.port, "r")) -> \(port(edge.from.port, "l"))"
      return "  \(ends) [arrowtail=onormal, arrowhead=none];"
    }
    // A line from a box to itself begins and ends at its right side.
    let side = edge.from.port.box == edge.to.port.box ? "r" : "l"
    let heads = "arrowtail=\(arrow(edge.from.head)), arrowhead=\(arrow(edge.to.head))"
    let style = isTransient ? ", style=dashed" : ""
    return "  \(port(edge.from.port, "r")) -> \(port(edge.to.port, side)) [\(heads)\(style)];"
  }

  /// The place of a port at the left ("l") or at the right ("r") side of its box.
  private static func port(_ port: ModelDiagram.Port, _ side: String) -> String {
    "e\(port.box):\(port.row.map { "\(side)\($0)" } ?? "name"):\(side == "r" ? "e" : "w")"
  }

  private static func arrow(_ head: ModelDiagram.Head) -> String {
    switch head {
    case .none: "none"
    case .one: "normal"
    case .many: "normalnormal"
    }
  }
}

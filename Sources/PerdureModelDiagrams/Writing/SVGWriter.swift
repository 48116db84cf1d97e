import PerdureText

/// Writes a diagram as SVG: one file that needs no other file. It has a style for light backgrounds
/// and one for dark backgrounds.
///
/// A relationship and its inverse are one line. As in Core Data's editor, an end with
/// one arrow head has one object, and an end with two arrow heads has many. A line with a triangle
/// at its end refers to a superentity. A line begins and ends at the rows of its relationships, so
/// it needs no label.
package enum SVGWriter {
  /// The text of the file. The same diagram gives the same bytes.
  ///
  /// - Parameter title: The name of the picture, for readers that cannot see it.
  package static func text(_ layout: DiagramLayout, title: String) -> String {
    let size = "width=\"\(layout.width)\" height=\"\(layout.height)\""
    let head = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" \(size) viewBox=\"0 0 \(layout.width) \(layout.height)\""
        + " role=\"img\" aria-labelledby=\"title desc\">",
      "<title id=\"title\">\(MarkupText.escaped(VisibleText.line(title)))</title>",
      "<desc id=\"desc\">\(MarkupText.escaped(layout.diagram.summary))</desc>",
      "<style>", style, "</style>",
      "<rect class=\"paper\" width=\"\(layout.width)\" height=\"\(layout.height)\"/>",
    ]
    let edges = layout.diagram.edges.indices.map { SVGLine.text(layout, $0) }
    let boxes = layout.diagram.boxes.indices.flatMap { box(layout, $0) }
    return (head + edges + boxes + ["</svg>", ""]).joined(separator: "\n")
  }

  private static let style = """
    text{font-family:\(TextMetrics.fontFamily);font-size:\(BoxShape.fontSize)px;fill:#1d1d1f}
    .name{font-size:\(BoxShape.titleSize)px;font-weight:bold;text-anchor:middle}
    .sub{fill:#5f6570;text-anchor:middle}
    .abstract,.unstored{font-style:italic}
    .key{text-decoration:underline}
    .detail{fill:#5f6570;text-anchor:end}
    .paper{fill:#fff}
    .box{fill:#fff;stroke:#8a93a3}
    .head{fill:#dfe8f6}
    .rule{stroke:#c9d0db}
    .line{fill:none;stroke:#4a5568;stroke-width:1.2}
    .inherits .line{stroke:#8a93a3}
    .unstored .line{stroke-dasharray:5 3}
    .arrow{fill:#4a5568}
    .triangle{fill:#fff;stroke:#8a93a3;stroke-width:1.2}
    @media (prefers-color-scheme:dark){
    text{fill:#f0f0f2}
    .sub,.detail{fill:#a9b1bd}
    .paper{fill:#16181d}
    .box{fill:#1f232b;stroke:#667085}
    .head{fill:#2b3a55}
    .rule{stroke:#3b4250}
    .line{stroke:#b4bccb}
    .inherits .line{stroke:#8a93a3}
    .arrow{fill:#b4bccb}
    .triangle{fill:#16181d;stroke:#8a93a3}
    }
    """

  private static func box(_ layout: DiagramLayout, _ number: Int) -> [String] {
    let (box, shape, frame) = (layout.diagram.boxes[number], layout.shapes[number], layout.frames[number])
    let (x, y, right) = (frame.x, frame.y, frame.right)
    let bottom = box.rows.isEmpty ? "" : "M\(x) \(y + shape.headHeight)H\(right)"
    let rule = shape.ruleY.map { "M\(x) \(y + $0)H\(right)" } ?? ""
    var lines = [
      "<g><title>\(MarkupText.escaped(box.name + (box.isAbstract ? ", abstract" : "")))</title>",
      "<rect class=\"box\" x=\"\(x)\" y=\"\(y)\" width=\"\(frame.width)\" height=\"\(frame.height)\" rx=\"5\"/>",
      "<path class=\"head\" d=\"\(head(frame, shape, isWhole: box.rows.isEmpty))\"/>",
    ]
    if bottom + rule != "" { lines.append("<path class=\"rule\" d=\"\(bottom + rule)\"/>") }
    let middle = x + frame.width / 2
    let style = "name" + (box.isAbstract ? " abstract" : "")
    lines.append(text(box.name, style, x: middle, y: y + BoxShape.headerHeight / 2 + 5))
    if let subtitle = BoxShape.subtitle(of: box) {
      lines.append(text(subtitle, "sub", x: middle, y: y + BoxShape.headerHeight + 6))
    }
    for (row, middle) in zip(box.rows, shape.rowMiddles) {
      let style = [row.isKey ? "key" : nil, row.isUnstored ? "unstored" : nil].compactMap(\.self)
      let baseline = y + middle + 4
      lines.append(text(row.name, style.joined(separator: " "), x: x + BoxShape.padding, y: baseline))
      lines.append(text(row.detail, "detail", x: right - BoxShape.padding, y: baseline))
    }
    return lines + ["</g>"]
  }

  /// The outline of the part with the entity's name, inside the stroke of the box.
  private static func head(_ frame: Rectangle, _ shape: BoxShape, isWhole: Bool) -> String {
    let (x, y, right) = (frame.x + 1, frame.y + 1, frame.right - 1)
    let bottom = frame.y + shape.headHeight - (isWhole ? 1 : 0)
    let top = "M\(x) \(y + 4)a4 4 0 0 1 4 -4H\(right - 4)a4 4 0 0 1 4 4"
    return top + (isWhole ? "V\(bottom - 4)a4 4 0 0 1 -4 4H\(x + 4)a4 4 0 0 1 -4 -4z" : "V\(bottom)H\(x)z")
  }

  private static func text(_ text: String, _ style: String, x: Int, y: Int) -> String {
    let style = style.isEmpty ? "" : " class=\"\(style)\""
    return "<text\(style) x=\"\(x)\" y=\"\(y)\">\(MarkupText.escaped(BoxShape.shortened(text)))</text>"
  }
}

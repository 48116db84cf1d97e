/// The size of a box, and the places of its texts and ports. All lengths are in pixels.
package struct BoxShape: Sendable, Hashable {
  static let rowHeight = 18
  static let headerHeight = 28
  static let padding = 10
  /// The minimum space between the name of a property and its detail.
  static let columnGap = 18
  /// The space above the first row, between the two groups of rows, and below the last row.
  static let groupGap = 5
  static let fontSize = 12
  static let titleSize = 13
  static let subtitleHeight = 15
  static let charactersMax = 60

  package let width: Int
  package let height: Int
  /// The y coordinate of the middle of each row, from the top of the box.
  package let rowMiddles: [Int]
  /// The height of the part with the name of the entity.
  package let headHeight: Int
  /// The y coordinate of the rule between attributes and relationships; nil if one group is empty.
  package let ruleY: Int?

  init(_ box: ModelDiagram.Box) {
    headHeight = Self.headerHeight + (box.hiddenSuperentity == nil ? 0 : Self.subtitleHeight)
    var y = headHeight + (box.rows.isEmpty ? 0 : Self.groupGap)
    var middles: [Int] = []
    var rule: Int?
    for (position, row) in box.rows.enumerated() {
      if row.isRelationship, position > 0, !box.rows[position - 1].isRelationship {
        rule = y + Self.groupGap
        y += 2 * Self.groupGap
      }
      middles.append(y + Self.rowHeight / 2)
      y += Self.rowHeight
    }
    rowMiddles = middles
    ruleY = rule
    height = y + (box.rows.isEmpty ? 0 : Self.groupGap)
    width = Self.width(of: box)
  }

  private static func width(of box: ModelDiagram.Box) -> Int {
    let title = TextMetrics.width(of: shortened(box.name), size: titleSize, isBold: true)
    let subtitle = TextMetrics.width(of: subtitle(of: box) ?? "", size: fontSize)
    let rows = box.rows.map { row in
      TextMetrics.width(of: shortened(row.name), size: fontSize) + columnGap
        + TextMetrics.width(of: shortened(row.detail), size: fontSize)
    }
    return max(title, subtitle, rows.max() ?? 0, 80) + 2 * padding
  }

  static func shortened(_ text: String) -> String { TextMetrics.shortened(text, limit: charactersMax) }

  /// The line below the name of an entity whose superentity has no box.
  static func subtitle(of box: ModelDiagram.Box) -> String? {
    box.hiddenSuperentity.map { shortened("inherits from \($0)") }
  }

  /// The y coordinate at which a line ends, from the top of the box.
  ///
  /// Lines to the name of the entity end at three places: inheritances, relationships to one
  /// object, and relationships to many. So lines merge only if they have the same meaning.
  func portY(_ port: ModelDiagram.Port, of edge: ModelDiagram.Edge) -> Int {
    if let row = port.row { return rowMiddles[row] }
    if edge.kind == .inheritance { return 7 }
    return edge.to.head == .many ? 22 : 15
  }
}

/// A table of text in columns. It pads cells with spaces, but no line ends with spaces.
package struct TextTable: Sendable {
  /// The side on which the cells of a column are aligned.
  package enum Alignment: Sendable {
    case leading, trailing
  }

  private let widths: [Int]
  private let alignments: [Alignment]

  /// Makes a table with fixed widths, in characters. A longer cell shifts the rest of its line to
  /// the right.
  package init(widths: [Int], alignments: [Alignment]) {
    self.widths = widths
    self.alignments = alignments
  }

  /// Makes a table whose columns are as wide as the widest cells of `rows`.
  ///
  /// - Parameter alignments: One alignment for each column. Columns without one are `trailing`.
  package init(fitting rows: [[String]], alignments: [Alignment]) {
    let count = rows.map(\.count).max() ?? 0
    widths = (0..<count).map { column in
      rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
    }
    self.alignments = alignments
  }

  /// One line with a cell for each column.
  package func line(_ cells: [String]) -> String {
    var line = ""
    for (column, cell) in cells.enumerated() {
      let space = String(repeating: " ", count: max(0, width(of: column) - cell.count))
      if column > 0 { line += "  " }
      switch alignment(of: column) {
      case .leading: line += cell + space
      case .trailing: line += space + cell
      }
    }
    while line.last == " " { line.removeLast() }
    return line
  }

  /// The lines of a whole table. By default the first column is `leading` and the others are
  /// `trailing`.
  package static func lines(_ rows: [[String]], alignments: [Alignment] = [.leading]) -> [String] {
    let table = TextTable(fitting: rows, alignments: alignments)
    return rows.map(table.line)
  }

  /// The lines of a table in Markdown. The first row is the header.
  package static func markdown(_ rows: [[String]], alignments: [Alignment] = [.leading]) -> [String] {
    guard let header = rows.first else { return [] }
    let table = TextTable(widths: [], alignments: alignments)
    let rule = header.indices.map { table.alignment(of: $0) == .leading ? "---" : "--:" }
    var lines = rows.map { "| \($0.map(escapedForMarkdown).joined(separator: " | ")) |" }
    lines.insert("|\(rule.joined(separator: "|"))|", at: 1)
    return lines
  }

  /// The lines of a table in HTML. The first row is the header.
  package static func html(_ rows: [[String]]) -> [String] {
    guard let header = rows.first else { return [] }
    let lines = rows.dropFirst().map { "<tr>\(cells($0, "td"))</tr>" }
    return ["<table>", "<thead><tr>\(cells(header, "th"))</tr></thead>", "<tbody>"] + lines
      + ["</tbody>", "</table>"]
  }

  private static func cells(_ row: [String], _ tag: String) -> String {
    row.map { "<\(tag)>\(MarkupText.escaped($0))</\(tag)>" }.joined()
  }

  private static func escapedForMarkdown(_ cell: String) -> String {
    cell.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|")
  }

  private func width(of column: Int) -> Int { column < widths.count ? widths[column] : 0 }

  private func alignment(of column: Int) -> Alignment {
    column < alignments.count ? alignments[column] : .trailing
  }
}

extension TextTable {
  /// Text as one cell of at most `limit` characters, without control characters.
  ///
  /// Such characters become escapes; see ``VisibleText``. The cost depends on `limit`, not on the
  /// length of the text.
  package static func cell(_ text: String, limit: Int) -> String {
    var (cell, count) = ("", 0)
    // The longest prefix that leaves one character for the ellipsis.
    var beginning = ""
    for character in text {
      let shown = VisibleText.shown(character)
      guard count + shown.count <= limit else { return limit == 0 ? "" : beginning + "…" }
      cell += shown
      count += shown.count
      if count < limit { beginning = cell }
    }
    return cell
  }
}

package import Foundation

/// A measurement of Perdure and of a plain class in the same run.
package struct ObjectFigure: Codable {
  package var name: String
  package var unit: String
  /// The figure of the plain class; 0 if it was not measured.
  package var plain: Double
  package var perdure: Double
  /// The maximum for `perdure`; nil without a goal.
  package var limit: Double?

  package init(name: String, unit: String, plain: Double, perdure: Double, limit: Double? = nil) {
    self.name = name
    self.unit = unit
    self.plain = plain
    self.perdure = perdure
    self.limit = limit
  }
}

/// The figures of objects, for display and for files.
package struct ObjectReport: Codable {
  package var settings: [String]
  package var figures: [ObjectFigure]

  package init(settings: [String], figures: [ObjectFigure]) {
    self.settings = settings
    self.figures = figures
  }

  /// A row for each figure.
  package var table: String {
    let rows = figures.map { figure in
      let plain = figure.plain == 0 ? "–" : String(format: "%.1f", figure.plain)
      let limit = figure.limit.map { String(format: "%.1f", $0) } ?? "–"
      let cells = [figure.name, figure.unit, plain, String(format: "%.1f", figure.perdure), limit]
      return "| \(cells.joined(separator: " | ")) |"
    }
    return (["| | unit | plain class | Perdure | at most |", "|---|---|--:|--:|--:|"] + rows)
      .joined(separator: "\n")
  }

  package func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return try encoder.encode(self) + Data("\n".utf8)
  }
}

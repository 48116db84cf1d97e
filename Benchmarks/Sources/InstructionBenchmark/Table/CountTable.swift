import Foundation

/// The counts of all scenarios, as a file and as tables of a document.
struct CountTable: Equatable {
  var rows: [CountRow]

  init(rows: [CountRow]) { self.rows = rows }

  /// Reads the file that `json()` writes.
  init(contentsOf path: String) throws {
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    rows = try JSONDecoder().decode([CountRow].self, from: data)
  }

  /// A row on each line, so that a difference of two files shows the rows that changed.
  func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let lines = try rows.map { String(decoding: try encoder.encode($0), as: UTF8.self) }
    return "[\n" + lines.joined(separator: ",\n") + "\n]\n"
  }

  /// The operations that run only without unsaved changes.
  var operationTable: String {
    let lines = grouped.filter { $0.counts.count == 1 }
      .map { "| \($0.operation) | \(Self.text($0.counts.values.first)) |" }
    return (["| | instructions |", "|---|--:|"] + lines).joined(separator: "\n")
  }

  /// The operations that also run with unsaved changes, with a column for each kind of changes.
  var pendingTable: String {
    let columns = Pending.all.map(\.title)
    let lines = grouped.filter { $0.counts.count > 1 }.map { group in
      let cells = columns.map { Self.text(group.counts[$0]) }
      return "| \(([group.operation] + cells).joined(separator: " | ")) |"
    }
    let head = "| | \(columns.joined(separator: " | ")) |"
    return ([head, "|---|" + columns.map { _ in "--:|" }.joined()] + lines).joined(separator: "\n")
  }

  /// The counts of each operation by pending changes, in the order of the rows.
  private var grouped: [(operation: String, counts: [String: Double])] {
    var groups: [(operation: String, counts: [String: Double])] = []
    for row in rows {
      if let place = groups.firstIndex(where: { $0.operation == row.operation }) {
        groups[place].counts[row.pending] = row.instructions
      } else {
        groups.append((row.operation, [row.pending: row.instructions]))
      }
    }
    return groups
  }

  /// A count with thousands separators. Counts below 1,000 have one decimal digit.
  static func text(_ instructions: Double?) -> String {
    guard let instructions else { return "–" }
    if abs(instructions) < 1_000 { return String(format: "%.1f", instructions) }
    var digits = Array(String(Int(instructions.rounded())))
    var place = digits.count - 3
    while place > (instructions < 0 ? 1 : 0) {
      digits.insert(",", at: place)
      place -= 3
    }
    return String(digits)
  }
}

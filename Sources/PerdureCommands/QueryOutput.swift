import Perdure
import PerdureText

/// Writes the results of a query one by one, as the query returns them.
struct QueryOutput {
  private let format: QueryCommand.Format
  private let columns: [InspectedColumn]
  private let width: Int
  private let console: Console
  /// The first rows of a table. They are kept until the column widths are known.
  private var held: [[String]] = []
  private var table: TextTable?
  private var count = 0

  /// The number of rows that determine the column widths. Later rows may be wider.
  private static let heldMax = 200

  init(_ format: QueryCommand.Format, _ columns: [InspectedColumn], width: Int, _ console: Console) throws {
    self.format = format
    self.columns = columns
    self.width = width
    self.console = console
    if format == .csv { try console.print(CSVText.line(columns.map(\.name))) }
  }

  mutating func add(_ values: [InspectedObject.Property]) throws {
    count += 1
    switch format {
    case .json:
      try console.print(JSONText.object(zip(columns, values).map { ($0.name, $1.json) }).text)
    case .csv: try console.print(CSVText.line(values.map(\.field)))
    case .table: try add(cells: values.map { $0.cell(limit: width) })
    }
  }

  private mutating func add(cells: [String]) throws {
    if let table { return try console.print(table.line(cells)) }
    held.append(cells)
    if held.count == Self.heldMax { try showHeld() }
  }

  /// Ends the output. After a table, it prints the number of objects.
  mutating func end() throws {
    guard format == .table else { return }
    try showHeld()
    try console.print(counted(count, "object"))
  }

  private mutating func showHeld() throws {
    guard table == nil, !held.isEmpty else { return }
    let header = columns.map { TextTable.cell($0.name, limit: max(width, $0.name.count)) }
    let table = TextTable(
      fitting: [header] + held, alignments: columns.map { $0.isNumeric ? .trailing : .leading })
    try console.print(console.styled(table.line(header), .bold))
    for cells in held { try console.print(table.line(cells)) }
    held = []
    self.table = table
  }
}

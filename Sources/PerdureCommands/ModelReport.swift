import PerdureText

/// A model as text, tables and notes. All formats of `perdure model show` write this value.
struct ModelReport {
  /// A cell of a table: the text for human readers, and the value for JSON.
  struct Cell {
    let shown: String
    let json: JSONText
  }

  struct Column {
    /// The header; nil if the column is only in JSON.
    let title: String?
    /// The name of the member in JSON.
    let member: String

    init(_ title: String?, _ member: String) {
      self.title = title
      self.member = member
    }
  }

  struct Table {
    let member: String
    let columns: [Column]
    /// A cell for each column.
    let rows: [[Cell]]
  }

  /// A part of an entity or of the model, in the order of JSON. The formats for human readers have
  /// only the tables.
  enum Part {
    case field(String, JSONText)
    case table(Table)
  }

  struct Entity {
    let heading: String
    let parts: [Part]
    /// Sentences below the tables, for parts that have no column.
    let notes: [String]
  }

  let summary: String
  let fields: [(String, JSONText)]
  let entities: [Entity]
  /// Sentences about fetch request templates.
  let templates: [String]

  /// The sections for readers: the entities, and the templates if there are some.
  var sections: [Entity] {
    entities + (templates.isEmpty ? [] : [Entity(heading: "Templates", parts: [], notes: templates)])
  }
}

extension ModelReport.Cell {
  init(_ text: String) { self.init(shown: VisibleText.line(text), json: .string(text)) }

  init(_ text: String?) {
    self.init(shown: VisibleText.line(text ?? ""), json: text.map(JSONText.string) ?? .null)
  }

  init(_ holds: Bool) { self.init(shown: holds ? "yes" : "", json: .bool(holds)) }

  /// Makes a cell for JSON only.
  init(_ json: JSONText) { self.init(shown: "", json: json) }
}

extension ModelReport.Table {
  /// The header and the rows for human readers. Empty if the table has no rows, or no columns with
  /// a header.
  var shownRows: [[String]] {
    let shown = columns.indices.filter { columns[$0].title != nil }
    if rows.isEmpty || shown.isEmpty { return [] }
    return [shown.map { columns[$0].title ?? "" }] + rows.map { row in shown.map { row[$0].shown } }
  }

  var json: JSONText {
    .array(rows.map { row in .object(zip(columns, row).map { ($0.member, $1.json) }) })
  }
}

extension ModelReport.Entity {
  var shownTables: [[[String]]] {
    parts.compactMap { part in
      guard case .table(let table) = part else { return nil }
      return table.shownRows.isEmpty ? nil : table.shownRows
    }
  }

  var json: JSONText {
    .object(
      parts.map { part in
        switch part {
        case .field(let name, let value): (name, value)
        case .table(let table): (table.member, table.json)
        }
      })
  }
}

import PerdureText

extension ModelReport {
  /// The report as lines of text.
  ///
  /// - Parameter title: Styles the line above the tables of an entity.
  func lines(title: (String) -> String) -> [String] {
    [summary]
      + sections.flatMap { entity -> [String] in
        let tables = entity.shownTables.map { rows in
          TextTable.lines(rows, alignments: rows[0].map { _ in .leading })
        }
        let parts = (tables + [entity.notes]).filter { !$0.isEmpty }
        return ["", title(entity.heading)]
          + parts.joined(separator: [""]).map { $0 == "" ? "" : "  " + $0 }
      }
  }

  /// The report in Markdown, for documents.
  var markdown: [String] {
    [summary]
      + sections.flatMap { entity -> [String] in
        let tables = entity.shownTables.flatMap { rows in
          [""] + TextTable.markdown(rows, alignments: rows[0].map { _ in .leading })
        }
        let notes = entity.notes.map { "- " + $0 }
        return ["", "## " + entity.heading] + tables + (notes.isEmpty ? [] : [""] + notes)
      }
  }

  /// The report as a page in HTML that needs no other file.
  ///
  /// - Parameter name: The name of the model, for the title of the page.
  func html(name: String) -> [String] {
    let title = MarkupText.escaped(VisibleText.line(name))
    let head = [
      "<!DOCTYPE html>", "<html lang=\"en\">", "<head>", "<meta charset=\"utf-8\">",
      "<title>\(title)</title>", "<style>", Self.style, "</style>", "</head>", "<body>", "<h1>\(title)</h1>",
      "<p>\(MarkupText.escaped(summary))</p>",
    ]
    let parts = sections.flatMap { entity -> [String] in
      let notes = entity.notes.map { "<li>\(MarkupText.escaped($0))</li>" }
      return ["<h2>\(MarkupText.escaped(entity.heading))</h2>"] + entity.shownTables.flatMap(TextTable.html)
        + (notes.isEmpty ? [] : ["<ul>"] + notes + ["</ul>"])
    }
    return head + parts + ["</body>", "</html>"]
  }

  private static let style = """
    :root{color-scheme:light dark}
    body{font:14px/1.45 Helvetica,Arial,sans-serif;margin:2em auto;max-width:70em;padding:0 1em}
    table{border-collapse:collapse;margin:.7em 0}
    th,td{border:1px solid #8a93a3;padding:.2em .6em;text-align:left;vertical-align:top}
    th{background:#8a93a333}
    """

  var json: JSONText { .object(fields + [("entities", .array(entities.map(\.json)))]) }
}

/// Lines of source text with an indentation.
struct CodeLines {
  private(set) var lines: [String] = []
  private var depth = 0

  /// Adds a line at the current indentation. An empty line has no spaces.
  mutating func add(_ line: String = "") {
    lines.append(line.isEmpty ? "" : String(repeating: "  ", count: depth) + line)
  }

  /// Adds lines, indented further by the current indentation.
  mutating func add(_ other: CodeLines) {
    for line in other.lines { add(line) }
  }

  /// Adds a block: its head with an opening brace, its lines one level deeper, and its end.
  mutating func block(_ head: String, end: String = "}", _ body: (inout CodeLines) -> Void) {
    add(head + " {")
    depth += 1
    body(&self)
    depth -= 1
    add(end)
  }

  /// All lines, each followed by a line break.
  var text: String { lines.map { $0 + "\n" }.joined() }
}

import Testing

@testable import PerdureText

@Suite("Text tables")
struct TextTableTests {
  @Test("Columns are as wide as their widest cells, and no line ends with spaces")
  func lines() {
    let rows = [["name", "count", "note"], ["é", "10", ""], ["longest", "7", "x"]]
    #expect(
      TextTable.lines(rows) == ["name     count  note", "é           10", "longest      7     x"])
    #expect(
      TextTable.lines(rows, alignments: [.trailing, .leading, .leading])
        == ["   name  count  note", "      é  10", "longest  7      x"])
    #expect(TextTable.lines([]) == [])
  }

  @Test("A row that is printed after the column widths are set may be wider")
  func wider() {
    let table = TextTable(fitting: [["a", "b"]], alignments: [.leading, .leading])
    #expect(table.line(["wide", "c", "more"]) == "wide  c  more")
  }

  @Test("A Markdown table has a rule under its header, and vertical bars are escaped")
  func markdown() {
    #expect(
      TextTable.markdown([["a", "b"], ["x|y", "1"]])
        == ["| a | b |", "|---|--:|", "| x\\|y | 1 |"])
    #expect(TextTable.markdown([]) == [])
  }

  @Test("A cell escapes control characters and has at most as many characters as its limit")
  func cells() {
    #expect(TextTable.cell("plain", limit: 5) == "plain")
    #expect(TextTable.cell("plainer", limit: 5) == "plai…")
    #expect(TextTable.cell("a\nb\tc\r\nd", limit: 20) == "a\\nb\\tc\\r\\nd")
    #expect(TextTable.cell("\u{1B}[2J", limit: 20) == "\\u{1b}[2J")
    #expect(TextTable.cell("a\u{202E}b", limit: 20) == "a\\u{202e}b")
    #expect(TextTable.cell("x", limit: 0) == "")
    // An escape sequence is never cut.
    #expect(
      TextTable.cell("a\u{1B}bcd", limit: 6) == "a…" && TextTable.cell("a\u{1B}b", limit: 8) == "a\\u{1b}b")
    let huge = String(repeating: "\u{1}", count: 1_000_000)
    for limit in 0..<20 {
      #expect(TextTable.cell(huge, limit: limit).count <= limit)
    }
  }
}

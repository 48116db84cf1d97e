import Foundation
import Testing

@testable import InstructionBenchmark

@Suite("Tables of counts")
struct CountTableTests {
  private func row(_ operation: String, _ instructions: Double, _ pending: String = "none") -> CountRow {
    CountRow(operation: operation, pending: pending, instructions: instructions)
  }

  @Test("A table is the same after it was written and read")
  func roundTrip() throws {
    let table = CountTable(rows: [row("get", 30.5), row("fetch", 4_000, "100 of another entity")])
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).json")
    defer { try? FileManager.default.removeItem(at: file) }
    try Data(table.json().utf8).write(to: file)
    #expect(try CountTable(contentsOf: file.path) == table)
  }

  @Test("The file has one row on each line, in the order of the rows")
  func lines() throws {
    #expect(
      try CountTable(rows: [row("b", 2), row("a", 1.5)]).json() == """
        [
        {"instructions":2,"operation":"b","pending":"none"},
        {"instructions":1.5,"operation":"a","pending":"none"}
        ]

        """)
  }

  @Test("Operations with unsaved changes have a column for each kind of these changes")
  func documentTables() {
    let table = CountTable(rows: [
      row("get", 30.5), row("fetch", 4_000), row("fetch", 1_234_567, "100 of another entity"),
    ])
    #expect(
      table.operationTable == """
        | | instructions |
        |---|--:|
        | get | 30.5 |
        """)
    #expect(table.pendingTable.hasSuffix("\n| fetch | 4,000 | 1,234,567 | – | – | – |"))
    #expect(table.pendingTable.hasPrefix("| | none | 100 of another entity |"))
  }

  @Test(
    "Counts from 1,000 on have thousands separators, and smaller counts have one decimal digit",
    arguments: [(0, "0.0"), (999.9, "999.9"), (1_000, "1,000"), (123_456, "123,456"), (-1_000, "-1,000")])
  func separators(count: Double, text: String) {
    #expect(CountTable.text(count) == text)
  }

  @Test("A count that rises or falls by more than the tolerance is a move; a smaller change is not")
  func tolerance() {
    let before = CountTable(rows: [row("a", 1_000), row("b", 1_000), row("c", 1_000), row("d", 1_000)])
    let after = CountTable(rows: [row("a", 1_050), row("b", 1_051), row("c", 950), row("d", 949)])
    let comparison = CountComparison(before, after, tolerance: 5)
    #expect(comparison.moves.map(\.title) == ["b", "d"])
    #expect(comparison.rowCount == 4)
    #expect(comparison.text == "b: 1,000 -> 1,051 (+5.1 %)\nd: 1,000 -> 949.0 (-5.1 %)")
  }

  @Test("A row that only one table has is a move")
  func missingRows() {
    let before = CountTable(rows: [row("a", 1), row("b", 2)])
    let after = CountTable(rows: [row("c", 3), row("a", 1)])
    let comparison = CountComparison(before, after, tolerance: 5)
    #expect(comparison.text == "b: 2.0 -> no row\nc: no row -> 3.0")
    #expect(comparison.rowCount == 3)
  }

  @Test("Rows of one operation with different unsaved changes are compared separately")
  func pending() {
    let before = CountTable(rows: [row("a", 100), row("a", 100, "100 of another entity")])
    let after = CountTable(rows: [row("a", 100), row("a", 200, "100 of another entity")])
    let moves = CountComparison(before, after, tolerance: 5).moves
    #expect(moves.map(\.title) == ["a, 100 of another entity"])
    #expect(moves.first?.percent == 100)
  }

  @Test("A count that was zero moves with any change, and its change has no percentage")
  func zero() {
    let before = CountTable(rows: [row("a", 0), row("b", 0)])
    let after = CountTable(rows: [row("a", 0), row("b", 1)])
    let comparison = CountComparison(before, after, tolerance: 5)
    #expect(comparison.text == "b: 0.0 -> 1.0")
  }
}

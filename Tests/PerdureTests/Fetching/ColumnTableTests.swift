import Testing

@testable import Perdure

@Suite("Tables by column")
struct ColumnTableTests {
  @Test("A table keeps the last element of each column, in the order in which the columns were first set")
  func elements() {
    let (first, second) = (IndexColumn(slot: 1), IndexColumn(slot: 1, function: .canonical))
    var table = ColumnTable<Int>()
    #expect(table[first] == nil)
    table[second] = 1
    table[first] = 2
    table[second] = 3
    #expect(table[first] == 2)
    #expect(table[second] == 3)
    #expect(table.columns == [second, first])
    table[second] = nil
    table[IndexColumn(slot: 2)] = nil
    #expect(table.columns == [first])
  }
}

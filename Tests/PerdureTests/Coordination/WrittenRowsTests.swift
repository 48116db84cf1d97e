import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Rows collected for a commit")
struct WrittenRowsTests {
  @Test(
    "Rows are read as they were written, for any expected number of rows",
    arguments: [0, 1, 64, 65, 1000, 100_000])
  func asTheyCame(expected: Int) {
    var random = SeededGenerator.forTest("written rows")
    var rows = WrittenRows(StoreSchema(entities: [], indexes: []), expectedCount: expected)
    var put: [(ObjectReference, [UInt8])] = []
    for id in 0..<UInt64(300) {
      let row = [UInt8](repeating: UInt8(id & 0xFF), count: Int.random(in: 0..<5000, using: &random))
      put.append((ObjectReference(entity: 1, id: id), row))
      rows.append(put[put.count - 1].0, row)
    }
    var place = 0
    rows.forEach { reference, bytes in
      #expect(reference == put[place].0 && bytes.elementsEqual(put[place].1))
      place += 1
    }
    #expect(place == put.count)
  }
}

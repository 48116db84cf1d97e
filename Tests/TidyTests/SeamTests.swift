import Testing

@Suite("The seam of a store")
struct SeamTests {
  /// Below the seam, a store decodes the rows that it keeps itself.
  private static let below = ["Sources/Perdure/Coordination/", "Sources/Perdure/Container/"]

  @Test("Above the seam, every row is decoded by the schema of its view, not by that of a store")
  func decoding() throws {
    var files = 0
    for file in try Repository.swiftFiles(in: "Sources/Perdure")
    where !Self.below.contains(where: file.path.hasPrefix) {
      files += 1
      for (number, line) in file.lines.enumerated() {
        let isOfStore = line.contains("store.rows") || line.contains("store.schema.rows")
        #expect(!isOfStore, "\(file.path):\(number + 1): read the schema of the view that gave the row")
      }
    }
    #expect(files > 100)
  }
}

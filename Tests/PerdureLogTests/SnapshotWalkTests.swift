import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Costs and walks of a snapshot")
struct SnapshotWalkTests {
  @Test("A snapshot allocates nothing for values of blob files before it reads the first of them")
  func openedValues() throws {
    let store = try MemoryStore().open()
    let (ids, keys) = try (store.keyspace("ids", .dense), store.keyspace("keys", .bytes))
    try store.write { transaction in
      try transaction.put([1, 2], id: 1, in: ids)
      try transaction.put([3], key: [4], in: keys)
      try transaction.put([UInt8](repeating: 7, count: 5000), id: 2, in: ids)
    }
    let snapshot = store.snapshot()
    #expect(try snapshot.value(id: 1, in: ids) == [1, 2])
    #expect(try snapshot.value(key: [4], in: keys) == [3])
    try snapshot.forEach(in: keys) { (_: RawSpan, _) in true }
    #expect(!snapshot.hasOpenedValues)
    #expect(try snapshot.value(id: 2, in: ids)?.count == 5000)
    #expect(snapshot.hasOpenedValues)
  }

  @Test(
    "A walk over any range visits exactly the entries of the range, in both directions",
    arguments: KeyShape.allCases)
  func ranges(shape: KeyShape) throws {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed) for \(shape)")
    var random = SeededGenerator(seed: seed)
    let store = try MemoryStore().open()
    let keyspace = try store.keyspace("keys", .bytes)
    var model: [[UInt8]: [UInt8]] = [:]
    try store.write { transaction in
      for number in 0..<400 {
        let key = shape.makeKey(&random)
        model[key] = [UInt8(number % 256)]
        try transaction.put([UInt8(number % 256)], key: key, in: keyspace)
      }
    }
    let sorted = model.keys.sorted { $0.lexicographicallyPrecedes($1) }
    let snapshot = store.snapshot()
    for _ in 0..<60 {
      let bounds = (0..<2).map { _ in
        Bool.random(using: &random) ? shape.makeKey(&random) : sorted.randomElement(using: &random) ?? []
      }.sorted { $0.lexicographicallyPrecedes($1) }
      let upper = Int.random(in: 0..<4, using: &random) == 0 ? nil : bounds[1]
      let isDescending = Bool.random(using: &random)
      let limit = Bool.random(using: &random) ? Int.max : Int.random(in: 1...40, using: &random)
      var expected = sorted.filter { key in
        !key.lexicographicallyPrecedes(bounds[0]) && (upper.map { key.lexicographicallyPrecedes($0) } ?? true)
      }
      if isDescending { expected.reverse() }
      var found: [[UInt8]] = []
      let range = KeyRange(lower: bounds[0], upper: upper)
      try snapshot.forEach(in: keyspace, range: range, descending: isDescending) { key, value in
        found.append(key.withUnsafeBytes { Array($0) })
        let bytes = value.withUnsafeBytes { Array($0) }
        expectTrue(bytes == model[found[found.count - 1]])
        return found.count < limit
      }
      expectTrue(found == Array(expected.prefix(limit)))
    }
  }

  @Test("A record whose length is about the middle of its size class is prefetched exactly")
  func linesAhead() {
    // The size classes end at 64, 128, 192 and 256 bytes.
    for length in [56, 112, 168, 224] {
      let address = RecordAddress(segment: 1, offset: 4096, recordLength: length, isBlob: false)
      for start in stride(from: UInt(1 << 20), to: 1 << 20 + 64, by: 8) {
        let (first, end) = RecordReader.linesAhead(of: address, at: start)
        #expect(first == 1 << 20)
        #expect(end == start + UInt(length))
      }
    }
  }
}

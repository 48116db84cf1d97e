import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Batch lookup of the states that keep records")
struct KeeperSearchTests {
  /// The state that keeps a record, found by checking one state after another.
  private func sight(
    of record: Record, at address: RecordAddress, of sequence: UInt64,
    _ roots: [UnsafeMutablePointer<Root>], _ catalog: Catalog
  ) -> Keepers.Sight {
    let id = Int(record.header.keyspace)
    if id == 0 { return .newest }
    let leading = roots.filter { root in
      root.pointee.sequence >= sequence && id < root.pointee.keyspaceCount
        && root.pointee.keyspaces[id].word(for: record.key, catalog.keyspaces[id].kind) == address.rawValue
    }
    if leading.last == roots.last, !leading.isEmpty { return .newest }
    return leading.first.map { .holder($0.pointee.version) } ?? .nobody
  }

  private func change(_ store: Store, _ random: inout SeededGenerator) throws {
    let rows = try store.keyspace("rows", .dense)
    let names = try store.keyspace("names", .bytes)
    let count = [1, 1, 1, 3, 100].randomElement(using: &random) ?? 1
    let ids = (0..<count).map { _ in UInt64.random(in: 1...200, using: &random) }
    let kinds = (0..<count).map { _ in Int.random(in: 0..<5, using: &random) }
    try store.write(durability: .relaxed) { transaction in
      for (id, kind) in zip(ids, kinds) {
        switch kind {
        case 0: try transaction.remove(id: id, in: rows)
        case 1, 2: try transaction.put([UInt8](repeating: 1, count: 20), id: id, in: rows)
        default: try transaction.put([UInt8](repeating: 2, count: 20), key: [UInt8(id), 7], in: names)
        }
      }
    }
  }

  @Test("A batch lookup finds the same keeper for each record as a check of every state")
  func allTogether() throws {
    let seed = SeededGenerator.seedFromEnvironment()
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let store = try MemoryStore().open()
    var snapshots: [Snapshot] = []
    for step in 0..<120 {
      try change(store, &random)
      if step % 17 == 5 { snapshots.append(store.snapshot()) }
      if step % 50 == 49 { snapshots.removeFirst() }
    }
    var counts: [String: Int] = [:]
    try store.engine.inTurn { state in
      let roots = state.roots(heldBy: store.engine.heldAndAwaited(state))
      #expect(roots.count > 3)
      let (catalog, keepers) = (state.catalog, Keepers(roots, state.catalog))
      var look = KeeperSearch(keepers)
      var expected: [Keepers.Sight] = []
      func compare() {
        look.find()
        #expect(look.candidates.map(\.sight) == expected)
        for sight in expected { counts[sight.name, default: 0] += 1 }
        expected = []
        look.removeAll()
      }
      for (number, segment) in state.segments.segments {
        let isLast = number == state.end.segment
        let end = isLast ? Int(state.end.offset) : state.segments.entries[Int(number)].end
        try LogScan.visitFrames(of: segment, upTo: end, store.engine.storeID) { part in
          var records = SealedRecords(in: part.payload)
          while let (record, offset, length) = try records.next() {
            if record.header.kind == .tombstone { continue }
            let place = try #require(part.recordOffset(at: offset))
            let address = RecordAddress(
              segment: number, offset: place, recordLength: record.header.paddedLength, isBlob: false)
            look.add(record, at: address, length: length, of: part.header.sequence)
            expected.append(sight(of: record, at: address, of: part.header.sequence, roots, catalog))
            if look.isFull { compare() }
          }
        }
      }
      compare()
    }
    #expect(counts.keys.sorted() == ["holder", "newest", "nobody"], "\(counts)")
    withExtendedLifetime(snapshots) {}
  }
}

extension Keepers.Sight {
  fileprivate var name: String {
    switch self {
    case .nobody: "nobody"
    case .newest: "newest"
    case .holder: "holder"
    }
  }
}

import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Values that a snapshot keeps in memory", .serialized)
struct OpenedValueTests {
  private static let count: UInt64 = 100

  private func store(_ adapt: (inout StoreOptions) -> Void = { _ in }) throws -> (Store, Keyspace) {
    var options = StoreOptions()
    options.fileSystem = InMemoryFileSystem()
    options.blobThresholdBytes = 1024
    options.compactsAutomatically = false
    adapt(&options)
    let store = try Store(at: "/s", options: options)
    return (store, try store.keyspace("rows", .dense))
  }

  private static func value(_ id: UInt64) -> [UInt8] { [UInt8](repeating: UInt8(id), count: 2000 + Int(id)) }

  private func longValues() throws -> (Store, Keyspace) {
    let (store, rows) = try store()
    for id in 0..<Self.count {
      try store.write(durability: .processCrash) { try $0.put(Self.value(id), id: id, in: rows) }
    }
    return (store, rows)
  }

  @Test(
    "Only the long values that were last passed to closures stay mapped, and all values are read correctly")
  func lent() throws {
    let (store, rows) = try longValues()
    let snapshot = store.snapshot()
    var count = 0
    for _ in 0..<2 {
      try snapshot.forEach(in: rows, ids: 0 ... .max) { id, value in
        count += value.withUnsafeBytes { $0.elementsEqual(Self.value(id)) } ? 1 : 0
        return true
      }
    }
    for id in 0..<Self.count { count += try snapshot.value(id: id, in: rows) == Self.value(id) ? 1 : 0 }
    #expect(count == 3 * Int(Self.count))
    #expect(snapshot.openedValues.mappedCount <= OpenedBlobs.recentMax)
  }

  @Test("A value stays readable in its closure while other values are read")
  func nested() throws {
    let (store, rows) = try longValues()
    let snapshot = store.snapshot()
    try snapshot.withValue(id: 7, in: rows) { value in
      for id in 0..<Self.count { _ = try snapshot.value(id: id, in: rows) }
      #expect(value.withUnsafeBytes { $0.elementsEqual(Self.value(7)) })
    }
  }

  @Test(
    "Values that are kept for a snapshot's lifetime stay readable; they are copied if too many files are mapped"
  )
  func kept() throws {
    let (store, rows) = try longValues()
    for isFull in [false, true] {
      let snapshot = store.snapshot()
      var places: [MappedPlace] = []
      while isFull, let place = MappedPlace.take() { places.append(place) }
      var kept: [(UInt64, UnsafeRawBufferPointer)] = []
      let ids = Array(0..<Self.count)
      try snapshot.withRecords(ids: ids, in: rows) { position, record in
        if let record { kept.append((ids[position], record.bytes)) }
      }
      for id in ids { _ = try snapshot.value(id: id, in: rows) }
      #expect(kept.count == ids.count && kept.allSatisfy { $1.elementsEqual(Self.value($0)) })
      #expect(MappedPlace.inUse <= MappedPlace.countMax)
      if isFull { #expect(snapshot.openedValues.mappedCount == 0) }
      withExtendedLifetime((snapshot, places)) {}
    }
  }

  @Test("A reader frees the memory of a compressed value, and the snapshot keeps no copy")
  func readers() throws {
    let (store, rows) = try store { options in
      options.compression.mode = .eachValue
      options.blobThresholdBytes = 65536
    }
    let text = Array(String(repeating: "\"name\": \"item\", ", count: 400).utf8)
    for id in 0..<50 as Range<UInt64> { try store.write { try $0.put(text, id: id, in: rows) } }
    let snapshot = store.snapshot()
    for id in 0..<50 as Range<UInt64> {
      let reader = try #require(try snapshot.reader(id: id, in: rows))
      #expect(reader.count == UInt64(text.count))
      #expect(try reader.bytes(in: 3..<9) == Array(text[3..<9]))
    }
    #expect(!snapshot.hasOpenedValues)
  }
}

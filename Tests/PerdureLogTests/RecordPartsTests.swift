import PerdureFileIO
import PerdureTestSupport
import Synchronization
import Testing

@testable import PerdureLog

/// An extractor of single bytes of values, by position. It reports the position on which each index
/// depends, and counts its calls.
private final class BytesExtractor: IndexExtractorFactory {
  private let calls = Mutex<[UInt8: Int]>([:])

  func makeExtractor(parameters: [UInt8], in store: borrowing StoredValues) throws -> any IndexExtractor {
    Extractor(factory: self, place: parameters[0])
  }

  /// The number of calls for the index of each position since the last check.
  func takeCalls() -> [UInt8: Int] {
    calls.withLock { calls in
      defer { calls = [:] }
      return calls
    }
  }

  private struct Extractor: PartwiseExtractor {
    let factory: BytesExtractor
    let place: UInt8

    var numbering: ObjectIdentifier { ObjectIdentifier(factory) }

    func parts(ofKeyspace keyspace: UInt32) -> UInt64 { 1 << UInt64(place) }

    func changedParts(
      keyspace: UInt32, key: UnsafeRawBufferPointer, from old: UnsafeRawBufferPointer,
      to new: UnsafeRawBufferPointer
    ) -> UInt64 {
      guard old.count == new.count else { return .max }
      return old.indices.reduce(0) { old[$1] == new[$1] ? $0 : $0 | 1 << UInt64($1) }
    }

    func extract(
      keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
      into entries: inout IndexEntries
    ) {
      factory.calls.withLock { $0[place, default: 0] += 1 }
      guard Int(place) < value.count else { return }
      entries.add(key: [value[Int(place)]], reference: key.loadUnaligned(as: UInt64.self))
    }
  }
}

@Suite("Indexes that depend on parts of records")
struct RecordPartsTests {
  @Test("An extractor is called for a changed record only if the part that it reads has changed")
  func askedOnce() throws {
    let extractor = BytesExtractor()
    var options = StoreOptions()
    options.fileSystem = SimulatedFileSystem()
    options.indexExtractors = ["bytes": extractor]
    let store = try Store(at: "/s.perdure", options: options)
    let rows = try store.keyspace("rows", .dense)
    let indexes = try (0..<3 as Range<UInt8>).map { place in
      try store.defineIndex(
        IndexDefinition(
          name: "byte \(place)",
          source: .records(keyspaces: [rows], extractor: "bytes", parameters: [place])))
    }
    _ = extractor.takeCalls()
    func put(_ value: [UInt8]) throws -> [UInt8: Int] {
      try store.write { try $0.put(value, id: 7, in: rows) }
      return extractor.takeCalls()
    }
    #expect(try put([1, 2, 3]) == [0: 1, 1: 1, 2: 1])
    #expect(try put([1, 2, 3]) == [:])
    #expect(try put([1, 5, 3]) == [1: 2])
    #expect(try put([1, 5]) == [0: 2, 1: 2, 2: 2])
    #expect(try put([4, 6]) == [0: 2, 1: 2])
    let counts = try indexes.map { try store.snapshot().count(in: $0, range: .all) }
    #expect(counts == [1, 1, 0])
    #expect(try store.snapshot().count(in: indexes[0], range: .prefix([4])) == 1)
    #expect(try store.verify().isClean)
    // A removal calls all extractors.
    _ = extractor.takeCalls()
    try store.write { try $0.remove(id: 7, in: rows) }
    #expect(extractor.takeCalls() == [0: 1, 1: 1, 2: 1])
    #expect(try store.snapshot().count(in: indexes[1], range: .all) == 0)
    try store.close()
  }
}

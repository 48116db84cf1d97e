import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Salvage of packed values")
struct PackedSalvageTests {
  private let packed: PackedStore
  private let ids = 0..<150 as Range<UInt64>

  /// Makes a store with 50 values packed without a dictionary, 50 with the first dictionary, and 50
  /// with the second.
  init() throws {
    packed = try PackedStore(.dictionary)
    let store = try packed.open()
    let rows = try store.keyspace("rows", .dense)
    for (start, kind) in [(0, 0), (50, 0), (100, 1)] as [(UInt64, Int)] {
      if start > 0 {
        // Puts the samples of the dictionary.
        try store.write { transaction in
          for id in 1000..<1200 as Range<UInt64> {
            try transaction.put(PackedStore.value(id, kind: kind), id: id, in: rows)
          }
        }
        _ = try store.trainDictionary(for: rows)
      }
      try store.write { transaction in
        for id in start..<(start + 50) {
          let value = start == 0 ? PackedStore.repetitive(id) : PackedStore.value(id, kind: kind)
          try transaction.put(value, id: id, in: rows)
        }
      }
    }
    try store.write { transaction in
      for id in 1000..<1200 as Range<UInt64> { try transaction.remove(id: id, in: rows) }
    }
    let dictionaries = try PackedStore.records(of: store).compactMap(\.dictionary)
    #expect(Set(dictionaries) == [0, 1, 2])
    try store.close()
  }

  private func value(_ id: UInt64) -> [UInt8] {
    id < 50 ? PackedStore.repetitive(id) : PackedStore.value(id, kind: id < 100 ? 0 : 1)
  }

  private func salvage() throws -> (store: Store, report: SalvageReport) {
    var options = packed.memory.options
    let report = try Store.salvage(from: PackedStore.path, to: "/salvaged.perdure", options: options)
    options.compression = CompressionOptions()
    return (try Store(at: "/salvaged.perdure", options: options), report)
  }

  @Test("Salvage restores every value of an intact store")
  func well() throws {
    let (store, report) = try salvage()
    #expect(report.isClean && report.keys == 150)
    let rows = try store.keyspace("rows", .dense)
    for id in ids { #expect(try store.snapshot().value(id: id, in: rows) == value(id)) }
    #expect(try store.verify().isClean)
  }

  @Test("Salvage loses and reports values whose dictionary is lost, and restores all others")
  func lostDictionary() throws {
    let file = try packed.memory.fileSystem.open("\(PackedStore.path)/0000000000000001.segment", .readWrite)
    let bytes = try file.read(Int(try file.size()), at: 0)
    // Finds the record of the first dictionary by its key and its keyspace.
    let key: [UInt8] = [3, 1, 0, 1, 0, 0, 0]
    let place = try #require(
      (0..<(bytes.count - 7)).first { start in (0..<7).allSatisfy { bytes[start + $0] == key[$0] } })
    try file.write([bytes[place + 100] ^ 1], at: UInt64(place + 100))
    let (store, report) = try salvage()
    let rows = try store.keyspace("rows", .dense)
    for id in ids {
      #expect(try store.snapshot().value(id: id, in: rows) == (50..<100 ~= id ? nil : value(id)))
    }
    #expect(report.damages.filter { $0.reason == .dictionary }.count >= 50)
    #expect(report.damages.contains { $0.reason == .records })
    #expect(try store.verify().isClean)
  }
}

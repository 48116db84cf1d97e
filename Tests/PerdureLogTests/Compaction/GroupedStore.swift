import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A store in memory that groups cold records.
struct GroupedStore {
  static let path = "/store.perdure"
  var memory: MemoryStore

  init(segmentCapacityBytes: Int = 256 << 10, groupLength: Int = 4096) throws {
    memory = try MemoryStore(segmentCapacityBytes: segmentCapacityBytes)
    memory.options.compression.groupsColdRecords = true
    memory.options.compression.groupLengthTarget = groupLength
    memory.options.checkpoints = .manual
  }

  func open() throws -> Store { try memory.open() }

  /// The row that every commit of `fill` overwrites, so that every segment has garbage.
  private static let garbage: UInt64 = 1 << 40

  /// Puts a value for each id, in commits of 40 ids.
  static func fill(
    _ store: Store, _ ids: Range<UInt64>, garbageBytes: Int = 1200,
    _ value: (UInt64) -> [UInt8] = { PackedStore.value($0) }
  ) throws {
    let rows = try store.keyspace("rows", .dense)
    for start in stride(from: ids.lowerBound, to: ids.upperBound, by: 40) {
      var random = SeededGenerator(seed: start)
      let noise = (0..<garbageBytes).map { _ in UInt8.random(in: 0...255, using: &random) }
      try store.write(durability: .relaxed) { transaction in
        if garbageBytes > 0 { try transaction.put(noise, id: garbage, in: rows) }
        for id in start..<min(start + 40, ids.upperBound) { try transaction.put(value(id), id: id, in: rows) }
      }
    }
  }

  static func check(
    _ snapshot: Snapshot, _ store: Store, _ ids: Range<UInt64>,
    _ value: (UInt64) -> [UInt8]? = { PackedStore.value($0) }
  ) throws {
    let rows = try store.keyspace("rows", .dense)
    for id in ids { #expect(try snapshot.value(id: id, in: rows) == value(id), "id \(id)") }
    var walked = 0
    try snapshot.forEach(in: rows, ids: ids.lowerBound...(ids.upperBound - 1)) { id, bytes in
      walked += 1
      #expect(bytes.withUnsafeBytes { Array($0) } == value(id), "id \(id)")
      return true
    }
    #expect(walked == ids.count { value($0) != nil })
    try snapshot.withRecords(ids: ids.reversed(), in: rows) { position, record in
      let id = ids.upperBound - 1 - UInt64(position)
      #expect(record.map { Array($0.bytes) } == value(id), "id \(id)")
    }
  }

  /// Compacts twice, because young segments that were never rewritten are not cold.
  static func group(_ store: Store) throws {
    for _ in 0..<2 { try store.compact() }
  }

  func bytes(ofSegment number: UInt64) throws -> [UInt8] {
    let file = try memory.fileSystem.open(Self.path + "/" + StoreFileName.segment(number).string, .read)
    return try file.read(Int(file.size()), at: 0)
  }

  func write(_ bytes: [UInt8], at offset: Int, ofSegment number: UInt64) throws {
    try memory.fileSystem.open(Self.path + "/" + StoreFileName.segment(number).string, .readWrite)
      .write(bytes, at: UInt64(offset))
  }
}

extension Store {
  /// The numbers of the grouped segments.
  func groupedSegments() throws -> [UInt64] {
    try engine.readingState { $0.segments.segments.filter { $0.value.isGrouped }.keys.sorted() }
  }
}

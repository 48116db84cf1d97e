import PerdureFileIO
import PerdureFormat
import Testing

@testable import PerdureLog

@Suite("Following a writer of another version")
struct FollowerFeatureTests {
  /// Expects that each attempt to refresh is refused with the name of the bit, and that the earlier
  /// state can still be read.
  private func expectRefusal(
    _ reader: Store, _ log: HandmadeLog, _ bit: Int, in field: HandmadeLog.FeatureField
  ) throws {
    let (sequence, held) = (reader.snapshot().sequence, reader.snapshot())
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) { try reader.refresh() }
      #expect(error?.code == .unsupportedFormat)
      #expect(error?.message.contains(field.text(bit)) == true, "\(String(describing: error))")
      #expect(reader.snapshot().sequence == sequence)
      for snapshot in [reader.snapshot(), held] {
        #expect(snapshot.count(in: log.rows) == HandmadeLog.ids.count)
        for id in HandmadeLog.ids { #expect(try snapshot.value(id: id, in: log.rows) == [1, 2, 3]) }
      }
    }
    try reader.close()
  }

  @Test(
    "A follower whose writer sets an unknown incompatible feature is refused, and keeps its state",
    arguments: [4, 5, 6, 63])
  func superblock(bit: Int) throws {
    for appends in [false, true] {
      var log = try HandmadeLog()
      let reader = try log.open(readOnly: true)
      try log.set(bit, in: .incompatible)
      if appends { try log.append(.commitEnd, [log.row(50)]) }
      try expectRefusal(reader, log, bit, in: .incompatible)
    }
  }

  @Test("A follower is refused if only the header of a new segment has the unknown feature")
  func segment() throws {
    let log = try HandmadeLog()
    let reader = try log.open(readOnly: true)
    try log.beginSegment(features: 1 << 5)
    try expectRefusal(reader, log, 5, in: .segment)
  }

  @Test("A follower continues if its writer sets a feature that only writers must support")
  func readOnlyCompatible() throws {
    for bit in [1, 40] {
      var log = try HandmadeLog()
      let reader = try log.open(readOnly: true)
      try log.set(bit, in: .readOnlyCompatible)
      try log.append(.commitEnd, [log.row(50)])
      #expect(try reader.refresh())
      #expect(try reader.snapshot().value(id: 50, in: log.rows) == [7])
      #expect(reader.snapshot().sequence == log.sequence)
      #expect(try reader.verify().isClean)
    }
  }

  @Test("A follower continues if its writer begins to bind records")
  func bound() throws {
    let log = try HandmadeLog()
    let reader = try log.open(readOnly: true)
    func bindings() throws -> [Bool] {
      try #require(reader.follower).engine.readingState { state in
        state.segments.segments.values.sorted { $0.number < $1.number }.map(\.header.bindsRecords)
      }
    }
    #expect(try bindings() == [false])
    var options = HandmadeLog.options(log.fileSystem)
    options.bindsRecords = true
    let writer = try Store(at: HandmadeLog.path, options: options)
    let value = [UInt8](repeating: 5, count: 1000)
    for id in 100..<200 as Range<UInt64> {
      try writer.write { try $0.put(value, id: id, in: log.rows) }
      if id % 20 == 0 { #expect(try reader.refresh()) }
    }
    try reader.refresh()
    #expect(try bindings().first == false && bindings().last == true)
    let snapshot = reader.snapshot()
    #expect(snapshot.sequence == writer.snapshot().sequence)
    #expect(snapshot.count(in: log.rows) == HandmadeLog.ids.count + 100)
    for id in 100..<200 as Range<UInt64> { #expect(try snapshot.value(id: id, in: log.rows) == value) }
    #expect(try reader.verify().isClean)
  }
}

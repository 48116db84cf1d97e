import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A store on a file system of limited size, and another user that can take the free space.
private struct CrampedStore {
  static let path = "/s.perdure"
  let fileSystem: SimulatedFileSystem

  init(capacityBytes: UInt64) { fileSystem = SimulatedFileSystem(capacityBytes: capacityBytes) }

  func open(_ change: (inout StoreOptions) -> Void = { _ in }) throws -> Store {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 64 << 10
    options.compactsAutomatically = false
    options.durability = .relaxed
    change(&options)
    return try Store(at: Self.path, options: options)
  }

  var free: UInt64 { get throws { try fileSystem.availableBytes(at: "/") } }

  /// Lets the other user fill the volume except `left` bytes.
  func takeWhatIsFree(but left: UInt64 = 0) throws {
    if try fileSystem.kind(of: "/others") == nil { _ = try fileSystem.open("/others", .create) }
    let file = try fileSystem.open("/others", .readWrite)
    try file.write([UInt8](repeating: 0, count: Int(free - left)), at: try file.size())
    #expect(try free == left)
  }

  /// Puts rows of 500 bytes until the volume is full, and returns the last id.
  func fill(_ store: Store, _ rows: Keyspace, from first: UInt64 = 1) throws -> UInt64 {
    var id = first
    do {
      while true {
        try store.write { try $0.put(Self.value(id), id: id, in: rows) }
        id += 1
      }
    } catch let error as StoreError {
      #expect(error.code == .diskFull, "\(error)")
    }
    return id - 1
  }

  /// Checks that an opening after any power cut finds this number of rows and this sequence number.
  func checkImages(count: Int, sequence: UInt64) throws {
    var explorer = CrashExplorer(seed: 1)
    explorer.imagesPerOperationMax = 8
    let journal = fileSystem.journal
    for image in explorer.images(of: journal, after: journal.operationCount) {
      var options = StoreOptions()
      options.fileSystem = image.fileSystem()
      let store = try Store(at: Self.path, options: options)
      let rows = try store.keyspace("rows", .dense)
      #expect(store.snapshot().count(in: rows) == count && store.snapshot().sequence == sequence)
      #expect(try store.verify().isClean)
    }
  }

  static func value(_ id: UInt64) -> [UInt8] { [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: 500) }
}

@Suite("On a full disk")
struct FullDiskTests {
  @Test("A store on a full disk refuses writes, loses nothing, and can be read and reopened")
  func fullDisk() throws {
    let fileSystem = SimulatedFileSystem(capacityBytes: 60_000)
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 8192
    var promised: UInt64 = 0
    for _ in 0..<3 {
      let store = try Store(at: "/s.perdure", options: options)
      let rows = try store.keyspace("rows", .dense)
      #expect(store.snapshot().count(in: rows) >= Int(promised))
      let error = #expect(throws: StoreError.self) {
        while true {
          try store.write { try $0.put([UInt8](repeating: 7, count: 500), id: promised + 1, in: rows) }
          promised += 1
        }
      }
      #expect(error?.code == .diskFull && error?.cause?.code == .noSpace)
      try store.close()
      for id in 1...promised { #expect(try store.snapshot().value(id: id, in: rows)?.count == 500) }
    }
    #expect(promised > 50)
  }

  @Test("While the reserve cannot be written, commits are refused with the system's error as the cause")
  func refusedForTheReserve() throws {
    let disk = CrampedStore(capacityBytes: 4 << 20)
    let store = try disk.open()
    let rows = try store.keyspace("rows", .dense)
    disk.fileSystem.inject(
      InjectedFailure(of: .write, repeats: true, code: .quotaExceeded, pathContains: ".reserve"))
    let last = try disk.fill(store, rows)
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) {
        try store.write { try $0.put([1], id: last + 1, in: rows) }
      }
      #expect(error?.code == .diskFull && error?.cause?.code == .quotaExceeded)
      #expect(error?.cause?.path.hasSuffix(".reserve") == true)
    }
    disk.fileSystem.removeInjectedFailures()
    try store.write { try $0.put([1], id: last + 1, in: rows) }
  }

  @Test("Commits stay refused while the reserve cannot be restored for a reason other than lack of space")
  func reserveWithoutDescriptors() throws {
    let disk = CrampedStore(capacityBytes: 4 << 20)
    let store = try disk.open()
    let rows = try store.keyspace("rows", .dense)
    try disk.takeWhatIsFree(but: 1 << 20)
    let last = try disk.fill(store, rows)
    try disk.takeWhatIsFree()
    // Uses the part of the reserve for removals.
    for id in 1...last where try !store.statistics.isShortOfSpace {
      try store.write { try $0.remove(id: id, in: rows) }
    }
    disk.fileSystem.inject(
      InjectedFailure(of: .create, repeats: true, code: .tooManyOpenFiles, pathContains: ".reserve"))
    try disk.fileSystem.remove("/others")
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) {
        try store.write { try $0.put([1], id: last + 1, in: rows) }
      }
      #expect(error?.code == .diskFull)
      #expect(try store.statistics.isShortOfSpace)
    }
    disk.fileSystem.removeInjectedFailures()
    try store.write { try $0.put([1], id: last + 1, in: rows) }
    #expect(try !store.statistics.isShortOfSpace)
  }

  @Test("Without free space, a store can be opened, read and compacted, and then accepts values")
  func life() throws {
    let disk = CrampedStore(capacityBytes: 700_000)
    var store = try disk.open()
    let rows = try store.keyspace("rows", .dense)
    let count = try disk.fill(store, rows)
    #expect(count > 500)
    try disk.takeWhatIsFree()
    try store.close()

    store = try disk.open()
    #expect(store.snapshot().count(in: rows) == Int(count))
    #expect(try store.snapshot().value(id: count, in: rows) == CrampedStore.value(count))
    #expect(throws: StoreError.self) { try store.write { try $0.put([1], id: count + 1, in: rows) } }
    for id in 1...count where id % 2 == 0 {
      try store.write { try $0.remove(id: id, in: rows) }
    }
    try disk.takeWhatIsFree()
    let report = try store.compact()
    #expect(report.segmentsRewritten > 5)
    #expect(report.bytesBefore > report.bytesAfter + 200_000)
    #expect(try disk.free > 100_000)
    #expect(try !store.statistics.isShortOfSpace)
    #expect(try store.verify().isClean)
    for id in 1...count {
      #expect(try store.snapshot().value(id: id, in: rows) == (id % 2 == 0 ? nil : CrampedStore.value(id)))
    }
    #expect(try disk.fill(store, rows, from: count + 1) > count + 100)
    try store.close()
    store = try disk.open()
    #expect(try store.verify().isClean)
  }

  @Test("If the newest checkpoint is current, compaction uses its reserve and completes")
  func currentCheckpoint() throws {
    let disk = CrampedStore(capacityBytes: 900_000)
    let store = try disk.open { $0.checkpoints = .manual }
    let rows = try store.keyspace("rows", .dense)
    for id in 1...400 as ClosedRange<UInt64> {
      try store.write { try $0.put(CrampedStore.value(id), id: id, in: rows) }
    }
    var snapshot: Snapshot? = store.snapshot()
    for id in 1...400 as ClosedRange<UInt64> where id % 10 == 0 {
      try store.write { try $0.remove(id: id, in: rows) }
    }
    // Now the last segment is empty, and the log has no records after the checkpoint.
    try store.compact()
    try store.checkpoint()
    try disk.takeWhatIsFree()
    #expect(snapshot?.count(in: rows) == 400)
    snapshot = nil
    var steps = 0
    let report = try store.compact { _ in
      steps += 1
      return steps < 1000
    }
    #expect(!report.wasCancelled && report.segmentsRewritten > 0)
    #expect(try !store.statistics.isShortOfSpace)
    #expect(store.snapshot().count(in: rows) == 360)
    #expect(try store.verify().isClean)
  }

  @Test("A commit without space leaves the store unchanged, for any kind of operation")
  func refusedCommit() throws {
    let disk = CrampedStore(capacityBytes: 300_000)
    let store = try disk.open { $0.blobThresholdBytes = 4096 }
    let rows = try store.keyspace("rows", .dense)
    let definition = IndexDefinition(
      name: "first",
      source: .records(
        keyspaces: [rows], extractor: SliceExtractor.name,
        parameters: SliceExtractor.parameters([.value(offset: 0, length: 1)])))
    let index = try store.defineIndex(definition)
    let count = try disk.fill(store, rows)
    let (sequence, usage) = (store.snapshot().sequence, try store.usage)
    let free = try disk.free
    let refused: [(inout WriteTransaction) throws -> Void] = [
      { transaction in try transaction.put([UInt8](repeating: 1, count: 800), id: 1, in: rows) },
      { transaction in
        for id in 1000..<3000 as Range<UInt64> { try transaction.put([1, 2, 3], id: id, in: rows) }
      },
      { transaction in try transaction.put([UInt8](repeating: 1, count: 5000), id: 1, in: rows) },
      { transaction in
        try transaction.remove(id: 1, in: rows)
        try transaction.put([UInt8](repeating: 1, count: 2000), id: 2, in: rows)
      },
    ]
    for (number, body) in refused.enumerated() {
      let error = #expect(throws: StoreError.self) { try store.write { try body(&$0) } }
      #expect(error?.code == .diskFull, "\(number): \(String(describing: error))")
      #expect(try disk.free >= free, "\(number)")
      #expect(try store.usage == usage, "\(number)")
      #expect(store.snapshot().sequence == sequence && store.snapshot().count(in: rows) == Int(count))
      #expect(try store.snapshot().count(in: index) == Int(count), "\(number)")
    }
    #expect(throws: StoreError.self) { try store.keyspace("other", .bytes) }
    #expect(try store.keyspaces.count == 1)
    #expect(try store.verify().isClean)
    try store.write { for id in 1...count { try $0.remove(id: id, in: rows) } }
    try store.compact()
    try store.write { try $0.put([1], id: 1, in: rows) }
    #expect(try store.verify().isClean)
    try store.close()
    let again = try disk.open()
    #expect(again.snapshot().count(in: rows) == 1)
    #expect(try again.verify().isClean)
  }

  @Test(
    "If a commit over many segments runs out of space, all its segments are freed", arguments: 1...9)
  func refusedChain(_ nth: Int) throws {
    let disk = CrampedStore(capacityBytes: 10 << 20)
    let store = try disk.open { $0.reserveBytes = 0 }
    let rows = try store.keyspace("rows", .dense)
    try store.write(durability: .powerLoss) { try $0.put([1], id: 1, in: rows) }
    let (free, segments) = (try disk.free, try store.statistics.segments)
    disk.fileSystem.inject(
      InjectedFailure(
        of: .write, nth: nth, code: .noSpace, effect: .partialWrite(byteCount: 1000), pathContains: ".segment"
      ))
    let error = #expect(throws: StoreError.self) {
      try store.write { transaction in
        for id in 2..<550 as Range<UInt64> { try transaction.put(CrampedStore.value(id), id: id, in: rows) }
      }
    }
    #expect(error?.code == .diskFull)
    #expect(try store.statistics.segments == segments)
    #expect(store.snapshot().sequence == 2 && store.snapshot().count(in: rows) == 1)
    #expect(try disk.free >= free - 65_536, "only the segment in which the log ends may have grown")
    try disk.checkImages(count: 1, sequence: 2)
    try store.write(durability: .powerLoss) { try $0.put([2], id: 1, in: rows) }
    #expect(try store.verify().isClean)
    try disk.checkImages(count: 1, sequence: 3)
    try store.close()
    #expect(try disk.open().snapshot().value(id: 1, in: rows) == [2])
  }

  @Test("If the file of a rolled-back commit cannot be closed, the store stays writable")
  func refusedChainAndClose() throws {
    let disk = CrampedStore(capacityBytes: 10 << 20)
    let store = try disk.open { $0.reserveBytes = 0 }
    let rows = try store.keyspace("rows", .dense)
    let room = InjectedFailure(of: .write, nth: 5, code: .noSpace, pathContains: ".segment")
    for failure in [room, InjectedFailure(of: .close, code: .mediaError, pathContains: ".segment")] {
      disk.fileSystem.inject(failure)
    }
    let error = #expect(throws: StoreError.self) {
      try store.write { transaction in
        for id in 2..<550 as Range<UInt64> { try transaction.put(CrampedStore.value(id), id: id, in: rows) }
      }
    }
    #expect(error?.code == .diskFull)
    #expect(disk.fileSystem.injectedFailureCount == 2)
    try store.write(durability: .powerLoss) { try $0.put([2], id: 1, in: rows) }
    #expect(try store.verify().isClean)
    try disk.checkImages(count: 1, sequence: 2)
    let files = try disk.fileSystem.contents(of: CrampedStore.path).filter { $0.hasSuffix(".segment") }
    #expect(files.count == 2, "the segments of the refused commit are removed: \(files)")
  }

  @Test("A long commit without enough space is refused before any byte is written")
  func refusedBeforehand() throws {
    let disk = CrampedStore(capacityBytes: 1_000_000)
    let store = try disk.open()
    let rows = try store.keyspace("rows", .dense)
    let free = try disk.free
    let error = #expect(throws: StoreError.self) {
      try store.write { transaction in
        for id in 2..<3000 as Range<UInt64> { try transaction.put(CrampedStore.value(id), id: id, in: rows) }
      }
    }
    #expect(error?.code == .diskFull)
    #expect(try disk.free == free)
  }

  @Test(
    "One compaction frees the last segment's garbage in a full store with many short segments",
    arguments: [0, 10_000] as [UInt64])
  func shortSegments(left: UInt64) throws {
    let disk = CrampedStore(capacityBytes: 900_000)
    let store = try disk.open { $0.segmentCapacityBytes = 1 << 20 }
    let rows = try store.keyspace("rows", .dense)
    func put(_ ids: ClosedRange<UInt64>) throws {
      try store.write { for id in ids { try $0.put(CrampedStore.value(id), id: id, in: rows) } }
    }
    for id in 1...10 as ClosedRange<UInt64> {
      for _ in 0..<2 { try put(id...id) }
      try store.compact()
    }
    try put(11...200)
    try disk.takeWhatIsFree(but: left)
    let error = #expect(throws: StoreError.self) { try put(1001...1030) }
    #expect(error?.code == .diskFull)
    // The rows of the short segments are live.
    try store.write { for id in 11...200 as ClosedRange<UInt64> { try $0.remove(id: id, in: rows) } }
    if left == 0 { try disk.takeWhatIsFree() }
    #expect(try store.statistics.isShortOfSpace)
    // With fewer short segments, compaction closes the last segment in any case.
    #expect(try store.engine.readingState { $0.shortSegmentCount } >= CompactionPolicy.shortSegmentsMax)
    #expect(store.engine.usageTotals.garbageBytes < 256 << 10)
    try store.compact()
    #expect(try !store.statistics.isShortOfSpace)
    try put(1001...1030)
    #expect(store.snapshot().count(in: rows) == 40)
    #expect(try store.verify().isClean)
  }

  @Test("The reserve grows with the longest segment, up to the option's limit")
  func size() throws {
    let disk = CrampedStore(capacityBytes: 10 << 20)
    let store = try disk.open()
    let rows = try store.keyspace("rows", .dense)
    #expect(try store.statistics.reserveBytes == 0)
    for id in 1...400 as ClosedRange<UInt64> {
      try store.write { try $0.put(CrampedStore.value(id), id: id, in: rows) }
    }
    #expect(try store.statistics.reserveBytes == 128 << 10)
    #expect(
      try disk.fileSystem.contents(of: CrampedStore.path).filter { $0.hasSuffix(".reserve") }.count == 2)
    try store.close()
    let without = try disk.open { $0.reserveBytes = 0 }
    #expect(try without.statistics.reserveBytes == 0)
    #expect(try disk.fileSystem.contents(of: CrampedStore.path).allSatisfy { !$0.hasSuffix(".reserve") })
    try without.close()
    #expect(try disk.open().statistics.reserveBytes == 128 << 10)
  }

  @Test(
    "The size of the reserve depends on the log and its longest segment",
    arguments: [
      (65_535, 65_535, 0, 0), (65_536, 65_536, 131_072, 65_536), (1 << 20, 1 << 20, 1_310_720, 163_840),
      (1 << 30, 64 << 20, 64 << 20, 8 << 20), (1 << 30, 65 << 20, 64 << 20, 8 << 20),
    ] as [(UInt64, Int, Int, Int)])
  func policy(_ logBytes: UInt64, _ longest: Int, _ compaction: Int, _ removals: Int) {
    let size = ReserveSize(logBytes: logBytes, longest: longest, capacity: 64 << 20, most: 72 << 20)
    #expect(size.compaction == compaction && size.removals == removals)
    #expect(ReserveSize(logBytes: logBytes, longest: longest, capacity: 64 << 20, most: 0).total == 0)
  }

  @Test(
    "The reserve is not longer than reserveBytes, and has at least one step for each of its parts",
    arguments: [128 << 10, 150_000, 589_000, 1 << 20, 72 << 20, 512 << 20])
  func largest(_ most: Int) {
    for longest in [64 << 10, 1 << 20, 64 << 20] {
      let size = ReserveSize(
        logBytes: UInt64(longest), longest: longest, capacity: 64 << 20, most: most)
      #expect(size.total <= most)
      #expect(min(size.compaction, size.removals) >= ReserveSize.step)
    }
  }

  @Test("The store accepts values again when another user frees space")
  func roomElsewhere() throws {
    let disk = CrampedStore(capacityBytes: 400_000)
    let store = try disk.open()
    let rows = try store.keyspace("rows", .dense)
    let count: UInt64 = 200
    for id in 1...count { try store.write { try $0.put(CrampedStore.value(id), id: id, in: rows) } }
    try disk.takeWhatIsFree()
    #expect(throws: StoreError.self) {
      while true { try store.write { try $0.put(CrampedStore.value(1), id: count + 1, in: rows) } }
    }
    try store.write { for id in 1...100 as ClosedRange<UInt64> { try $0.remove(id: id, in: rows) } }
    try disk.takeWhatIsFree()
    #expect(try store.statistics.isShortOfSpace)
    #expect(throws: StoreError.self) { try store.write { try $0.put([1], id: count + 1, in: rows) } }
    #expect(throws: StoreError.self) { try store.checkpoint() }
    try disk.fileSystem.remove("/others")
    try store.write { try $0.put([1], id: count + 1, in: rows) }
    try store.checkpoint()
    #expect(try !store.statistics.isShortOfSpace)
    #expect(try store.verify().isClean)
  }
}

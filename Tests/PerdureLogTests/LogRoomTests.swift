import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Maps segments so that an access after the log stops the process. The accessible pages end after
/// the last nonzero byte and a frame header that may follow it.
private final class InaccessibleHoles: ForwardingFileSystem {
  let behind: any FileSystem
  private let inaccessible = Guarded(0)

  init(_ behind: any FileSystem) { self.behind = behind }

  /// The total length of all inaccessible pages.
  var byteCount: Int { inaccessible.withLock { $0 } }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    let file = try behind.open(path, mode)
    return path.hasSuffix(".segment") ? Segment(behind: file, self) : file
  }

  private final class Segment: ForwardingFile {
    let behind: any File
    private let holes: InaccessibleHoles

    init(behind: any File, _ holes: InaccessibleHoles) { (self.behind, self.holes) = (behind, holes) }

    func map(_ length: Int) throws(FileIOError) -> FileMapping {
      func pages(_ count: Int) -> Int {
        let page = Int(getpagesize())
        return (count + page - 1) / page * page
      }
      let bytes = try behind.read(min(length, Int(size())), at: 0)
      let end = (bytes.lastIndex { $0 != 0 } ?? 0) + 1 + FrameHeader.length
      let (used, whole) = (pages(min(end, length)), pages(length))
      guard let base = mmap(nil, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0),
        base != MAP_FAILED
      else { throw FileIOError(.outOfMemory, operation: .map, path: path) }
      base.copyMemory(from: bytes, byteCount: min(bytes.count, used))
      if used < whole, mprotect(base + used, whole - used, PROT_NONE) == 0 {
        holes.inaccessible.withLock { $0 += whole - used }
      }
      let address = UInt(bitPattern: base)
      return FileMapping(base: base, length: length) {
        munmap(UnsafeMutableRawPointer(bitPattern: address), whole)
      }
    }
  }
}

@Suite("Preallocated length of the log file")
struct LogRoomTests {
  private static let path = "/s.perdure"
  private static let segment = path + "/0000000000000001.segment"

  private let fileSystem = SimulatedFileSystem()

  private func options(_ room: LogRoom = .always(upTo: 2000)) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 16 << 10
    options.reserveBytes = 0
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.logRoom = room
    return options
  }

  private func open(_ room: LogRoom = .always(upTo: 2000)) throws -> (Store, Keyspace) {
    let store = try Store(at: Self.path, options: options(room))
    return (store, try store.keyspace("rows", .dense))
  }

  private func size() throws -> UInt64 { try fileSystem.open(Self.segment, .read).size() }

  private func end(of store: Store) throws -> UInt64 { try store.engine.readingState { $0.end.offset } }

  private func value(_ id: UInt64) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: 100)
  }

  @Test(
    "Preallocation is a limited part of the file's length, and occurs only for commits that wait for syncs")
  func policy() {
    let room = LogRoom()
    let (mebibyte, capacity): (UInt64, UInt64) = (1 << 20, 64 << 20)
    #expect(room.length(end: mebibyte, synced: mebibyte, capacity: capacity) == mebibyte + 65_536)
    let long = 32 * mebibyte
    #expect(room.length(end: long, synced: long, capacity: capacity) == long + 262_144)
    // A log of 65,535 bytes is too short for an extension, and 65,536 bytes are enough.
    #expect(room.length(end: 65_535, synced: 65_535, capacity: capacity) == nil)
    #expect(room.length(end: 65_536, synced: 65_536, capacity: capacity) == 65_536 + 4096)
    // With more than 65,536 unsynced bytes, commits do not wait for each sync, so the file is not
    // extended.
    #expect(room.length(end: mebibyte, synced: mebibyte - 65_537, capacity: capacity) == nil)
    #expect(room.length(end: mebibyte, synced: mebibyte - 65_536, capacity: capacity) != nil)
    // The extension ends at the capacity of the segment.
    #expect(room.length(end: mebibyte, synced: mebibyte, capacity: mebibyte + 10) == mebibyte + 10)
    #expect(room.length(end: mebibyte, synced: mebibyte, capacity: mebibyte) == nil)
    #expect(room.length(end: mebibyte, synced: mebibyte, capacity: 0) == nil)
  }

  @Test("Durable commits use preallocated length, and other commits do not preallocate")
  func lengths() throws {
    var room = LogRoom.always(upTo: 2000)
    room.unsyncedMax = 300
    let (store, rows) = try open(room)
    var lengths: Set<UInt64> = []
    for id in 1...20 as ClosedRange<UInt64> {
      try store.write { try $0.put(value(id), id: id, in: rows) }
      #expect(try size() >= end(of: store))
      lengths.insert(try size())
    }
    #expect(lengths.count < 8, "20 commits changed the length of the file \(lengths.count) times")
    for id in 21...60 as ClosedRange<UInt64> {
      try store.write(durability: .processCrash) { try $0.put(value(id), id: id, in: rows) }
    }
    #expect(try size() == end(of: store))
    try store.close()
  }

  @Test("An opening after a crash continues in the same segment, without a torn tail")
  func goesOn() throws {
    for round in 0..<4 as Range<UInt64> {
      let (store, rows) = try open()
      #expect(store.recoveryReport.tornTailBytes == 0)
      #expect(store.snapshot().count(in: rows) == Int(round) * 5)
      for id in round * 5 + 1...round * 5 + 5 { try store.write { try $0.put(value(id), id: id, in: rows) } }
      #expect(try size() > end(of: store))
      #expect(try store.statistics.segments == 1)
      #expect(try store.verify().isClean)
      if round == 2 { try store.close() } else { store.engine.abandon() }
    }
    let report = try Store.salvage(from: Self.path, to: "/new.perdure", options: options())
    #expect(report.isClean && report.keysMaybeOlder == 0, "\(report)")
    let new = try Store(at: "/new.perdure", options: options())
    #expect(new.snapshot().count(in: try new.keyspace("rows", .dense)) == 20)
  }

  @Test("A reader finds new frames in preallocated zeros, and does not reopen if there are no new frames")
  func reading() throws {
    let (store, rows) = try open()
    try store.write { try $0.put(value(1), id: 1, in: rows) }
    var reading = options()
    reading.isReadOnly = true
    let reader = try Store(at: Self.path, options: reading)
    var steps = 0
    for id in 2...30 as ClosedRange<UInt64> {
      let engine = reader.engine
      #expect(try !reader.refresh())
      #expect(reader.engine === engine)
      let before = try size()
      try store.write { try $0.put(value(id), id: id, in: rows) }
      if try size() == before { steps += 1 }
      #expect(try reader.refresh())
      #expect(try reader.snapshot().value(id: id, in: try reader.keyspace("rows", .dense)) == value(id))
    }
    #expect(steps > 15)
  }

  @Test("A reader ignores a frame until all its bytes are written")
  func halfAFrame() throws {
    let (store, rows) = try open()
    try store.write { try $0.put(value(1), id: 1, in: rows) }
    let start = Int(try end(of: store))
    try store.write { try $0.put(value(2), id: 2, in: rows) }
    let end = Int(try end(of: store))
    var image = fileSystem.currentImage
    let bytes = try #require(image.bytes(at: Self.segment))
    image.setBytes(bytes[..<start] + [UInt8](repeating: 0, count: bytes.count - start), at: Self.segment)
    let files = image.fileSystem()
    var reading = options()
    (reading.isReadOnly, reading.fileSystem) = (true, files)
    let reader = try Store(at: Self.path, options: reading)
    let engine = reader.engine
    let file = try files.open(Self.segment, .readWrite)
    for cut in stride(from: start, to: end, by: 8) {
      try file.write(Array(bytes[start..<cut]), at: UInt64(start))
      #expect(try !reader.refresh(), "\(cut - start) of \(end - start) bytes")
      #expect(reader.engine === engine)
    }
    try file.write(Array(bytes[start..<end]), at: UInt64(start))
    #expect(try reader.refresh())
    #expect(reader.snapshot().count(in: try reader.keyspace("rows", .dense)) == 2)
  }

  @Test("A commit that runs out of space is rolled back, unless its frame is complete in the file")
  func refusals() throws {
    let (store, rows) = try open()
    for id in 1...3 as ClosedRange<UInt64> { try store.write { try $0.put(value(id), id: id, in: rows) } }
    #expect(try size() > end(of: store) + 300)
    func write(_ value: [UInt8], id: UInt64, stoppingAfter count: Int) throws {
      fileSystem.inject(
        InjectedFailure(
          of: .write, code: .noSpace, effect: .partialWrite(byteCount: count), pathContains: ".segment"))
      defer { fileSystem.removeInjectedFailures() }
      try store.write { try $0.put(value, id: id, in: rows) }
    }
    // Only zeros of this frame were not written, and the file already has these zeros.
    let zeros = [7] + [UInt8](repeating: 0, count: 200)
    try write(zeros, id: 4, stoppingAfter: 140)
    let refusal = #expect(throws: StoreError.self) { try write(value(5), id: 5, stoppingAfter: 100) }
    #expect(refusal?.code == .diskFull)
    try store.write { try $0.put(value(6), id: 6, in: rows) }
    store.engine.abandon()
    let (again, same) = try open()
    #expect(try again.snapshot().value(id: 4, in: same) == zeros)
    #expect(try again.snapshot().value(id: 5, in: same) == nil)
    for id in [1, 2, 3, 6] as [UInt64] { #expect(try again.snapshot().value(id: id, in: same) == value(id)) }
    #expect(try again.verify().isClean)
  }

  @Test("The reported length of a torn tail excludes the preallocated zeros after the tail")
  func torn() throws {
    let (store, rows) = try open()
    for id in 1...3 as ClosedRange<UInt64> { try store.write { try $0.put(value(id), id: id, in: rows) } }
    let end = try end(of: store)
    store.engine.abandon()
    let file = try fileSystem.open(Self.segment, .readWrite)
    try file.write([UInt8](repeating: 9, count: 60), at: end)
    let told = Guarded<[UInt64]>([])
    var options = options()
    options.recoveryProgress = { _, total in told.withLock { $0.append(total) } }
    let again = try Store(at: Self.path, options: options)
    #expect(again.recoveryReport.tornTailBytes == 60)
    #expect(again.recoveryReport.logBytes <= end + 60)
    #expect(told.withLock { $0.last } == again.recoveryReport.logBytes)
    #expect(again.snapshot().count(in: rows) == 3)
  }

  @Test("A reader does not treat a commit during its opening as a torn tail")
  func beside() throws {
    let (store, rows) = try open()
    for id in 1...3 as ClosedRange<UInt64> { try store.write { try $0.put(value(id), id: id, in: rows) } }
    var reading = options()
    reading.isReadOnly = true
    let last = Guarded<UInt64>(3)
    // The handler is called after the log is read.
    reading.recoveryProgress = { [self] _, _ in
      let id = last.withLock { last in
        last += 1
        return last
      }
      try store.write { try $0.put(value(id), id: id, in: rows) }
    }
    let reader = try Store(at: Self.path, options: reading)
    #expect(last.withLock { $0 } > 3 && reader.recoveryReport.tornTailBytes == 0)
    #expect(try reader.refresh())
  }

  @Test("Holes in the preallocated length do not count as bytes of the log")
  func holes() throws {
    let (store, rows) = try open(.always(upTo: 12_000))
    for id in 1...20 as ClosedRange<UInt64> { try store.write { try $0.put(value(id), id: id, in: rows) } }
    let end = try end(of: store)
    try store.close()
    let directory = try fileSystem.openDirectory(Self.path)
    let superblock = try SuperblockFile.open(in: directory, .read).current
    let chain = try SegmentChain([1], in: directory, .read, superblock, GroupCache(bytesMax: 0))
    #expect(chain.links.count == 1 && chain.links[0].size > end + 1000)
    #expect(chain.links[0].logEnd <= end)
  }

  @Test("An opening reads no hole after the log through a mapping, with or without a torn tail")
  func mappedHoles() async throws {
    await #expect(processExitsWith: .success) {
      for tornBytes in [0, 60] {
        let disk = InMemoryFileSystem()
        var options = StoreOptions()
        options.fileSystem = disk
        options.segmentCapacityBytes = 1 << 20
        options.logRoom = .always(upTo: 400_000)
        let store = try Store(at: LogRoomTests.path, options: options)
        let rows = try store.keyspace("rows", .dense)
        try store.write { transaction in
          for id in 1...100 as ClosedRange<UInt64> {
            try transaction.put([UInt8](repeating: 1, count: 2000), id: id, in: rows)
          }
        }
        let end = try store.engine.readingState { $0.end.offset }
        store.engine.abandon()
        let segment = try disk.open(LogRoomTests.segment, .readWrite)
        #expect(try segment.size() > end + 100_000)
        try segment.write([UInt8](repeating: 9, count: tornBytes), at: end)
        let holes = InaccessibleHoles(disk)
        options.fileSystem = holes
        let again = try Store(at: LogRoomTests.path, options: options)
        #expect(holes.byteCount > 100_000)
        #expect(again.recoveryReport.tornTailBytes == UInt64(tornBytes))
        #expect(again.snapshot().count(in: rows) == 100)
      }
    }
  }

  @Test("Commits continue without preallocation if space is short")
  func noLength() throws {
    let (store, rows) = try open(.always(upTo: 100))
    for id in 1...10 as ClosedRange<UInt64> {
      // The first write is that of the commit. The second write is the preallocation.
      fileSystem.inject(InjectedFailure(of: .write, nth: 2, code: .noSpace, pathContains: ".segment"))
      try store.write { try $0.put(value(id), id: id, in: rows) }
      fileSystem.removeInjectedFailures()
    }
    #expect(try size() == end(of: store))
    #expect(store.snapshot().count(in: rows) == 10)
  }

  /// A program that opens the store three times, and the states that are allowed afterwards.
  private struct Program {
    let history = CrashHistory()
    var options: StoreOptions

    func run(_ random: inout SeededGenerator, _ marker: CrashMarker) throws -> CrashOracle {
      var last: UInt64 = 0
      for _ in 0..<3 {
        let store = try Store(at: LogRoomTests.path, options: options)
        let rows = try history.define(.keyspace("rows", .dense)) { try store.keyspace("rows", .dense) }
        for _ in 0..<14 {
          let id = UInt64.random(in: 1...6, using: &random)
          let value = [UInt8](repeating: UInt8.random(in: 0...1, using: &random), count: Int(id) * 40)
          let durability: Durability = random.chance(70) ? .powerLoss : .processCrash
          let (_, sequence) = try store.write(durability: durability) { try $0.put(value, id: id, in: rows) }
          history.note(sequence, [(CrashKey(keyspace: "rows", key: .id(id)), value)])
          if durability == .powerLoss { marker.promise(Int(sequence)) }
          last = sequence
        }
        if random.chance(50) { try store.close() } else { store.engine.abandon() }
      }
      return CrashOracle(states: history.states(upTo: last))
    }

    func check(_ image: CrashImage, _ oracle: CrashOracle, promised: UInt64) throws {
      var options = options
      options.fileSystem = image.fileSystem()
      let store = try Store(at: LogRoomTests.path, options: options)
      try oracle.check(store, promised: promised)
      let rows = try store.keyspace("afterwards", .dense)
      try store.write { try $0.put([1], id: 1, in: rows) }
      store.engine.abandon()
      let again = try Store(at: LogRoomTests.path, options: options)
      guard try again.snapshot().value(id: 1, in: rows) == [1], try again.verify().isClean else {
        throw Violation("the log has no new frame")
      }
    }
  }

  @Test(
    "After a power cut during writes into preallocated length, durable commits exist and the log continues")
  func powerCuts() throws {
    let seed = SeededGenerator.seedFromEnvironment()
    var random = SeededGenerator(seed: seed)
    var options = options(.always(upTo: 700))
    options.segmentCapacityBytes = 4096
    let program = Program(options: options)
    let oracle = try program.run(&random, fileSystem.marker)
    var explorer = CrashExplorer(seed: seed)
    explorer.imagesPerOperationMax = 32
    explorer.sectorLength = 64
    let report = explorer.examine(fileSystem.journal) { image, context in
      try program.check(image, oracle, promised: UInt64(context.acknowledged.max() ?? 0))
    }
    print("with room: \(report)")
    try report.check()
    #expect(report.distinctImageCount > 200)
  }
}

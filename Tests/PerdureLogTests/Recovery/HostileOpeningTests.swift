import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#endif

/// Files that no writer creates: pipes and directories instead of files, very large segment
/// numbers, and very large lengths.
@Suite("Opening a store with hostile files")
struct HostileOpeningTests {
  private static let value = [UInt8](repeating: 7, count: 60)

  private static func options(readOnly: Bool = false) -> StoreOptions {
    var options = StoreOptions()
    options.isReadOnly = readOnly
    options.segmentCapacityBytes = 4096
    options.blobThresholdBytes = 1024
    options.checkpoints = .manual
    options.checkpoints.closeTailBytes = 0
    options.compactsAutomatically = false
    options.reserveBytes = 0
    return options
  }

  /// Creates and closes a store with several segments, a blob file and a checkpoint.
  private static func make(at path: String) throws {
    let store = try Store(at: path, options: options())
    let rows = try store.keyspace("rows", .dense)
    for id in 1...100 as ClosedRange<UInt64> {
      try store.write(durability: .relaxed) { try $0.put(value, id: id, in: rows) }
    }
    try store.write(durability: .relaxed) {
      try $0.put([UInt8](repeating: 1, count: 1500), id: 200, in: rows)
    }
    try store.close()
  }

  /// Checks all values.
  private static func read(_ store: Store) throws {
    let rows = try store.keyspace("rows", .dense)
    let snapshot = store.snapshot()
    for id in 1...100 as ClosedRange<UInt64> { #expect(try snapshot.value(id: id, in: rows) == value) }
    #expect(try snapshot.value(id: 200, in: rows)?.count == 1500)
  }

  // MARK: - Pipes and directories instead of files

  /// Replaces a file by a pipe. The test opens the pipe for writing, so that opening it for reading
  /// does not wait for a writer.
  private static func makePipe(_ path: String) throws -> Int32 {
    let fileSystem = POSIXFileSystem()
    if try fileSystem.kind(of: path) != nil { try fileSystem.remove(path) }
    try #require(mkfifo(path, 0o600) == 0)
    let descriptor = open(path, O_RDWR)
    try #require(descriptor >= 0)
    return descriptor
  }

  @Test("Opening does not wait for a pipe")
  func pipes() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("pipe")
    try #require(mkfifo(path, 0o600) == 0)
    // The alarm ends the process if the opening waits.
    await #expect(processExitsWith: .success) { [path = path as String] in
      alarm(60)
      for mode in [.read, .readWrite] as [FileMode] {
        let error = #expect(throws: FileIOError.self) { try POSIXFileSystem().open(path, mode) }
        #expect(error?.code == .notAFile)
      }
      let error = #expect(throws: FileIOError.self) {
        try POSIXFileSystem().lock(path, .exclusive, holder: "")
      }
      #expect(error?.code == .notAFile)
    }
  }

  @Test(
    "A pipe or a directory instead of a file is refused, and the error names the file",
    arguments: ["SUPERBLOCK", "LOCK", "0000000000000001.segment", "0000000000000001.blob"], [true, false])
  func places(name: String, isPipe: Bool) throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s.perdure")
    try Self.make(at: path)
    let file = path + "/" + name
    var pipe: Int32?
    if isPipe {
      pipe = try Self.makePipe(file)
    } else {
      try POSIXFileSystem().remove(file)
      try POSIXFileSystem().createDirectory(file)
    }
    defer { if let pipe { close(pipe) } }
    for readOnly in [true, false] where !(readOnly && name == "LOCK") {
      let error = #expect(throws: StoreError.self) {
        let store = try Store(at: path, options: Self.options(readOnly: readOnly))
        _ = try store.snapshot().value(id: 200, in: store.keyspace("rows", .dense))
      }
      let text = try #require(error).description
      #expect(text.contains(name), "\(text)")
      #expect(name.hasSuffix(".blob") || error?.code == .io, "\(text)")
    }
  }

  @Test(
    "If a file that the store can recreate is replaced by a pipe, the store opens", arguments: [true, false])
  func helpers(readOnly: Bool) throws {
    for name in [
      "READERS", "0000000000000001.index", "0000000000000001.reserve", "0000000000000009.blob",
      "0000000000000003.segment.tmp",
    ] {
      let directory = try TemporaryDirectory()
      let path = directory.file("s.perdure")
      try Self.make(at: path)
      let pipe = try Self.makePipe(path + "/" + name)
      defer { close(pipe) }
      let store = try Store(at: path, options: Self.options(readOnly: readOnly))
      try Self.read(store)
      #expect((store.recoveryReport.indexRebuild != nil) == name.hasSuffix(".index"))
      try store.close()
    }
  }

  // MARK: - Distant segment numbers

  private static func expectLittleMemory() {
    if let peak = ProcessMemory.bytes("VmHWM") { #expect(peak < 400 << 20, "\(peak >> 20) MiB") }
  }

  @Test("Very large segment numbers need little memory, and the store is usable up to the last number")
  func farSegment() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      alarm(300)
      let store = path + "/s.perdure"
      try Self.make(at: store)
      // A foreign file with the name of a segment.
      let name = StoreFileName.segment(FormatLimits.segmentNumberMax - 1).string
      try POSIXFileSystem().open(store + "/" + name, .create).close()
      for round in 0..<2 as Range<UInt64> {
        let writer = try Store(at: store, options: Self.options())
        let rows = try writer.keyspace("rows", .dense)
        // The log continues in the segment with the largest number, until this segment is full.
        let error = #expect(throws: StoreError.self) {
          for id in 0..<80 as Range<UInt64> {
            try writer.write(durability: .relaxed) {
              try $0.put(Self.value, id: 1000 + 100 * round + id, in: rows)
            }
          }
        }
        #expect(error?.code == .invalidArgument)
        try writer.checkpoint()
        try Self.read(writer)
        #expect(try writer.verify().findings.map(\.description) == [])
        try writer.close()
        let reader = try Store(at: store, options: Self.options(readOnly: true))
        #expect(reader.recoveryReport.indexRebuild == nil)
        try Self.read(reader)
        #expect(try reader.verify().findings.map(\.description) == [])
      }
      Self.expectLittleMemory()
    }
  }

  // MARK: - Lengths

  @Test("Files with a hole of a tebibyte need little time and memory")
  func holes() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      alarm(300)
      let store = path + "/s.perdure"
      try Self.make(at: store)
      let fileSystem = POSIXFileSystem()
      for name in [StoreFileName.index(1), .segment(1000)] {
        let mode = try fileSystem.kind(of: store + "/" + name.string) == nil ? FileMode.create : .readWrite
        try fileSystem.open(store + "/" + name.string, mode).write([1], at: 1 << 40)
      }
      for readOnly in [true, false] {
        for registers in [true, false] {
          for checks in [true, false] {
            var options = Self.options(readOnly: readOnly)
            options.registersAsReader = registers
            options.checksIndexAtOpening = checks
            let opened = try Store(at: store, options: options)
            #expect(opened.recoveryReport.indexRebuild == nil)
            try Self.read(opened)
            #expect(try opened.verify().findings.map(\.description) == [])
            if !readOnly {
              let rows = try opened.keyspace("rows", .dense)
              try opened.write(durability: .relaxed) { try $0.put([1], id: 300, in: rows) }
              try opened.checkpoint()
            }
            try opened.close()
          }
        }
      }
      _ = try Store.salvage(from: store, to: path + "/salvaged", options: Self.options())
      Self.expectLittleMemory()
    }
  }

  /// Limits the address space of this process to its current size plus half a gibibyte. Returns
  /// false if the system cannot limit it.
  private static func limitAddressSpace() -> Bool {
    #if os(Linux)
      guard let size = ProcessMemory.bytes("VmSize") else { return false }
      let length = rlim_t(size + 512 << 20)
      var limit = rlimit(rlim_cur: length, rlim_max: length)
      return setrlimit(.init(RLIMIT_AS.rawValue), &limit) == 0
    #else
      return false
    #endif
  }

  /// Makes a store whose log continues in the segment with the largest number and fills this
  /// segment.
  private static func makeFarSegment(at path: String) throws {
    try make(at: path)
    let name = StoreFileName.segment(FormatLimits.segmentNumberMax - 1).string
    try POSIXFileSystem().open(path + "/" + name, .create).close()
    let store = try Store(at: path, options: options())
    let rows = try store.keyspace("rows", .dense)
    for id in 1...100 as ClosedRange<UInt64> {
      // The writes fail when the last segment is full.
      _ = try? store.write(durability: .relaxed) { try $0.put(value, id: 1000 + id, in: rows) }
    }
    try store.close()
  }

  @Test("Without memory for hostile lengths, the log is read or the error is outOfMemory")
  func noAddressSpace() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = directory.path as String] in
      alarm(300)
      let (long, far) = (path + "/long.perdure", path + "/far.perdure")
      try Self.make(at: long)
      let fileSystem = POSIXFileSystem()
      try fileSystem.open(long + "/" + StoreFileName.index(1).string, .readWrite).write([1], at: 1 << 40)
      try Self.makeFarSegment(at: far)
      let growing = path + "/growing.perdure"
      try Self.make(at: growing)
      let name = StoreFileName.segment(FormatLimits.segmentNumberMax - 1).string
      try fileSystem.open(growing + "/" + name, .create).close()
      guard Self.limitAddressSpace() else { return }
      // The index is rebuilt from the log, for all kinds of openings.
      for (readOnly, registers) in [(true, true), (true, false), (false, true)] {
        var options = Self.options(readOnly: readOnly)
        options.registersAsReader = registers
        let store = try Store(at: long, options: options)
        #expect(store.recoveryReport.indexRebuild?.reason.contains("no memory") == true)
        try Self.read(store)
        try store.close()
      }
      // Without memory for the table of segments, the log cannot be read.
      for readOnly in [true, false] {
        let error = #expect(throws: StoreError.self) {
          try Store(at: far, options: Self.options(readOnly: readOnly))
        }
        #expect(error?.code == .io && error?.cause?.code == .outOfMemory)
      }
      // The log does not continue in the far segment. The commit is refused, and the file stays.
      let store = try Store(at: growing, options: Self.options())
      let rows = try store.keyspace("rows", .dense)
      for _ in 0..<2 {
        let error = #expect(throws: StoreError.self) {
          for id in 1...80 as ClosedRange<UInt64> {
            try store.write(durability: .relaxed) { try $0.put(Self.value, id: 1000 + id, in: rows) }
          }
        }
        #expect(error?.code == .io && error?.cause?.code == .outOfMemory)
        try Self.read(store)
      }
      try store.close()
    }
  }

  // MARK: - The superblock and the root block

  /// Changes the newest superblock and corrects its checksum.
  private static func changeSuperblock(
    of memory: CheckpointedStore, _ body: (inout Superblock) -> Void
  ) throws {
    var superblock = try memory.bytes("SUPERBLOCK").withUnsafeBytes { try Superblock.newest(in: $0) }
    body(&superblock)
    var slot = [UInt8](repeating: 0, count: Superblock.slotLength)
    slot.withUnsafeMutableBytes { superblock.write(to: $0) }
    let place = superblock.slot * Superblock.slotLength
    try memory.change("SUPERBLOCK") { $0.replaceSubrange(place..<(place + slot.count), with: slot) }
  }

  private static func memory() throws -> CheckpointedStore {
    let memory = CheckpointedStore()
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for id in 1...100 as ClosedRange<UInt64> {
      try store.write(durability: .relaxed) { try $0.put(value, id: id, in: rows) }
    }
    try store.write(durability: .relaxed) {
      try $0.put([UInt8](repeating: 1, count: 1500), id: 200, in: rows)
    }
    try store.close()
    return memory
  }

  @Test("A superblock that promises missing commits, or commits in a far segment, is corruption")
  func farPromise() throws {
    for isSequence in [true, false] {
      let memory = try Self.memory()
      try Self.changeSuperblock(of: memory) { superblock in
        if isSequence {
          superblock.durableSequence = FormatLimits.counterMax
        } else {
          superblock.durableEnd.segment = FormatLimits.segmentNumberMax
        }
      }
      for readOnly in [true, false] {
        let error = #expect(throws: StoreError.self) { try memory.open(readOnly: readOnly) }
        #expect(error?.code == .corruption)
      }
    }
  }

  @Test("A checkpoint whose root block exceeds its file is not used")
  func rootLengths() throws {
    let memory = try Self.memory()
    let superblock = try memory.bytes("SUPERBLOCK").withUnsafeBytes { try Superblock.newest(in: $0) }
    let right = try #require(superblock.checkpoint)
    for (slot, length) in [(right.rootSlot, .max), (.max, right.rootLength), (.max, .max), (1, 1 << 30)] {
      try Self.changeSuperblock(of: memory) {
        $0.checkpoint?.rootSlot = slot
        $0.checkpoint?.rootLength = length
      }
      let store = try memory.open(readOnly: true)
      #expect(store.recoveryReport.indexRebuild != nil)
      try Self.read(store)
    }
  }

  @Test("A root block with too large counts is not used, and needs no memory of that size")
  func rootCounts() throws {
    let memory = try Self.memory()
    let bytes = try memory.bytes("SUPERBLOCK")
    let superblock = try bytes.withUnsafeBytes { try Superblock.newest(in: $0) }
    let right = try #require(superblock.checkpoint)
    let (start, length) = (64 * Int(right.rootSlot), Int(right.rootLength))
    let name = StoreFileName.index(right.indexFile).string
    let block = Array(try memory.bytes(name)[start..<(start + length)])
    for (offset, width) in [(48, 4), (52, 4), (56, 8), (64, 8)] {
      let values = [UInt64(1) << 20, 1 << 31, (1 << 32) - 1, 1 << 62, .max]
      for value in values where width == 8 || value >> 32 == 0 {
        var hostile = block
        hostile.withUnsafeMutableBytes {
          if width == 8 { $0.setInteger(value, at: offset) } else { $0.setInteger(UInt32(value), at: offset) }
        }
        try memory.change(name) { $0.replaceSubrange(start..<(start + length), with: hostile) }
        let checksum = hostile.withUnsafeBytes { Checksum.crc32c($0) }
        try Self.changeSuperblock(of: memory) { $0.checkpoint?.rootChecksum = checksum }
        let store = try memory.open(readOnly: true)
        #expect(store.recoveryReport.indexRebuild != nil)
        try Self.read(store)
      }
    }
  }
}

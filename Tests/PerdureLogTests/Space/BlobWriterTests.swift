import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Values that are written in pieces")
struct BlobWriterTests {
  private static let path = "/s.perdure"
  private let fileSystem = SimulatedFileSystem(capacityBytes: 64 << 20)

  private func open(_ fileSystem: (any FileSystem)? = nil) throws -> Store {
    var options = StoreOptions()
    options.fileSystem = fileSystem ?? self.fileSystem
    options.durability = .relaxed
    options.checkpoints = .manual
    return try Store(at: Self.path, options: options)
  }

  private func blobFiles() throws -> [String] {
    try fileSystem.contents(of: Self.path).filter { $0.hasSuffix(".blob") }
  }

  private static func bytes(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    for index in stride(from: 0, to: count, by: 251) {
      bytes[index] = UInt8.random(in: 0...255, using: &random)
    }
    return bytes
  }

  /// Writes a value in pieces of random lengths.
  private static func write(
    _ value: [UInt8], to store: Store, _ random: inout SeededGenerator
  ) throws -> WrittenBlob {
    let writer = try store.makeBlobWriter()
    var start = 0
    while start < value.count {
      let longest = [1, 100, 65_536, 70_000, 600_000].randomElement(using: &random) ?? 1
      let end = min(value.count, start + Int.random(in: 0...longest, using: &random))
      try writer.append(Array(value[start..<end]))
      start = end
    }
    #expect(writer.count == UInt64(value.count))
    return try writer.finish()
  }

  @Test(
    "A value written in pieces is read whole, in pieces and in ranges, even after reopening"
  )
  func roundTrip() throws {
    var random = SeededGenerator.forTest("values in pieces")
    var store = try open()
    let (rows, texts) = (try store.keyspace("rows", .dense), try store.keyspace("texts", .bytes))
    var values: [[UInt8]] = []
    for length in [0, 1, 7, 65_535, 65_536, 65_537, 262_144, 262_145, 1_000_003] {
      let value = Self.bytes(length, &random)
      let id = UInt64(values.count)
      let (first, second) = (
        try Self.write(value, to: store, &random), try Self.write(value, to: store, &random)
      )
      try store.write {
        try $0.put(first, id: id, in: rows)
        try $0.put(second, key: [UInt8(id)], in: texts)
      }
      values.append(value)
    }
    for _ in 0..<2 {
      let snapshot = store.snapshot()
      for (number, value) in values.enumerated() {
        #expect(try snapshot.value(id: UInt64(number), in: rows) == value, "seed \(random.seed)")
        for reader in [
          try #require(try snapshot.reader(id: UInt64(number), in: rows)),
          try #require(try snapshot.reader(key: [UInt8(number)], in: texts)),
        ] {
          #expect(reader.count == UInt64(value.count))
          var whole: [UInt8] = []
          try reader.forEachPiece { piece in
            #expect(piece.byteCount <= 65_536)
            whole += piece.withUnsafeBytes { Array($0) }
            return true
          }
          #expect(whole == value, "seed \(random.seed)")
          for _ in 0..<10 {
            let lower = Int.random(in: 0...value.count, using: &random)
            let upper = Int.random(in: lower...value.count, using: &random)
            let part = try reader.bytes(in: UInt64(lower)..<UInt64(upper))
            #expect(part == Array(value[lower..<upper]), "\(lower)..<\(upper), seed \(random.seed)")
          }
        }
      }
      #expect(try store.verify().isClean)
      try store.close()
      store = try open()
    }
  }

  @Test("Short values in the log have readers, and absent keys have no reader")
  func shortValues() throws {
    let store = try open()
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([1, 2, 3, 4], id: 1, in: rows) }
    let reader = try #require(try store.snapshot().reader(id: 1, in: rows))
    #expect(try reader.count == 4 && reader.bytes(in: 1..<3) == [2, 3] && reader.bytes(in: 4..<4) == [])
    #expect(try store.snapshot().reader(id: 2, in: rows) == nil)
  }

  @Test("Undamaged parts of a damaged value are readable, and reads of the damaged part throw")
  func damage() throws {
    var random = SeededGenerator.forTest("damaged pieces")
    let store = try open()
    let rows = try store.keyspace("rows", .dense)
    let value = Self.bytes(300_000, &random)
    let blob = try Self.write(value, to: store, &random)
    try store.write { try $0.put(blob, id: 1, in: rows) }
    let path = try Self.path + "/" + #require(try blobFiles().first)
    try fileSystem.open(path, .readWrite).write([value[70_000] ^ 1], at: UInt64(BlobHeader.length) + 70_000)
    let reader = try #require(try store.snapshot().reader(id: 1, in: rows))
    #expect(try reader.bytes(in: 0..<65_536) == Array(value[..<65_536]))
    #expect(try reader.bytes(in: 131_072..<300_000) == Array(value[131_072...]))
    let error = #expect(throws: StoreError.self) { _ = try reader.bytes(in: 65_535..<65_537) }
    #expect(error?.code == .corruption)
    for offset in [0, 20, 33, 41, 60] as [UInt64] {
      let file = try fileSystem.open(path, .readWrite)
      let byte = try file.read(1, at: offset)[0]
      try file.write([byte ^ 4], at: offset)
      let error = #expect(throws: StoreError.self) { _ = try store.snapshot().reader(id: 1, in: rows) }
      #expect(error?.code == .corruption, "\(offset)")
      try file.write([byte], at: offset)
    }
    #expect(try store.snapshot().reader(id: 1, in: rows) != nil)
  }

  @Test("If a value is never committed, no file stays after its release or a crash")
  func orphans() throws {
    var random = SeededGenerator.forTest("orphans")
    let store = try open()
    let rows = try store.keyspace("rows", .dense)
    let value = Self.bytes(100_000, &random)
    do {
      let writer = try store.makeBlobWriter()
      try writer.append(value)
      #expect(try blobFiles().count == 1)
    }
    #expect(try blobFiles().isEmpty)
    do { _ = try Self.write(value, to: store, &random) }
    #expect(try blobFiles().isEmpty)
    let (left, put) = (try Self.write(value, to: store, &random), try Self.write(value, to: store, &random))
    try store.write(durability: .powerLoss) { try $0.put(put, id: 1, in: rows) }
    let image = fileSystem.currentImage.fileSystem()
    let again = try open(image)
    #expect(again.recoveryReport.orphansRemoved == 1)
    #expect(try again.snapshot().value(id: 1, in: rows) == value)
    #expect(try again.verify().isClean)
    withExtendedLifetime(left) {}
  }

  @Test("A written value can be put once, even after refused commits")
  func again() throws {
    var random = SeededGenerator.forTest("put again")
    let (store, other) = (try open(), try open(SimulatedFileSystem()))
    let rows = try store.keyspace("rows", .dense)
    let value = Self.bytes(100_000, &random)
    let blob = try Self.write(value, to: store, &random)
    func expectCode(_ code: StoreError.Code, _ body: () throws -> Void) {
      let error = #expect(throws: StoreError.self) { try body() }
      #expect(error?.code == code)
    }
    expectCode(.conflict) {
      try store.write {
        $0.require(.exists(rows, .id(5)))
        try $0.put(blob, id: 1, in: rows)
      }
    }
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try store.write {
        try $0.put(blob, id: 1, in: rows)
        throw Stop()
      }
    }
    expectCode(.invalidArgument) {
      try store.write {
        try $0.put(blob, id: 1, in: rows)
        try $0.put(blob, id: 2, in: rows)
      }
    }
    expectCode(.invalidArgument) {
      _ = try other.keyspace("rows", .dense)
      try other.write { try $0.put(blob, id: 1, in: rows) }
    }
    try store.write { try $0.put(blob, id: 1, in: rows) }
    expectCode(.invalidArgument) { try store.write { try $0.put(blob, id: 2, in: rows) } }
    #expect(try store.snapshot().value(id: 1, in: rows) == value)
    try store.write(durability: .powerLoss) { try $0.remove(id: 1, in: rows) }
    try store.write(durability: .powerLoss) { try $0.put([1], id: 2, in: rows) }
    #expect(try blobFiles().isEmpty)
  }

  @Test("Writing a value to a full disk throws and leaves no file, and the store stays usable")
  func noRoom() throws {
    let store = try open()
    let rows = try store.keyspace("rows", .dense)
    let writer = try store.makeBlobWriter()
    let error = #expect(throws: StoreError.self) {
      while true { try writer.append([UInt8](repeating: 1, count: 1 << 20)) }
    }
    #expect(error?.code == .diskFull)
    #expect(throws: StoreError.self) { try writer.append([1]) }
    #expect(throws: StoreError.self) { _ = try writer.finish() }
    #expect(try blobFiles().isEmpty)
    try store.write { try $0.put([1], id: 1, in: rows) }
  }

  @Test("After any failed call, a value in pieces is complete or absent, and the store is intact")
  func everyCall() throws {
    var random = SeededGenerator.forTest("failures in pieces")
    let value = Self.bytes(300_000, &random)
    for nth in 1...200 {
      let fileSystem = SimulatedFileSystem()
      let store = try open(fileSystem)
      let rows = try store.keyspace("rows", .dense)
      try store.sync()
      fileSystem.inject(InjectedFailure(of: nil, nth: nth))
      var isPut = false
      do {
        let blob = try Self.write(value, to: store, &random)
        try store.write(durability: .powerLoss) { try $0.put(blob, id: 1, in: rows) }
        isPut = true
      } catch let error as StoreError {
        #expect([.io, .poisoned].contains(error.code), "call \(nth): \(error)")
      }
      let hasStruck = fileSystem.injectedFailureCount > 0
      fileSystem.removeInjectedFailures()
      let again = try open(fileSystem.currentImage.fileSystem())
      let found = try again.snapshot().value(id: 1, in: rows)
      #expect(found == value || found == nil && !isPut, "call \(nth)")
      #expect(try again.verify().isClean, "call \(nth)")
      if !hasStruck { return #expect(nth > 5) }
    }
    Issue.record("more calls than expected")
  }

  @Test("A value of more than 4 GiB is rejected, and its writer stays usable")
  func tooLong() throws {
    let store = try open()
    let writer = try store.makeBlobWriter()
    try writer.append([1])
    let nowhere = UnsafeRawPointer(bitPattern: 4096)
    let bytes = UnsafeRawBufferPointer(start: nowhere, count: Int(StoreLimits.valueLengthMax))
    let error = #expect(throws: StoreError.self) { try writer.append(bytes) }
    #expect(error?.code == .invalidArgument)
    try writer.append([2])
    #expect(try writer.finish().count == 2)
  }
}

@Suite("Memory of values that are written in pieces")
struct StreamedValueMemoryTests {
  @Test("Writing and reading a value of 256 MiB uses less than 32 MiB of memory")
  func bounded() async throws {
    let directory = try TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = directory.file("s.perdure") as String] in
      let store = try Store(at: path)
      let rows = try store.keyspace("rows", .dense)
      // This first value makes the process allocate the memory that it needs for values of any
      // length.
      try Self.pass(1 << 20, through: store, rows)
      guard let before = ProcessMemory.bytes("VmHWM") else { return }
      try Self.pass(256 << 20, through: store, rows)
      let after = try #require(ProcessMemory.bytes("VmHWM"))
      #expect(after - before < 32 << 20, "\((after - before) >> 20) MiB")
      try store.close()
    }
  }

  private static func pass(_ count: UInt64, through store: Store, _ rows: Keyspace) throws {
    let writer = try store.makeBlobWriter()
    let piece = [UInt8](repeating: 7, count: 1 << 20)
    for _ in 0..<count >> 20 { try writer.append(piece) }
    let blob = try writer.finish()
    try store.write(durability: .processCrash) { try $0.put(blob, id: count, in: rows) }
    let reader = try #require(try store.snapshot().reader(id: count, in: rows))
    var length: UInt64 = 0
    try reader.forEachPiece {
      length += UInt64($0.byteCount)
      return true
    }
    #expect(length == count)
  }
}

/// `PERDURE_LONG_VALUES` names a directory on a volume with 5 GiB of free space.
@Suite("The longest value", .enabled(if: Environment.value(of: "PERDURE_LONG_VALUES") != nil))
struct LongestValueTests {
  @Test("A value of 4 GiB is written and read in pieces and in ranges")
  func longest() throws {
    let directory = try #require(Environment.value(of: "PERDURE_LONG_VALUES"))
    let path = directory + "/perdure-test-\(Environment.processID).perdure"
    let fileSystem = POSIXFileSystem()
    defer {
      for name in (try? fileSystem.contents(of: path)) ?? [] { try? fileSystem.remove(path + "/" + name) }
      try? fileSystem.remove(path)
    }
    let store = try Store(at: path)
    let rows = try store.keyspace("rows", .dense)
    let writer = try store.makeBlobWriter()
    let count = StoreLimits.valueLengthMax
    var piece = [UInt8](repeating: 0, count: 1 << 20)
    let start = Clock.nowNanoseconds()
    for number in 0..<count >> 20 {
      piece[0] = UInt8(truncatingIfNeeded: number)
      piece[1] = UInt8(truncatingIfNeeded: number >> 8)
      try writer.append(piece)
    }
    let error = #expect(throws: StoreError.self) { try writer.append([1]) }
    #expect(error?.code == .invalidArgument)
    let blob = try writer.finish()
    try store.write { try $0.put(blob, id: 1, in: rows) }
    let written = Clock.nowNanoseconds()
    let reader = try #require(try store.snapshot().reader(id: 1, in: rows))
    #expect(reader.count == count)
    #expect(try reader.bytes(in: count - (1 << 20)..<count - (1 << 20) + 3) == [255, 15, 0])
    var length: UInt64 = 0
    try reader.forEachPiece {
      length += UInt64($0.byteCount)
      return true
    }
    #expect(length == count)
    let read = Clock.nowNanoseconds()
    print("written in \((written - start) / 1_000_000) ms, read in \((read - written) / 1_000_000) ms")
    try store.close()
  }
}

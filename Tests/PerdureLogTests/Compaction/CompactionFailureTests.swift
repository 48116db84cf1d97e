import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A file system that, on request, changes a byte in the next read of a new segment.
private final class MisreadingFileSystem: ForwardingFileSystem {
  let behind: any FileSystem
  let isMisreading = Guarded(false)

  init(_ behind: any FileSystem) { self.behind = behind }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    let file = try behind.open(path, mode)
    return path.hasSuffix(".segment.tmp") ? MisreadingFile(file, isMisreading) : file
  }
}

private final class MisreadingFile: ForwardingFile {
  let behind: any File
  private let isMisreading: Guarded<Bool>

  init(_ behind: any File, _ isMisreading: Guarded<Bool>) {
    self.behind = behind
    self.isMisreading = isMisreading
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int {
    let count = try behind.read(into: buffer, at: offset)
    let isWrong = isMisreading.withLock { isWrong in
      defer { isWrong = false }
      return isWrong
    }
    if isWrong, count > 0 { buffer[count / 2] ^= 1 }
    return count
  }
}

@Suite("Compaction with failing system calls")
struct CompactionFailureTests {
  private static func options(_ fileSystem: any FileSystem) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 4096
    options.checkpoints = .manual
    options.compactsAutomatically = false
    return options
  }

  /// A store with garbage in several segments, and a checkpoint.
  private static func make(_ fileSystem: any FileSystem) throws -> Store {
    let store = try Store(at: "/s.perdure", options: options(fileSystem))
    let rows = try store.keyspace("rows", .dense)
    for round in 0..<8 as Range<UInt8> {
      for id in 0..<6 as Range<UInt64> {
        try store.write(durability: .relaxed) {
          if round == 7 && id == 3 {
            try $0.remove(id: id, in: rows)
          } else {
            try $0.put([UInt8](repeating: round, count: 300 + Int(id)), id: id, in: rows)
          }
        }
      }
    }
    try store.checkpoint()
    return store
  }

  @Test("A rewritten segment is not used if its bytes are read back wrongly, and the error names its file")
  func unreadableResult() throws {
    let fileSystem = MisreadingFileSystem(SimulatedFileSystem())
    let store = try Self.make(fileSystem)
    let content = try CrashOracle.content(of: store)
    fileSystem.isMisreading.withLock { $0 = true }
    let error = #expect(throws: StoreError.self) { try store.compact() }
    #expect(error?.code == .corruption && error?.place?.hasSuffix(".segment.tmp") == true)
    #expect(try CrashOracle.content(of: store) == content)
    try store.compact()
    #expect(try store.verify().isClean && CrashOracle.content(of: store) == content)
  }

  @Test(
    "After any failed call, the store stays usable, or it is poisoned and can be reopened without loss",
    arguments: [FileIOError.Code.mediaError, .noSpace], [false, true])
  func everyCall(_ code: FileIOError.Code, repeats: Bool) throws {
    var nth = 1
    var poisonedCount = 0
    while true {
      let fileSystem = SimulatedFileSystem()
      let store = try Self.make(fileSystem)
      let content = try CrashOracle.content(of: store)
      fileSystem.inject(InjectedFailure(of: nil, nth: nth, repeats: repeats, code: code))
      do { try store.compact() } catch let error as StoreError {
        #expect([.io, .poisoned, .diskFull].contains(error.code), "call \(nth): \(error)")
      }
      let hasStruck = fileSystem.injectedFailureCount > 0
      fileSystem.removeInjectedFailures()
      #expect(try CrashOracle.content(of: store) == content, "call \(nth)")
      let image = fileSystem.currentImage.fileSystem()
      if store.engine.gate.poison == nil {
        try store.compact()
        #expect(try CrashOracle.content(of: store) == content, "call \(nth)")
        #expect(try store.verify().isClean, "call \(nth)")
        #expect(try store.usage == store.countedUsage(), "call \(nth)")
      } else {
        poisonedCount += 1
      }
      let again = try Store(at: "/s.perdure", options: Self.options(image))
      #expect(try CrashOracle.content(of: again) == content, "call \(nth)")
      #expect(try again.verify().isClean, "call \(nth)")
      guard hasStruck else { break }
      nth += 1
    }
    #expect(nth > 20)
    #expect(poisonedCount > 0 && poisonedCount < nth)
  }

  @Test(
    "If a segment cannot be created, the store stays usable, whatever remains of the segment's file",
    arguments: [nil, 0, 64, SegmentHeader.length] as [Int?], [FileIOError.Code.noSpace, .mediaError])
  func refusedSegment(_ written: Int?, _ code: FileIOError.Code) throws {
    for staysThere in [false, true] { try refuseSegment(written, code, staysThere: staysThere) }
  }

  /// - Parameter written: The number of bytes of the header that reach the file; nil if there is no
  ///   file.
  /// - Parameter staysThere: Whether the file cannot be removed.
  private func refuseSegment(_ written: Int?, _ code: FileIOError.Code, staysThere: Bool) throws {
    let fileSystem = SimulatedFileSystem()
    let store = try Self.make(fileSystem)
    let name = try store.engine.readingState { StoreFileName.segment($0.nextSegment).string }
    fileSystem.inject(
      InjectedFailure(
        of: written == nil ? .create : .write, code: code,
        effect: written.map { .partialWrite(byteCount: $0) } ?? .nothing, pathContains: name))
    if staysThere {
      fileSystem.inject(InjectedFailure(of: .remove, code: .permissionDenied, pathContains: name))
    }
    let error = #expect(throws: StoreError.self) {
      try store.engine.inTurn { try store.engine.rollLog(&$0) }
    }
    #expect(error?.cause?.code == code && fileSystem.injectedFailureCount > 0)
    #expect(store.engine.gate.poison == nil)
    fileSystem.removeInjectedFailures()
    let rows = try store.keyspace("rows", .dense)
    for id in 0..<3 as Range<UInt64> { try store.write { try $0.put([9], id: id, in: rows) } }
    let content = try CrashOracle.content(of: store)
    let again = try Store(at: "/s.perdure", options: Self.options(fileSystem.currentImage.fileSystem()))
    #expect(try CrashOracle.content(of: again) == content)
    #expect(try again.verify().isClean)
    try store.compact()
    #expect(try CrashOracle.content(of: store) == content)
    #expect(try store.verify().isClean)
  }
}

import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Short reads of files")
struct ShortReadTests {
  private static func make(_ fileSystem: SimulatedFileSystem) throws -> [CrashKey: [UInt8]] {
    let store = try Store(at: "/s.perdure", options: options(fileSystem))
    let rows = try store.keyspace("rows", .dense)
    for id in 1...6 as ClosedRange<UInt64> {
      try store.write(durability: .powerLoss) {
        try $0.put([UInt8](repeating: 1, count: id == 3 ? 5000 : 900), id: id, in: rows)
      }
    }
    return try CrashOracle.content(of: store)
  }

  private static func options(_ fileSystem: SimulatedFileSystem) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 4096
    options.blobThresholdBytes = 2048
    options.checkpoints = .manual
    return options
  }

  @Test(
    "If reads return too few bytes, an opening throws or finds all commits, and no commit is lost",
    arguments: [0, 60, 127])
  func opening(_ byteCount: Int) throws {
    for nth in 1...12 {
      let fileSystem = SimulatedFileSystem()
      let content = try Self.make(fileSystem)
      fileSystem.inject(
        InjectedFailure(of: .read, nth: nth, repeats: true, effect: .partialRead(byteCount: byteCount)))
      do {
        let store = try Store(at: "/s.perdure", options: Self.options(fileSystem))
        #expect(store.snapshot().sequence == 7, "read \(nth)")
      } catch let error as StoreError {
        #expect([.io, .corruption].contains(error.code), "read \(nth): \(error)")
      }
      fileSystem.removeInjectedFailures()
      let again = try Store(at: "/s.perdure", options: Self.options(fileSystem))
      #expect(try CrashOracle.content(of: again) == content, "read \(nth)")
    }
  }

  @Test("A read that receives its bytes in pieces returns all bytes")
  func pieces() throws {
    let fileSystem = SimulatedFileSystem()
    let file = try fileSystem.open("/a", .create)
    try file.write(Array(0..<200), at: 0)
    fileSystem.inject(InjectedFailure(of: .read, effect: .partialRead(byteCount: 7)))
    #expect(try file.read(200, at: 0) == Array(0..<200))
    fileSystem.inject(InjectedFailure(of: .read, repeats: true, effect: .partialRead(byteCount: 7)))
    let error = #expect(throws: FileIOError.self) { try file.read(200, at: 0) }
    #expect(error?.code == .mediaError && error?.offset == 199)
    fileSystem.removeInjectedFailures()
    #expect(try file.read(300, at: 150) == Array(150..<200))
    #expect(try file.read(10, at: 900) == [])
  }

  @Test("If reads fail during a salvage, the report of an incomplete copy is not clean")
  func salvage() throws {
    var nth = 1
    var incomplete = 0
    while true {
      let fileSystem = SimulatedFileSystem()
      let content = try Self.make(fileSystem)
      fileSystem.inject(InjectedFailure(of: .read, nth: nth, repeats: true))
      do {
        let report = try Store.salvage(
          from: "/s.perdure", to: "/salvaged", options: Self.options(fileSystem))
        let hasStruck = fileSystem.injectedFailureCount > 0
        fileSystem.removeInjectedFailures()
        let copy = try Store(at: "/salvaged", options: Self.options(fileSystem))
        let isWhole = try CrashOracle.content(of: copy) == content
        #expect(isWhole || !report.isClean, "read \(nth)")
        incomplete += isWhole ? 0 : 1
        if !hasStruck { break }
      } catch let error as StoreError {
        #expect([.io, .corruption].contains(error.code), "read \(nth): \(error)")
      }
      nth += 1
    }
    #expect(incomplete > 0)
  }
}

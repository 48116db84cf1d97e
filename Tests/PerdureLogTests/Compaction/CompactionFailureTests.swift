import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("When the system fails under a compaction")
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
  private static func make(_ fileSystem: SimulatedFileSystem) throws -> Store {
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

  @Test(
    "Whichever call fails, nothing is lost; the store goes on, or says that it cannot and is whole when opened",
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
}

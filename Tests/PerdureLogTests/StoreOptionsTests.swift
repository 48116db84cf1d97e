import PerdureFileIO
import Testing

@testable import PerdureLog

@Suite("Options of a store")
struct StoreOptionsTests {
  private func opens(_ change: (inout StoreOptions) -> Void) throws -> Bool {
    let fileSystem = InMemoryFileSystem()
    var options = StoreOptions()
    options.fileSystem = fileSystem
    change(&options)
    do {
      try Store(at: "/store", options: options).close()
      return true
    } catch let error as StoreError {
      #expect(error.code == .invalidArgument)
      #expect(try fileSystem.kind(of: "/store") == nil, "no store was created")
      return false
    }
  }

  @Test("An empty path and a missing folder throw errors with a remedy")
  func paths() throws {
    var options = StoreOptions()
    options.fileSystem = InMemoryFileSystem()
    func error(at path: String) -> StoreError? {
      #expect(throws: StoreError.self) { try Store(at: path, options: options) }
    }
    for isReadOnly in [false, true] {
      options.isReadOnly = isReadOnly
      #expect(error(at: "")?.code == .invalidArgument)
      #expect(error(at: "")?.message.contains("path of the store is empty") == true)
    }
    options.isReadOnly = false
    let missing = error(at: "/no/folder/store.perdure")
    #expect(missing?.code == .io && missing?.cause?.code == .notFound)
    #expect(missing?.place == "/no/folder/store.perdure")
    #expect(missing?.message.contains("The folder for the new store does not exist") == true)
  }

  @Test("The defaults and both limits of each option open a store")
  func ends() throws {
    #expect(try opens { _ in })
    for capacity in [4096, 256 << 20] { #expect(try opens { $0.segmentCapacityBytes = capacity }) }
    for reserve in [0, 128 << 10, 512 << 20] { #expect(try opens { $0.reserveBytes = reserve }) }
    for length in [2 << 20, .max] { #expect(try opens { $0.batchBytesMax = length }) }
    for threshold in [1024, 1 << 20] { #expect(try opens { $0.blobThresholdBytes = threshold }) }
    for ratio in [0.05, 0.9] { #expect(try opens { $0.compactionGarbageRatio = ratio }) }
    for speed in [1 << 20, .max] { #expect(try opens { $0.compactionBytesPerSecond = speed }) }
  }

  @Test("Both limits of each checkpoint and compression option open a store")
  func endsOfParts() throws {
    for length in [4096, .max] {
      #expect(try opens { $0.checkpoints.tailBytes = length })
      #expect(try opens { $0.checkpoints.idleTailBytes = length })
    }
    for length in [0, .max] { #expect(try opens { $0.checkpoints.closeTailBytes = length }) }
    for seconds in [0.01, 3600] { #expect(try opens { $0.checkpoints.idleSeconds = seconds }) }
    for length in [16, 1 << 20] { #expect(try opens { $0.compression.valueBytesMin = length }) }
    for length in [1024, 65_535] { #expect(try opens { $0.compression.dictionaryBytes = length }) }
    for length in [0, 1 << 30] { #expect(try opens { $0.compression.groupCacheBytes = length }) }
  }

  @Test("Options out of range are rejected before any file is created")
  func outOfRange() throws {
    for capacity in [Int.min, 0, 4088, 4100, (256 << 20) + 8, .max] {
      #expect(try !opens { $0.segmentCapacityBytes = capacity }, "\(capacity)")
    }
    for reserve in [Int.min, -1, 1, (128 << 10) - 1, (512 << 20) + 1, .max] {
      #expect(try !opens { $0.reserveBytes = reserve }, "\(reserve)")
    }
    for length in [Int.min, 0, (2 << 20) - 1] {
      #expect(try !opens { $0.batchBytesMax = length }, "\(length)")
    }
    for threshold in [Int.min, 0, 1023, (1 << 20) + 1, .max] {
      #expect(try !opens { $0.blobThresholdBytes = threshold }, "\(threshold)")
    }
    for ratio in [-.infinity, -1, 0, 0.049, 0.901, 1, .infinity, .nan] {
      #expect(try !opens { $0.compactionGarbageRatio = ratio }, "\(ratio)")
    }
    for speed in [Int.min, 0, (1 << 20) - 1] {
      #expect(try !opens { $0.compactionBytesPerSecond = speed }, "\(speed)")
    }
  }

  @Test("Checkpoint and compression options out of range are rejected before any file is created")
  func partsOutOfRange() throws {
    for length in [Int.min, -1, 0, 4095] {
      #expect(try !opens { $0.checkpoints.tailBytes = length }, "\(length)")
      #expect(try !opens { $0.checkpoints.idleTailBytes = length }, "\(length)")
    }
    for length in [Int.min, -1] {
      #expect(try !opens { $0.checkpoints.closeTailBytes = length }, "\(length)")
    }
    for seconds in [-.infinity, -1, 0, 0.009, 3601, .infinity, .nan] {
      #expect(try !opens { $0.checkpoints.idleSeconds = seconds }, "\(seconds)")
    }
    for length in [Int.min, 0, 15, (1 << 20) + 1, .max] {
      #expect(try !opens { $0.compression.valueBytesMin = length }, "\(length)")
    }
    for length in [Int.min, 0, 1023, 65_536, .max] {
      #expect(try !opens { $0.compression.dictionaryBytes = length }, "\(length)")
    }
    for length in [Int.min, -1, (1 << 30) + 1, .max] {
      #expect(try !opens { $0.compression.groupCacheBytes = length }, "\(length)")
    }
  }

  @Test("A transaction accepts 1 to 1,000 attempts, and rejects other numbers before it runs")
  func attempts() throws {
    var options = StoreOptions()
    options.fileSystem = InMemoryFileSystem()
    let store = try Store(at: "/store", options: options)
    var runs = 0
    for attempts in [1, 1000] { try store.transaction(attemptsMax: attempts) { _ in runs += 1 } }
    for attempts in [Int.min, -1, 0, 1001, .max] {
      let error = #expect(throws: StoreError.self) {
        try store.transaction(attemptsMax: attempts) { _ in runs += 1 }
      }
      #expect(error?.code == .invalidArgument, "\(attempts)")
    }
    #expect(runs == 2)
  }
}

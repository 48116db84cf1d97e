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
      #expect(try fileSystem.kind(of: "/store") == nil, "nothing was made")
      return false
    }
  }

  @Test("The defaults open a store, and so does each end of each range")
  func ends() throws {
    #expect(try opens { _ in })
    for capacity in [4096, 256 << 20] { #expect(try opens { $0.segmentCapacityBytes = capacity }) }
    for reserve in [0, 128 << 10, 512 << 20] { #expect(try opens { $0.reserveBytes = reserve }) }
    for length in [2 << 20, .max] { #expect(try opens { $0.batchBytesMax = length }) }
    for threshold in [1024, 1 << 20] { #expect(try opens { $0.blobThresholdBytes = threshold }) }
  }

  @Test("What is out of range is refused before a file is touched")
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
  }
}

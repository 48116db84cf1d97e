import PerdureFileIO
import PerdureTestSupport
import Synchronization
import Testing

@testable import PerdureLog

@Suite("Progress of an opening")
struct RecoveryProgressTests {
  /// Records the progress of an opening, and throws after a given number of calls.
  private final class Listener: Sendable {
    struct Enough: Error {}

    private let calls = Mutex<[[UInt64]]>([])
    private let callsMax: Int

    init(callsMax: Int = .max) { self.callsMax = callsMax }

    var all: [[UInt64]] { calls.withLock { $0 } }

    func hear(_ done: UInt64, _ total: UInt64) throws {
      let count = calls.withLock { calls in
        calls.append([done, total])
        return calls.count
      }
      if count >= callsMax { throw Enough() }
    }
  }

  private static let path = "/s.perdure"
  private static let valueLength = 100 << 10
  private static let count: UInt64 = 40

  private let fileSystem = InMemoryFileSystem()
  private var options: StoreOptions

  /// Creates four megabytes of log in several segments, and does not close the store.
  init() throws {
    options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 1 << 20
    options.checkpoints = .manual
    options.compactsAutomatically = false
    let store = try Store(at: Self.path, options: options)
    let pages = try store.keyspace("pages", .dense)
    for id in 1...Self.count {
      try store.write(durability: .relaxed) {
        try $0.put([UInt8](repeating: UInt8(id), count: Self.valueLength), id: id, in: pages)
      }
    }
  }

  private func open(_ listener: Listener, readOnly: Bool = false) throws -> Store {
    var options = options
    options.isReadOnly = readOnly
    options.recoveryProgress = { try listener.hear($0, $1) }
    return try Store(at: Self.path, options: options)
  }

  @Test(
    "Progress is reported about once per mebibyte, increases, and ends with the total",
    arguments: [false, true])
  func told(readOnly: Bool) throws {
    let listener = Listener()
    let store = try open(listener, readOnly: readOnly)
    let calls = listener.all
    let total = try #require(calls.last)[1]
    #expect(total == store.recoveryReport.logBytes)
    #expect(calls.last == [total, total])
    #expect(calls.allSatisfy { $0[1] == total })
    #expect(zip(calls, calls.dropFirst()).allSatisfy { $0[0] <= $1[0] })
    #expect((3...Int(total >> 20) + 1).contains(calls.count))
    try store.close()
  }

  @Test("A new store reports no progress")
  func new() throws {
    let listener = Listener()
    var options = options
    options.recoveryProgress = { try listener.hear($0, $1) }
    try Store(at: "/new.perdure", options: options).close()
    #expect(listener.all.isEmpty)
  }

  @Test("An error of the progress handler cancels the opening and leaves segments and SUPERBLOCK unchanged")
  func givenUp() throws {
    let before = try fileSystem.files(in: Self.path)
    for readOnly in [false, true] {
      for callsMax in [1, 3] {
        let listener = Listener(callsMax: callsMax)
        #expect(throws: Listener.Enough.self) { try open(listener, readOnly: readOnly) }
        #expect(listener.all.count == callsMax)
        let after = try fileSystem.files(in: Self.path)
        for (name, bytes) in after where name.hasSuffix(".segment") || name == "SUPERBLOCK" {
          #expect(before[name] == bytes)
        }
      }
    }
    let store = try open(Listener())
    let pages = try store.keyspace("pages", .dense)
    #expect(store.snapshot().count(in: pages) == Int(Self.count))
    try store.close()
  }
}

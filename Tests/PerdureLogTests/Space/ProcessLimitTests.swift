import PerdureFileIO
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

/// Limits that the system sets for a process. Each test runs in its own process, because a limit
/// applies to the whole process.
@Suite("Limits of the process")
struct ProcessLimitTests {
  private enum Limit {
    case fileLength, files

    func set(_ value: UInt) {
      #if canImport(Glibc)
        let resource =
          self == .fileLength
          ? __rlimit_resource_t(RLIMIT_FSIZE.rawValue) : __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
      #else
        let resource = self == .fileLength ? RLIMIT_FSIZE : RLIMIT_NOFILE
      #endif
      var limit = rlimit()
      getrlimit(resource, &limit)
      limit.rlim_cur = min(rlim_t(value), limit.rlim_max)
      setrlimit(resource, &limit)
    }
  }

  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.compactsAutomatically = false
    options.reserveBytes = 0
    return options
  }

  private struct Wrong: Error {}

  private static func expect(_ isTrue: Bool, _ what: @autoclosure () -> String) throws {
    if isTrue { return }
    print(what())
    throw Wrong()
  }

  private static func refusal(_ body: () throws -> Void) throws -> StoreError {
    do { try body() } catch let error as StoreError { return error }
    print("it was not refused")
    throw Wrong()
  }

  @Test("At the file length limit, a commit throws an error with a code, and the store stays usable")
  func fileLength() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [path = directory.file("s.perdure") as String] in
      Limit.fileLength.set(4 << 20)
      let store = try Store(at: path, options: Self.options())
      let rows = try store.keyspace("rows", .dense)
      var (count, refused) = (0 as UInt64, 0)
      while count < 1500 {
        do {
          try store.write(durability: .processCrash) {
            try $0.put([UInt8](repeating: 1, count: 10_000), id: count, in: rows)
          }
          count += 1
        } catch let error as StoreError {
          // The log continues in another segment.
          try Self.expect(error.cause?.code == .fileTooLarge, "\(error)")
          refused += 1
        }
      }
      try Self.expect((1...8).contains(refused), "\(refused) commits were refused")
      try store.close()
      let again = try Store(at: path, options: Self.options())
      try Self.expect(again.snapshot().count(in: rows) == 1500, "rows are lost")
      try Self.expect(try again.verify().isClean, "the store is damaged")
    }
  }

  @Test("Long values, checkpoints and reserves respect the limit of file lengths")
  func longValue() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [path = directory.file("s.perdure") as String] in
      let store = try Store(at: path, options: Self.options())
      let rows = try store.keyspace("rows", .dense)
      Limit.fileLength.set(3 << 20)
      let error = try Self.refusal {
        try store.write { try $0.put([UInt8](repeating: 1, count: 5 << 20), id: 1, in: rows) }
      }
      try Self.expect(error.cause?.code == .fileTooLarge, "\(error)")
      let file = try POSIXFileSystem().open(path + ".other", .create)
      do {
        try file.allocate(8 << 20)
        throw Wrong()
      } catch let error as FileIOError { try Self.expect(error.code == .fileTooLarge, "\(error)") }
      try store.checkpoint()
      try store.write { try $0.put([1], id: 2, in: rows) }
      Limit.fileLength.set(1 << 30)
      try store.write { try $0.put([UInt8](repeating: 1, count: 5 << 20), id: 1, in: rows) }
      try Self.expect(try store.verify().isClean, "the store is damaged")
      try store.close()
    }
  }

  @Test("With few free descriptors, each call succeeds or throws; with more descriptors, it succeeds")
  func files() async throws {
    let directory = try TemporaryDirectory()
    defer { withExtendedLifetime(directory) {} }
    await #expect(processExitsWith: .success) { [folder = directory.path as String] in
      Limit.files.set(120)
      var refused: Set<String> = []
      for (name, call) in Self.calls {
        for spare in 0...4 {
          let path = "\(folder)/\(name) \(spare).perdure"
          var options = Self.options()
          options.segmentCapacityBytes = 64 << 10
          options.blobThresholdBytes = 4096
          let store = try Store(at: path, options: options)
          let rows = try store.keyspace("rows", .dense)
          for id in 0..<150 as Range<UInt64> {
            try store.write(durability: .processCrash) {
              try $0.put([UInt8](repeating: 1, count: id % 25 == 0 ? 6000 : 900), id: id % 90, in: rows)
            }
          }
          try store.sync()
          var held: [any File] = []
          while let file = try? POSIXFileSystem().open("\(path)/SUPERBLOCK", .read) { held.append(file) }
          held.removeLast(spare)
          do { try call(store, rows) } catch let error as StoreError {
            try Self.expect(error.code == .io && error.cause?.code == .tooManyOpenFiles, "\(name): \(error)")
            if spare == 0 { refused.insert(name) }
          }
          held = []
          do {
            try call(store, rows)
            let usable = name == "close" ? try Store(at: path, options: options) : store
            try usable.write { try $0.put([7], id: 7, in: rows) }
            try usable.compact()
            try usable.checkpoint()
            let report = try usable.verify()
            try Self.expect(report.isClean, "\(name), \(spare) left: \(report.findings)")
            try usable.close()
          } catch { try Self.expect(false, "\(name), \(spare) left, then more: \(error)") }
        }
      }
      let needing: Set = ["segment", "long value", "blob writer", "compact", "checkpoint", "verify"]
      try Self.expect(
        refused.isSuperset(of: needing), "without a descriptor, only these were refused: \(refused.sorted())")
    }
  }

  private typealias Call = @Sendable (Store, Keyspace) throws -> Void

  private static let calls: [(String, Call)] = [
    ("write", { store, rows in try store.write { try $0.put([1], id: 1, in: rows) } }),
    (
      "segment",
      { store, rows in
        for id in 0..<90 as Range<UInt64> {
          try store.write { try $0.put([UInt8](repeating: 2, count: 900), id: id, in: rows) }
        }
      }
    ),
    (
      "long value",
      { store, rows in try store.write { try $0.put([UInt8](repeating: 2, count: 9000), id: 1, in: rows) } }
    ),
    (
      "blob writer",
      { store, rows in
        let writer = try store.makeBlobWriter()
        try writer.append([UInt8](repeating: 2, count: 9000))
        let blob = try writer.finish()
        try store.write { try $0.put(blob, id: 1, in: rows) }
      }
    ),
    (
      "remove long values",
      { store, rows in
        try store.write { transaction in
          for id in [0, 10, 25, 35, 50, 75] as [UInt64] { try transaction.remove(id: id, in: rows) }
        }
      }
    ),
    ("close", { store, _ in try store.close() }),
    ("compact", { store, _ in try store.compact() }),
    ("checkpoint", { store, _ in try store.checkpoint() }),
    ("keyspace", { store, _ in _ = try store.keyspace("other", .dense) }),
    ("reader", { store, rows in _ = try store.snapshot().reader(id: 0, in: rows)?.bytes(in: 0..<10) }),
    ("read", { store, rows in _ = try store.snapshot().value(id: 0, in: rows) }),
    ("readers", { store, _ in _ = try store.readers }),
    (
      "verify",
      { store, _ in
        let report = try store.verify()
        guard report.isClean else {
          print(report.findings)
          throw Wrong()
        }
      }
    ),
  ]
}

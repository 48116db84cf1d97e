import PerdureTestSupport
import Testing

@testable import PerdureFileIO
@testable import PerdureLog

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("Stores and the working directory")
struct WorkingDirectoryTests {
  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.segmentCapacityBytes = 4096
    options.reserveBytes = 0
    options.compactsAutomatically = false
    options.durability = .processCrash
    return options
  }

  private static func put(_ ids: ClosedRange<UInt64>, into store: Store) throws {
    let rows = try store.keyspace("rows", .dense)
    for id in ids { try store.write { try $0.put([UInt8](repeating: 7, count: 900), id: id, in: rows) } }
  }

  private static func fill(_ path: String, _ ids: ClosedRange<UInt64>) throws {
    let store = try Store(at: path, options: options())
    try put(ids, into: store)
    try store.close()
  }

  private static func count(_ path: String) throws -> Int {
    var options = options()
    options.createsIfMissing = false
    let store = try Store(at: path, options: options)
    guard try store.verify().isClean else { return -1 }
    let count = Int(store.snapshot().count(in: try store.keyspace("rows", .dense)))
    try store.close()
    return count
  }

  // Uses a child process, because all tests of a process share its working directory.
  @Test("A store opened by a relative path stays usable when the working directory changes")
  func relativePath() async throws {
    let (here, there) = try (TemporaryDirectory(), TemporaryDirectory())
    await #expect(processExitsWith: .success) { [here = here.path as String, there = there.path as String] in
      for path in [here, there] { try Self.fill(path + "/s", 1...10) }
      guard chdir(here) == 0 else { exit(2) }
      let store = try Store(at: "s", options: Self.options())
      guard chdir(there) == 0 else { exit(3) }
      // Enough rows to create new segments.
      try Self.put(11...60, into: store)
      try store.close()
      guard try Self.count(here + "/s") == 60 else { exit(4) }
      guard try Self.count(there + "/s") == 10, try Self.count("s//") == 10 else { exit(5) }
      // New files of this store stay in its directory.
      let new = try Store(at: "new/", options: Self.options())
      guard chdir(here) == 0, try POSIXFileSystem().kind(of: "new") == nil else { exit(6) }
      try Self.put(1...20, into: new)
      try new.close()
      guard try Self.count(there + "/new") == 20 else { exit(7) }
    }
  }

  @Test("If a lock's file is removed before it is locked, the file at the path is locked instead")
  func lockOfARemovedFile() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/LOCK"
    let files = POSIXFileSystem()
    // The holder removes the file after another opening has opened it, and before that opening
    // locks it. Then a third process may create the file again and lock it.
    for isTaken in [true, false] {
      var lock: (any FileLock)? = try files.lock(path, .exclusive, holder: "the destroyer")
      var third: (any FileLock)?
      var step = 0
      var refusal: FileIOError.Code?
      do throws(FileIOError) {
        let mine = try POSIXFileLock(POSIXPlace(path), .exclusive, holder: "the late one") {
          step += 1
          guard step == 1 else { return }
          try? files.remove(path)
          lock?.release()
          lock = nil
          if isTaken { third = try? files.lock(path, .exclusive, holder: "the third") }
        }
        #expect(throws: FileIOError.self) { _ = try files.lock(path, .exclusive, holder: "a fourth") }
        mine.release()
      } catch {
        refusal = error.code
      }
      #expect(step == 2 && refusal == (isTaken ? .locked : nil))
      third?.release()
    }
  }

  @Test("If a store is opened while it is being destroyed, the opening succeeds or throws .locked")
  func destroyedMeanwhile() throws {
    let files = InMemoryFileSystem()
    var options = Self.options()
    // Another process destroys the store before one of the opening's steps.
    for step in 1...40 {
      options.fileSystem = files
      try Store(at: "/s", options: options).close()
      let stepping = InterferingFileSystem(files, at: step) {
        var options = Self.options()
        options.fileSystem = files
        try? Store.destroy(at: "/s", options: options)
      }
      options.fileSystem = stepping
      do {
        try Store(at: "/s", options: options).close()
      } catch let error as StoreError {
        #expect(error.code == .locked, "step \(step): \(error)")
      }
    }
  }
}

/// Runs a closure before the call with the given number.
private final class InterferingFileSystem: ForwardingFileSystem {
  let behind: any FileSystem
  private let step: Guarded<Int>
  private let body: @Sendable () -> Void

  init(_ behind: any FileSystem, at step: Int, _ body: @escaping @Sendable () -> Void) {
    self.behind = behind
    self.step = Guarded(step)
    self.body = body
  }

  private func pass() {
    let isNow = step.withLock { step in
      step -= 1
      return step == 0
    }
    if isNow { body() }
  }

  func createDirectory(_ path: String) throws(FileIOError) {
    pass()
    try behind.createDirectory(path)
  }

  func contents(of directory: String) throws(FileIOError) -> [String] {
    pass()
    return try behind.contents(of: directory)
  }

  func kind(of path: String) throws(FileIOError) -> FileKind? {
    pass()
    return try behind.kind(of: path)
  }

  func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    pass()
    return try behind.lock(path, kind, holder: holder)
  }
}

import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A file system that imitates a concurrent opening: before a rename to the store's path, it
/// creates and locks the directory there. It does this for a given number of such renames.
private final class OpeningBeforeRename: ForwardingFileSystem {
  let behind: any FileSystem
  private let remaining: Guarded<Int>
  /// The lock that the imitated opening has until the next attempt to acquire a lock.
  private let held = Guarded<(any FileLock)?>(nil)

  init(_ behind: any FileSystem, times: Int) { (self.behind, remaining) = (behind, Guarded(times)) }

  /// Whether all openings were imitated.
  var isDone: Bool { remaining.withLock { $0 == 0 } }

  func rename(_ source: String, to destination: String) throws(FileIOError) {
    let isDue = remaining.withLock { remaining in
      guard destination == "/s", remaining > 0 else { return false }
      remaining -= 1
      return true
    }
    if isDue {
      if try behind.kind(of: destination) == nil { try behind.createDirectory(destination) }
      let lock = try behind.writerLock(ofStore: destination)
      held.withLock { $0 = lock }
    }
    try behind.rename(source, to: destination)
  }

  func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    defer {
      held.withLock { lock in
        lock.map { $0.release() }; lock = nil
      }
    }
    return try behind.lock(path, kind, holder: holder)
  }
}

@Suite("Replacing a store")
struct ReplacementTests {
  private func options(_ fileSystem: any FileSystem) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    return options
  }

  private func make(_ path: String, _ value: UInt8, _ fileSystem: any FileSystem) throws {
    let store = try Store(at: path, options: options(fileSystem))
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([value], id: 1, in: rows) }
    try store.close()
  }

  private func value(at path: String, _ fileSystem: any FileSystem) throws -> [UInt8]? {
    let store = try Store(at: path, options: options(fileSystem))
    defer { try? store.close() }
    return try store.snapshot().value(id: 1, in: store.keyspace("rows", .dense))
  }

  @Test(
    "If a replacement or copy of store a.copy was killed, opening store a does not affect a.copy",
    arguments: ["replace", "copy", "backup"])
  func namedAsADraft(operation: String) throws {
    let disk = SimulatedFileSystem()
    try make("/source", 7, disk)
    if operation == "replace" { try make("/a.copy", 3, disk) }
    let begin = disk.journal.operationCount
    switch operation {
    case "replace": try Store.replace("/a.copy", with: "/source", options: options(disk))
    case "copy": try Store.copy(at: "/source", to: "/a.copy", options: options(disk))
    default:
      let store = try Store(at: "/source", options: options(disk))
      try store.backup(to: "/a.copy")
      try store.close()
    }
    var explorer = CrashExplorer(seed: 1)
    explorer.imagesPerOperationMax = 3
    var marked = 0
    for step in begin...disk.journal.operationCount {
      for image in explorer.images(of: disk.journal, after: step) {
        let state = image.fileSystem()
        guard try state.kind(of: "/a.copy/SUPERBLOCK") != nil else { continue }
        marked += try state.kind(of: "/a.copy/COPY.tmp") == nil ? 0 : 1
        try make("/a", 5, state)
        let copying = #expect(throws: StoreError.self) {
          try Store.destroy(at: "/a", options: options(state))
          try Store.copy(at: "/source", to: "/a", options: options(state))
        }
        #expect(copying?.code == .invalidArgument)
        let found = try value(at: "/a.copy", state)
        #expect(found == [7] || operation == "replace" && found == [3], "after \(step)")
      }
    }
    #expect(marked > 0)
  }

  @Test("An empty mark file, as earlier versions wrote it, still marks a draft")
  func emptyMark() throws {
    let disk = InMemoryFileSystem()
    try make("/s.copy", 7, disk)
    try disk.markAsReplacement("/s.copy")
    #expect(try value(at: "/s", disk) == [7])
    #expect(try disk.contents(of: "/") == ["s"])
  }

  @Test("A replacement succeeds while openings create the directory of its path", arguments: [1, 3])
  func openings(times: Int) throws {
    let disk = InMemoryFileSystem()
    try make("/s", 3, disk)
    try make("/source", 7, disk)
    let opening = OpeningBeforeRename(disk, times: times)
    try Store.replace("/s", with: "/source", options: options(opening))
    #expect(opening.isDone)
    #expect(try value(at: "/s", disk) == [7])
    #expect(try disk.contents(of: "/") == ["s", "source"])
  }

  @Test("A user's file in the directory makes a replacement throw, and nothing is lost")
  func foreignFile() throws {
    let disk = InMemoryFileSystem()
    try make("/s.copy", 7, disk)
    try disk.markAsReplacement("/s.copy")
    try disk.createDirectory("/s")
    try disk.open("/s/note", .create).close()
    let error = #expect(throws: StoreError.self) { try Store(at: "/s", options: options(disk)) }
    #expect((error?.cause as? FileIOError)?.code == .directoryNotEmpty)
    try disk.remove("/s/note")
    #expect(try value(at: "/s", disk) == [7])
  }

  @Test("A restore from a path with an unfinished replacement first completes the replacement")
  func restoreOfPending() throws {
    let disk = InMemoryFileSystem()
    try make("/s.copy", 7, disk)
    try disk.markAsReplacement("/s.copy")
    try Store.restore(from: "/s", to: "/restored", options: options(disk))
    #expect(try value(at: "/restored", disk) == [7])
    #expect(try value(at: "/s", disk) == [7])
  }

  @Test("A file with the name of a draft makes copying throw, and openings ignore this file")
  func fileInTheWay() throws {
    let disk = InMemoryFileSystem()
    try make("/source", 7, disk)
    try disk.open("/s.copy", .create).close()
    for operation in [
      { try Store.copy(at: "/source", to: "/s", options: options(disk)) },
      { try Store.replace("/s", with: "/source", options: options(disk)) },
    ] {
      let error = #expect(throws: StoreError.self) { try operation() }
      #expect(error?.code == .invalidArgument && error?.place?.contains("/s.copy") == true)
    }
    try make("/s", 5, disk)
    #expect(try value(at: "/s", disk) == [5])
    #expect(try disk.kind(of: "/s.copy") == .file)
  }
}

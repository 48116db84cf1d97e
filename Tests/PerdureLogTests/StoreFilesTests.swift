import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Copying and destroying whole stores")
struct StoreFilesTests {
  private func options(_ fileSystem: any FileSystem) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 4096
    options.reserveBytes = 0
    return options
  }

  private static let ids = UInt64(1)...40

  private static func value(_ id: UInt64) -> [UInt8] { [UInt8](repeating: UInt8(id), count: 300) }

  /// Makes a store of several segments.
  private func fill(_ path: String, _ fileSystem: any FileSystem, ids: ClosedRange<UInt64> = Self.ids) throws
  {
    let store = try Store(at: path, options: options(fileSystem))
    let rows = try store.keyspace("rows", .dense)
    for id in ids { try store.write { try $0.put(Self.value(id), id: id, in: rows) } }
    try store.close()
  }

  /// Checks a store's values and returns their number; nil if the opening throws `notAStore` or
  /// `corruption`.
  private func count(_ path: String, _ fileSystem: any FileSystem) throws -> Int? {
    var options = options(fileSystem)
    options.createsIfMissing = false
    let store: Store
    do { store = try Store(at: path, options: options) } catch let error as StoreError {
      guard [.notAStore, .corruption].contains(error.code) else { throw error }
      return nil
    }
    let rows = try store.keyspace("rows", .dense)
    let snapshot = store.snapshot()
    for id in Self.ids {
      let value = try snapshot.value(id: id, in: rows)
      #expect(value == nil || value == Self.value(id))
    }
    #expect(try store.verify().isClean)
    let count = snapshot.count(in: rows)
    try store.close()
    return Int(count)
  }

  @Test("A copy has the store's content and identity, and later changes are independent")
  func copies() throws {
    let disk = InMemoryFileSystem()
    try fill("/a", disk)
    try Store.copy(at: "/a", to: "/b", options: options(disk))
    #expect(try disk.contents(of: "/").filter { $0 != "a" } == ["b"])
    let (first, second) = try (
      Store(at: "/a", options: options(disk)), Store(at: "/b", options: options(disk))
    )
    #expect(first.identifier == second.identifier)
    let rows = try second.keyspace("rows", .dense)
    try second.write { try $0.remove(id: 1, in: rows) }
    try first.close()
    try second.close()
    #expect(try count("/a", disk) == 40 && count("/b", disk) == 39)
  }

  @Test(
    "A copy includes long values, and accepts an empty directory and paths with trailing slashes"
  )
  func longValues() throws {
    let disk = InMemoryFileSystem()
    let store = try Store(at: "/a", options: options(disk))
    let rows = try store.keyspace("rows", .dense)
    let long = [UInt8](repeating: 7, count: 3 << 20)
    try store.write { try $0.put(long, id: 1, in: rows) }
    try store.close()
    try disk.createDirectory("/b")
    try Store.copy(at: "/a/", to: "/b/", options: options(disk))
    let copy = try Store(at: "/b", options: options(disk))
    #expect(try copy.snapshot().value(id: 1, in: copy.keyspace("rows", .dense)) == long)
    try copy.close()
  }

  @Test("A store that is open for writing is neither copied nor destroyed")
  func locked() throws {
    let disk = InMemoryFileSystem()
    try fill("/a", disk)
    let store = try Store(at: "/a", options: options(disk))
    let copying = #expect(throws: StoreError.self) {
      try Store.copy(at: "/a", to: "/b", options: options(disk))
    }
    let destroying = #expect(throws: StoreError.self) {
      try Store.destroy(at: "/a", options: options(disk))
    }
    #expect(copying?.code == .locked && destroying?.code == .locked)
    try store.close()
    #expect(try count("/a", disk) == 40)
    #expect(try disk.kind(of: "/b") == nil)
  }

  @Test("A copy does not replace existing files, and its source must be a store")
  func refused() throws {
    let disk = InMemoryFileSystem()
    try fill("/a", disk)
    try fill("/b", disk, ids: 1...2)
    let taken = #expect(throws: StoreError.self) {
      try Store.copy(at: "/a", to: "/b", options: options(disk))
    }
    let nothing = #expect(throws: StoreError.self) {
      try Store.copy(at: "/c", to: "/d", options: options(disk))
    }
    #expect(taken?.code == .invalidArgument && nothing?.code == .notAStore)
    #expect(try count("/b", disk) == 2)
  }

  @Test("A new copy replaces the files of an unfinished copy")
  func unfinished() throws {
    let disk = SimulatedFileSystem()
    try fill("/a", disk)
    let begin = disk.journal.operationCount
    try Store.copy(at: "/a", to: "/b", options: options(disk))
    let rename = disk.journal.operationCount
    var explorer = CrashExplorer(seed: 1)
    explorer.imagesPerOperationMax = 2
    var replaced = 0
    for operation in stride(from: begin, through: rename, by: 5) {
      for image in explorer.images(of: disk.journal, after: operation) {
        let files = image.fileSystem()
        guard try files.kind(of: "/b") == nil else { continue }
        replaced += try files.kind(of: "/b.copy") == nil ? 0 : 1
        try Store.copy(at: "/a", to: "/b", options: options(files))
        #expect(try count("/b", files) == 40)
        #expect(try files.kind(of: "/b.copy") == nil)
      }
    }
    #expect(replaced > 3)
  }

  @Test("Copying store a.copy to a is refused, and leaves a.copy unchanged")
  func copyOfTheDraftsName() throws {
    let disk = InMemoryFileSystem()
    try fill("/a.copy", disk)
    for path in ["/a.copy", "/a.copy/"] {
      let error = #expect(throws: StoreError.self) {
        try Store.copy(at: path, to: "/a", options: options(disk))
      }
      #expect(error?.code == .invalidArgument)
    }
    #expect(try count("/a.copy", disk) == 40)
    #expect(try disk.kind(of: "/a") == nil)
  }

  @Test("A copy is refused if its draft's name is the name of an open or closed store")
  func storeInTheDraftsPlace() throws {
    let disk = InMemoryFileSystem()
    try fill("/a", disk)
    try fill("/b.copy", disk, ids: 1...3)
    try disk.open("/b.copy/COPY.tmp", .create).close()
    let store = try Store(at: "/b.copy", options: options(disk))
    for isOpen in [true, false] {
      if !isOpen { try store.close() }
      let error = #expect(throws: StoreError.self) {
        try Store.copy(at: "/a", to: "/b", options: options(disk))
      }
      #expect(error?.code == .invalidArgument)
    }
    #expect(try count("/b.copy", disk) == 3)
    // A directory that looks like a draft is not replaced while its writer lock is held.
    try disk.createDirectory("/c.copy")
    let lock = try disk.writerLock(ofStore: "/c.copy")
    try disk.open("/c.copy/COPY.tmp", .create).close()
    let other = #expect(throws: StoreError.self) {
      try Store.copy(at: "/a", to: "/c", options: options(disk))
    }
    #expect(other?.code == .locked)
    lock.release()
    try Store.copy(at: "/a", to: "/c", options: options(disk))
    #expect(try count("/c", disk) == 40)
  }

  @Test("A copy without enough space throws and removes its files")
  func noRoom() throws {
    let disk = SimulatedFileSystem(capacityBytes: 40_000)
    try fill("/a", disk)
    let error = #expect(throws: StoreError.self) {
      try Store.copy(at: "/a", to: "/b", options: options(disk))
    }
    #expect(error?.code == .diskFull)
    #expect(try disk.contents(of: "/") == ["a"])
    #expect(try count("/a", disk) == 40)
  }

  @Test("The parent directory of a path is found for any number of slashes")
  func slashes() {
    for (path, parent) in [
      ("x", "."), ("x//", "."), ("/x", "/"), ("/x//", "/"), ("/a/x//", "/a"), ("/a//x/", "/a"), ("//x", "/"),
      ("/a/\u{301}x", "/a"),
    ] {
      #expect(StorePath.parent(of: path) == parent, "\(path)")
    }
    #expect(StorePath.withoutSlash("//") == "/" && StorePath.withoutSlash("t//") == "t")
  }

  @Test("Short reads of the medium do not make a copy shorter")
  func shortReads() throws {
    for nth in 1...40 {
      let disk = SimulatedFileSystem()
      try fill("/a", disk, ids: 1...6)
      disk.inject(FailureKind.shortRead.failure(nth: nth, repeats: false))
      do {
        try Store.copy(at: "/a", to: "/b", options: options(disk))
      } catch is StoreError {
        continue
      }
      disk.removeInjectedFailures()
      #expect(try count("/b", disk) == 6, "read \(nth)")
    }
  }

  @Test("A power cut during a copy leaves a complete copy or none, and the store unchanged")
  func copyAndPowerCut() throws {
    let disk = SimulatedFileSystem()
    try fill("/a", disk, ids: 1...6)
    let begin = disk.journal.operationCount
    try Store.copy(at: "/a", to: "/b", options: options(disk))
    var explorer = CrashExplorer(seed: 1)
    explorer.imagesPerOperationMax = 3
    let journal = disk.journal
    for operation in stride(from: begin, through: journal.operationCount, by: 3) {
      for image in explorer.images(of: journal, after: operation) {
        let files = image.fileSystem()
        if try files.kind(of: "/b") != nil { #expect(try count("/b", files) == 6) }
        #expect(try count("/a", image.fileSystem()) == 6)
      }
    }
    for image in explorer.images(of: journal, after: journal.operationCount) {
      #expect(try count("/b", image.fileSystem()) == 6)
    }
  }

  @Test("A call that destroys a store keeps a user's temporary file in a directory without a store")
  func temporaryFileOfUser() throws {
    let disk = InMemoryFileSystem()
    try disk.createDirectory("/notes")
    try disk.open("/notes/letter.tmp", .create).close()
    try Store.destroy(at: "/notes", options: options(disk))
    #expect(try disk.contents(of: "/notes") == ["letter.tmp"])
    #expect(try Store.foreignFile(at: "/notes", options: options(disk)) == "letter.tmp")
    try fill("/a", disk, ids: 1...2)
    try disk.open("/a/old.tmp", .create).close()
    #expect(try Store.foreignFile(at: "/a", options: options(disk)) == nil)
    try Store.destroy(at: "/a", options: options(disk))
    #expect(try disk.kind(of: "/a") == nil)
  }

  @Test("A power cut while a store is destroyed leaves a complete store, or no store that opens")
  func destroyingAndPowerCut() throws {
    let disk = SimulatedFileSystem()
    try fill("/a", disk, ids: 1...6)
    let begin = disk.journal.operationCount
    try Store.destroy(at: "/a", options: options(disk))
    var explorer = CrashExplorer(seed: 1)
    explorer.imagesPerOperationMax = 6
    let journal = disk.journal
    for operation in begin...journal.operationCount {
      for image in explorer.images(of: journal, after: operation) {
        let files = image.fileSystem()
        #expect([nil, 6].contains(try count("/a", files)))
        // A second call removes the remaining files.
        try Store.destroy(at: "/a", options: options(files))
        #expect(try files.kind(of: "/a") == nil || files.contents(of: "/a").isEmpty)
      }
    }
    for image in explorer.images(of: journal, after: journal.operationCount) {
      #expect(try image.fileSystem().kind(of: "/a") == nil)
    }
  }
}

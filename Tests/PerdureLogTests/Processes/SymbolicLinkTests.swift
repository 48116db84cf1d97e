import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

@Suite("Paths with symbolic links")
struct SymbolicLinkTests {
  private let disk = POSIXFileSystem()
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// Creates a symbolic link in the test's directory.
  private func link(_ name: String, to target: String) throws -> String {
    let path = directory.file(name)
    try #require(symlink(target, path) == 0)
    return path
  }

  private func make(_ path: String, _ value: UInt8) throws {
    let store = try Store(at: path)
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([value], id: 1, in: rows) }
    try store.close()
  }

  private func value(at path: String) throws -> [UInt8]? {
    let store = try Store(at: path)
    defer { try? store.close() }
    return try store.snapshot().value(id: 1, in: store.keyspace("rows", .dense))
  }

  @Test("Destroying a store through a link removes its directory, and keeps the link")
  func destroyed() throws {
    let real = directory.file("real")
    try make(real, 3)
    let link = try link("link", to: real)
    try Store.destroy(at: link)
    #expect(try disk.kind(of: real) == nil)
    #expect(try disk.contents(of: directory.path) == ["link"])
    try make(real, 5)
    #expect(try value(at: link) == [5])
  }

  @Test("Replacing a store through an absolute or relative link replaces its directory")
  func replaced() throws {
    let real = directory.file("real")
    try make(real, 3)
    try make(directory.file("source"), 7)
    for name in [real, "real", "./real/"] {
      let link = try link("link", to: name)
      try Store.replace(link, with: directory.file("source"))
      #expect(try value(at: link) == [7] && value(at: real) == [7])
      #expect(try disk.contents(of: directory.path) == ["link", "real", "source"])
      try disk.remove(link)
    }
  }

  @Test("A copy, backup or restore to a link without a target is refused before anything is written")
  func danglingTarget() throws {
    let source = directory.file("source")
    try make(source, 7)
    func backUp(to target: String) throws {
      let store = try Store(at: source)
      defer { try? store.close() }
      try store.backup(to: target)
    }
    try backUp(to: directory.file("backup"))
    let link = try link("link", to: directory.file("nowhere"))
    for operation in [
      { try Store.copy(at: source, to: $0) },
      { try backUp(to: $0) },
      { _ = try Store.restore(from: directory.file("backup"), to: $0) },
    ] as [(String) throws -> Void] {
      let error = #expect(throws: StoreError.self) { try operation(link) }
      #expect(error?.code == .invalidArgument && error?.place?.hasSuffix("/link") == true)
      #expect(error?.message.contains("symbolic link") == true)
      #expect(try disk.contents(of: directory.path) == ["backup", "link", "source"])
    }
  }

  @Test("Copies, backups and restores through a link use its empty directory")
  func copied() throws {
    let source = directory.file("source")
    try make(source, 7)
    let store = try Store(at: source)
    try store.backup(to: directory.file("backup"))
    try store.close()
    let real = directory.file("real")
    for operation in [
      { try Store.copy(at: source, to: $0) },
      { _ = try Store.restore(from: directory.file("backup"), to: $0) },
      {
        let store = try Store(at: source)
        defer { try? store.close() }
        try store.backup(to: $0)
      },
    ] as [(String) throws -> Void] {
      try disk.createDirectory(real)
      let link = try link("link", to: real)
      try operation(link)
      #expect(try value(at: real) == [7])
      try disk.remove(link)
      try Store.destroy(at: real)
    }
  }

  @Test("An interrupted replacement is found through every path that leads to the store")
  func pending() throws {
    let parent = directory.file("parent")
    try disk.createDirectory(parent)
    let link = try link("link", to: parent)
    try make(parent + "/s.copy", 7)
    try disk.markAsReplacement(parent + "/s.copy")
    #expect(try value(at: link + "/s") == [7])
    #expect(try disk.contents(of: parent) == ["s"])
  }

  @Test("Links without a target and loops of links are refused and kept")
  func dangling() throws {
    for target in [directory.file("nowhere"), directory.file("link")] {
      let link = try link("link", to: target)
      #expect(throws: StoreError.self) { try Store(at: link) }
      try Store.destroy(at: directory.file("nowhere"))
      #expect(try disk.contents(of: directory.path) == ["link"])
      try disk.remove(link)
    }
  }

  @Test("A hard link to a symbolic link keeps the file after both other names are removed")
  func hardLink() throws {
    let (file, second) = (directory.file("file"), directory.file("second"))
    let opened = try disk.open(file, .create)
    try opened.write([1, 2, 3], at: 0)
    try opened.close()
    let symbolic = try link("symbolic", to: file)
    try disk.link(symbolic, to: second)
    try disk.remove(symbolic)
    try disk.remove(file)
    let read = try disk.open(second, .read)
    #expect(try read.size() == 3)
    try read.close()
  }
}

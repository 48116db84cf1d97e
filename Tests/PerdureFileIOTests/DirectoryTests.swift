import PerdureFileIO
import PerdureTestSupport
import Testing

/// A file system that implements only the methods that take paths.
private final class PathsOnly: ForwardingFileSystem {
  let behind: any FileSystem = InMemoryFileSystem()
}

@Suite("An open directory")
struct DirectoryTests {
  @Test("Operations by name have the same effects as operations by path", arguments: Subject.all)
  func names(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    let directory = try fileSystem.openDirectory(root)
    #expect(directory.path == root)
    #expect(try directory.contents() == [])
    let file = try directory.open("b", .create)
    #expect(file.path == "\(root)/b")
    try file.write(utf8: "text", at: 0)
    _ = try directory.open("a", .create)
    #expect(try directory.contents() == ["a", "b"])
    #expect(try directory.kind(of: "a") == .file)
    #expect(try directory.kind(of: "c") == nil)
    try directory.rename("b", to: "a")
    #expect(try directory.contents() == ["a"])
    #expect(try fileSystem.open("\(root)/a", .read).read(9, at: 0) == Array("text".utf8))
    try directory.sync()
    #expect(try directory.availableBytes() > 0)
    try directory.remove("a")
    #expect(try fileSystem.contents(of: root) == [])
    try fileSystem.createDirectory("\(root)/d")
    expectError(.isADirectory) { _ = try directory.open("d", .read) }
    try directory.remove("d")
    expectError(.notFound) { try directory.remove("d") }
    expectError(.notFound) { _ = try directory.open("a", .read) }
    expectError(.invalidArgument) { _ = try directory.open("a\0b", .create) }
  }

  @Test("Opening a directory fails if it is missing, or if it is a file", arguments: Subject.all)
  func opening(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    _ = try fileSystem.open("\(root)/file", .create)
    expectError(.notFound) { _ = try fileSystem.openDirectory("\(root)/none") }
    expectError(.notADirectory) { _ = try fileSystem.openDirectory("\(root)/file") }
  }

  @Test(
    "An open directory stays the same if it is renamed and another directory gets its path",
    arguments: Subject.all)
  func moved(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    try fileSystem.createDirectory("\(root)/a")
    let directory = try fileSystem.openDirectory("\(root)/a")
    let lock = try directory.lock("lock", .exclusive, holder: "me")
    try fileSystem.rename("\(root)/a", to: "\(root)/b")
    try fileSystem.createDirectory("\(root)/a")
    _ = try directory.open("f", .create)
    try directory.rename("f", to: "g")
    try directory.sync()
    #expect(try fileSystem.contents(of: "\(root)/a") == [])
    #expect(try fileSystem.contents(of: "\(root)/b") == ["g", "lock"])
    #expect(try lock.isNamed())
    expectError(.locked) { _ = try fileSystem.lock("\(root)/b/lock", .exclusive, holder: "another") }
    try fileSystem.lock("\(root)/a/lock", .exclusive, holder: "another").release()
  }

  @Test("A removed directory is empty, and no file can be created in it", arguments: Subject.all)
  func removed(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    try fileSystem.createDirectory("\(root)/a")
    let directory = try fileSystem.openDirectory("\(root)/a")
    let file = try directory.open("f", .create)
    let lock = try directory.lock("lock", .exclusive, holder: "me")
    try fileSystem.removeTree("\(root)/a")
    try fileSystem.createDirectory("\(root)/a")
    _ = try fileSystem.open("\(root)/a/f", .create)
    try fileSystem.lock("\(root)/a/lock", .exclusive, holder: "another").release()
    #expect(try directory.contents() == [])
    #expect(try directory.kind(of: "f") == nil)
    #expect(try !lock.isNamed())
    expectError(.notFound) { _ = try directory.open("g", .create) }
    expectError(.notFound) { _ = try directory.open("f", .readWrite) }
    expectError(.notFound) { try directory.remove("f") }
    expectError(.notFound) { try directory.rename("f", to: "g") }
    expectError(.notFound) { _ = try directory.lock("lock", .exclusive, holder: "me") }
    try file.write(utf8: "kept", at: 0)
    #expect(try file.size() == 4)
    #expect(try fileSystem.contents(of: "\(root)/a") == ["f", "lock"])
  }

  @Test("A lock reports whether its file still has its name", arguments: Subject.all)
  func lockName(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    let directory = try fileSystem.openDirectory(root)
    let locks = [
      try directory.lock("one", .exclusive, holder: "me"),
      try fileSystem.lock("\(root)/two", .exclusive, holder: "me"),
    ]
    for (lock, name) in zip(locks, ["one", "two"]) {
      #expect(try lock.isNamed())
      try directory.rename(name, to: "\(name).away")
      #expect(try !lock.isNamed())
      _ = try directory.open(name, .create)
      #expect(try !lock.isNamed())
      try directory.rename("\(name).away", to: name)
      #expect(try lock.isNamed())
      try directory.remove(name)
      #expect(try !lock.isNamed())
    }
  }

  @Test("On a file system that only has methods with paths, an open directory uses its path")
  func pathsOnly() throws {
    let fileSystem = PathsOnly()
    try fileSystem.createDirectory("/a")
    let directory = try fileSystem.openDirectory("/a")
    _ = try directory.open("f", .create)
    try directory.rename("f", to: "g")
    #expect(try directory.contents() == ["g"])
    try fileSystem.rename("/a", to: "/b")
    expectError(.notFound) { _ = try directory.open("g", .read) }
    expectError(.notFound) { _ = try fileSystem.openDirectory("/none") }
    _ = try fileSystem.open("/file", .create)
    expectError(.notADirectory) { _ = try fileSystem.openDirectory("/file") }
  }
}

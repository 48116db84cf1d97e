import PerdureFileIO
import PerdureTestSupport
import Testing

// The contract of FileSystem and File, checked for every implementation.

/// One file system under test, with a directory to work in.
struct Subject: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let make: @Sendable () throws -> (fileSystem: any FileSystem, root: String, keep: any Sendable)

  static let posix = Subject(testDescription: "POSIX") {
    let directory = try TemporaryDirectory()
    return (POSIXFileSystem(), directory.path, directory)
  }

  static let inMemory = Subject(testDescription: "in memory") {
    let fileSystem = InMemoryFileSystem()
    try fileSystem.createDirectory("/root")
    return (fileSystem, "/root", 0)
  }

  static let simulated = Subject(testDescription: "simulated") {
    let fileSystem = SimulatedFileSystem()
    try fileSystem.createDirectory("/root")
    return (fileSystem, "/root", 0)
  }

  static let all = [posix, inMemory, simulated]
}

@Suite("The contract of all file systems")
struct FileSystemConformanceTests {
  @Test("A created file contains the written bytes", arguments: Subject.all)
  func createAndRead(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    let file = try fileSystem.open("\(root)/a", .create)
    try file.write(utf8: "hello", at: 0)
    try file.write(utf8: "world", at: 7)
    #expect(try file.size() == 12)
    #expect(try file.read(99, at: 0) == Array("hello".utf8) + [0, 0] + Array("world".utf8))
    #expect(try file.read(4, at: 12) == [])
    #expect(try file.read(4, at: 1 << 40) == [])
    try file.sync(.ordered)
    try file.sync(.full)
    try file.close()
    try file.close()
    let again = try fileSystem.open("\(root)/a", .readWrite)
    try again.write(utf8: "J", at: 0)
    #expect(try again.read(5, at: 0) == Array("Jello".utf8))
  }

  @Test("Each open mode allows only its operations", arguments: Subject.all)
  func modes(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    expectError(.notFound) { _ = try fileSystem.open("\(root)/a", .read) }
    expectError(.notFound) { _ = try fileSystem.open("\(root)/a", .readWrite) }
    expectError(.notFound) { _ = try fileSystem.open("\(root)/x/a", .create) }
    _ = try fileSystem.open("\(root)/a", .create)
    expectError(.alreadyExists) { _ = try fileSystem.open("\(root)/a", .create) }
    expectError(.isADirectory) { _ = try fileSystem.open(root, .read) }
    expectError(.isADirectory) { _ = try fileSystem.open(root, .readWrite) }
    expectError(.notADirectory) { _ = try fileSystem.open("\(root)/a/b", .read) }
    let readOnly = try fileSystem.open("\(root)/a", .read)
    expectError(.permissionDenied) { try readOnly.write(utf8: "x", at: 0) }
    #expect(try readOnly.size() == 0)
  }

  @Test("A closed file refuses every operation", arguments: Subject.all)
  func closed(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    let file = try fileSystem.open("\(root)/a", .create)
    try file.close()
    expectError(.closed) { _ = try file.size() }
    expectError(.closed) { _ = try file.read(1, at: 0) }
    expectError(.closed) { try file.write(utf8: "x", at: 0) }
    expectError(.closed) { try file.sync(.full) }
    expectError(.closed) { _ = try file.map(1) }
  }

  @Test("Directories are created, listed, nested, synced and removed", arguments: Subject.all)
  func directories(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    #expect(try fileSystem.contents(of: root) == [])
    try fileSystem.createDirectory("\(root)/d")
    expectError(.alreadyExists) { try fileSystem.createDirectory("\(root)/d") }
    expectError(.notFound) { try fileSystem.createDirectory("\(root)/x/y") }
    _ = try fileSystem.open("\(root)/b", .create)
    _ = try fileSystem.open("\(root)/B", .create)
    _ = try fileSystem.open("\(root)/d/é", .create)
    #expect(try fileSystem.contents(of: root) == ["B", "b", "d"])
    #expect(try fileSystem.contents(of: "\(root)/d") == ["é"])
    expectError(.notFound) { _ = try fileSystem.contents(of: "\(root)/x") }
    expectError(.notADirectory) { _ = try fileSystem.contents(of: "\(root)/b") }
    #expect(try fileSystem.kind(of: "\(root)/b") == .file)
    #expect(try fileSystem.kind(of: "\(root)/d/") == .directory)
    #expect(try fileSystem.kind(of: "\(root)/x") == nil)
    #expect(try fileSystem.kind(of: "\(root)/x/y") == nil)
    expectError(.notADirectory) { _ = try fileSystem.kind(of: "\(root)/b/y") }
    expectError(.directoryNotEmpty) { try fileSystem.remove("\(root)/d") }
    try fileSystem.remove("\(root)/d/é")
    try fileSystem.remove("\(root)/d")
    expectError(.notFound) { try fileSystem.remove("\(root)/d") }
    try fileSystem.syncDirectory(root)
    expectError(.notFound) { try fileSystem.syncDirectory("\(root)/x") }
    expectError(.notADirectory) { try fileSystem.syncDirectory("\(root)/b") }
  }

  @Test("A rename replaces its target, and open files stay unchanged", arguments: Subject.all)
  func rename(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    let old = try fileSystem.open("\(root)/old", .create)
    try old.write(utf8: "old", at: 0)
    let new = try fileSystem.open("\(root)/new", .create)
    try new.write(utf8: "new", at: 0)
    try fileSystem.rename("\(root)/new", to: "\(root)/old")
    #expect(try fileSystem.contents(of: root) == ["old"])
    #expect(try fileSystem.open("\(root)/old", .read).read(9, at: 0) == Array("new".utf8))
    #expect(try old.read(9, at: 0) == Array("old".utf8))
    try fileSystem.createDirectory("\(root)/d")
    try fileSystem.createDirectory("\(root)/e")
    try fileSystem.rename("\(root)/old", to: "\(root)/d/moved")
    #expect(try fileSystem.contents(of: "\(root)/d") == ["moved"])
    expectError(.notFound) { try fileSystem.rename("\(root)/old", to: "\(root)/z") }
    expectError(.isADirectory) { try fileSystem.rename("\(root)/d/moved", to: "\(root)/e") }
    expectError(.notADirectory) { try fileSystem.rename("\(root)/e", to: "\(root)/d/moved") }
    expectError(.directoryNotEmpty) { try fileSystem.rename("\(root)/e", to: "\(root)/d") }
    expectError(.invalidArgument) { try fileSystem.rename("\(root)/d", to: "\(root)/d/inside") }
    try fileSystem.rename("\(root)/d", to: "\(root)/e")
    #expect(try fileSystem.contents(of: "\(root)/e") == ["moved"])
    try fileSystem.rename("\(root)/e", to: "\(root)/e")
    #expect(try fileSystem.contents(of: root) == ["e"])
  }

  @Test("A removed file stays usable while it is open", arguments: Subject.all)
  func removedButOpen(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    let file = try fileSystem.open("\(root)/a", .create)
    try file.write(utf8: "abc", at: 0)
    let mapping = try file.map(64)
    try fileSystem.remove("\(root)/a")
    let successor = try fileSystem.open("\(root)/a", .create)
    try file.write(utf8: "d", at: 3)
    try file.sync(.full)
    #expect(try file.read(9, at: 0) == Array("abcd".utf8))
    #expect(mapping.bytes(4) == Array("abcd".utf8))
    #expect(try successor.size() == 0)
  }

  @Test(
    "A mapping shows later writes through any handle, and stays valid after its file is closed",
    arguments: Subject.all)
  func mapping(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    let file = try fileSystem.open("\(root)/a", .create)
    let mapping = try file.map(1 << 22)
    #expect(mapping.length == 1 << 22)
    try file.write(utf8: "one", at: 0)
    let small = try file.map(4096)
    let other = try fileSystem.open("\(root)/a", .readWrite)
    try other.write(utf8: "two", at: 3)
    #expect(mapping.bytes(6) == Array("onetwo".utf8))
    #expect(small.bytes(6) == Array("onetwo".utf8))
    let long = [UInt8](repeating: 7, count: 1 << 20)
    try file.write(long, at: 6)
    let base = mapping.base
    #expect(mapping.bytes(6 + (1 << 20)).suffix(1 << 20).allSatisfy { $0 == 7 })
    #expect(small.bytes(4096).dropFirst(6).allSatisfy { $0 == 7 })
    #expect(base == mapping.base)
    try file.close()
    try other.close()
    #expect(mapping.bytes(3) == Array("one".utf8))
  }

  @Test("A read or write beyond the largest offset is refused", arguments: Subject.all)
  func offsets(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    let file = try fileSystem.open("\(root)/a", .create)
    expectError(.invalidArgument) { _ = try file.read(1, at: .max) }
    expectError(.invalidArgument) { try file.write(utf8: "x", at: UInt64(Int64.max)) }
    #expect(try file.size() == 0)
  }

  @Test("A path with a zero byte is refused", arguments: Subject.all)
  func zeroByte(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    expectError(.invalidArgument) { _ = try fileSystem.open("\(root)/a\0b", .create) }
    expectError(.invalidArgument) { try fileSystem.rename(root, to: "\(root)\0") }
    #expect(try fileSystem.contents(of: root) == [])
  }

  @Test("The volume reports free space", arguments: Subject.all)
  func availableBytes(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    #expect(try fileSystem.availableBytes(at: root) > 0)
    expectError(.notFound) { _ = try fileSystem.availableBytes(at: "\(root)/x") }
  }

  @Test(
    "Concurrent writes to one file are all in the file, and each thread reads its own bytes",
    arguments: Subject.all)
  func threads(_ subject: Subject) async throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    let file = try fileSystem.open("\(root)/a", .create)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          let own = try fileSystem.open("\(root)/own\(worker)", .create)
          for round in 0..<50 {
            let bytes = [UInt8](repeating: UInt8(worker + 1), count: 100)
            let offset = UInt64((round * 4 + worker) * 100)
            try file.write(bytes, at: offset)
            try own.write(bytes, at: UInt64(round * 100))
            #expect(try file.read(100, at: offset) == bytes)
            try file.sync(.ordered)
            _ = try fileSystem.contents(of: root)
          }
          try own.close()
        }
      }
      try await group.waitForAll()
    }
    #expect(try file.size() == 20_000)
    #expect(try fileSystem.contents(of: root).count == 5)
  }
}

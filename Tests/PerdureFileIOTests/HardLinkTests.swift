import PerdureFileIO
import PerdureTestSupport
import Testing

@Suite("Hard links")
struct HardLinkTests {
  private func create(_ path: String, _ text: String, _ fileSystem: any FileSystem) throws {
    let file = try fileSystem.open(path, .create)
    try file.write(utf8: text, at: 0)
    try file.close()
  }

  private func text(_ path: String, _ fileSystem: any FileSystem) throws -> String {
    let file = try fileSystem.open(path, .read)
    return String(decoding: try file.read(100, at: 0), as: UTF8.self)
  }

  @Test(
    "Two names of a file have the same bytes and locks; an open file outlives both names",
    arguments: Subject.all)
  func twoNames(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    try create("\(root)/a", "one", fileSystem)
    try fileSystem.createDirectory("\(root)/d")
    let opened = try fileSystem.open("\(root)/a", .readWrite)
    #expect(try opened.linkCount() == 1)
    try fileSystem.link("\(root)/a", to: "\(root)/d/b")
    let second = try fileSystem.open("\(root)/d/b", .readWrite)
    #expect(try opened.linkCount() == 2 && second.linkCount() == 2)
    try second.write(utf8: "two", at: 0)
    #expect(try text("\(root)/a", fileSystem) == "two")
    if try opened.tryLock(0..<1) { #expect(try !second.tryLock(0..<1)) }
    try fileSystem.remove("\(root)/a")
    #expect(try opened.linkCount() == 1 && text("\(root)/d/b", fileSystem) == "two")
    try fileSystem.remove("\(root)/d/b")
    #expect(try opened.linkCount() == 0)
    #expect(try opened.read(9, at: 0) == Array("two".utf8))
    #expect(try fileSystem.contents(of: "\(root)/d") == [])
    try opened.close()
    expectError(.closed) { _ = try opened.linkCount() }
  }

  @Test("A rename replaces one name of a file and keeps the others", arguments: Subject.all)
  func renames(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    try create("\(root)/a", "old", fileSystem)
    try create("\(root)/new", "new", fileSystem)
    try fileSystem.link("\(root)/a", to: "\(root)/b")
    try fileSystem.rename("\(root)/new", to: "\(root)/a")
    #expect(try text("\(root)/a", fileSystem) == "new" && text("\(root)/b", fileSystem) == "old")
    #expect(try fileSystem.open("\(root)/b", .read).linkCount() == 1)
    #expect(try fileSystem.open("\(root)/a", .read).linkCount() == 1)
    // A rename of a name to another name of the same file does nothing.
    try fileSystem.link("\(root)/b", to: "\(root)/c")
    try fileSystem.rename("\(root)/b", to: "\(root)/c")
    #expect(try fileSystem.contents(of: root) == ["a", "b", "c"])
    #expect(try fileSystem.open("\(root)/c", .read).linkCount() == 2)
    try fileSystem.rename("\(root)/b", to: "\(root)/d")
    #expect(try fileSystem.open("\(root)/d", .read).linkCount() == 2)
  }

  @Test("A refused link creates no name", arguments: Subject.all)
  func refused(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    try create("\(root)/a", "a", fileSystem)
    try create("\(root)/b", "b", fileSystem)
    try fileSystem.createDirectory("\(root)/d")
    expectError(.alreadyExists) { try fileSystem.link("\(root)/a", to: "\(root)/b") }
    expectError(.notFound) { try fileSystem.link("\(root)/none", to: "\(root)/c") }
    expectError(.notFound) { try fileSystem.link("\(root)/a", to: "\(root)/none/c") }
    #expect(throws: FileIOError.self) { try fileSystem.link("\(root)/d", to: "\(root)/c") }
    #expect(try fileSystem.contents(of: root) == ["a", "b", "d"])
    #expect(try fileSystem.open("\(root)/a", .read).linkCount() == 1)
  }

  @Test("A file with two names occupies space once, until its last name is removed")
  func capacity() throws {
    let fileSystem = SimulatedFileSystem(capacityBytes: 100)
    try create("/a", String(repeating: "x", count: 60), fileSystem)
    try fileSystem.link("/a", to: "/b")
    #expect(try fileSystem.availableBytes(at: "/") == 40)
    try fileSystem.remove("/a")
    #expect(try fileSystem.availableBytes(at: "/") == 40)
    try create("/c", "", fileSystem)
    try fileSystem.rename("/c", to: "/b")
    #expect(try fileSystem.availableBytes(at: "/") == 100)
  }

  @Test("An injected failure of a link creates no name")
  func injected() throws {
    let fileSystem = SimulatedFileSystem()
    try create("/a", "a", fileSystem)
    fileSystem.inject(InjectedFailure(of: .link, code: .permissionDenied, pathContains: "/b"))
    #expect(throws: FileIOError.self) { try fileSystem.link("/a", to: "/b") }
    #expect(try fileSystem.contents(of: "/") == ["a"])
    try fileSystem.link("/a", to: "/b")
  }
}

@Suite("Hard links after a loss of power")
struct HardLinkDurabilityTests {
  /// A disk with a durable file `/a` and a directory `/d`.
  private func disk() throws -> CrashImage {
    let fileSystem = SimulatedFileSystem()
    try fileSystem.open("/a", .create).write(utf8: "text", at: 0)
    try fileSystem.createDirectory("/d")
    return fileSystem.currentImage
  }

  private func remains(_ body: (SimulatedFileSystem) throws -> Void) throws -> [CrashImage] {
    let fileSystem = try SimulatedFileSystem(disk())
    try body(fileSystem)
    return CrashExplorer(seed: 1).images(of: fileSystem.journal, after: fileSystem.operationCount)
  }

  private func linkCount(_ path: String, _ image: CrashImage) throws -> Int {
    try image.fileSystem().open(path, .read).linkCount()
  }

  @Test("A new name of a file may be lost until its own directory is synced")
  func names() throws {
    let unsynced = try remains { fileSystem in
      try fileSystem.link("/a", to: "/d/b")
      try fileSystem.syncDirectory("/")
    }
    #expect(Set(unsynced.map(\.paths)) == [["/a", "/d/"], ["/a", "/d/", "/d/b"]])
    let synced = try remains { fileSystem in
      try fileSystem.link("/a", to: "/d/b")
      try fileSystem.syncDirectory("/d")
    }
    #expect(synced.map(\.paths) == [["/a", "/d/", "/d/b"]])
    #expect(synced[0].bytes(at: "/d/b") == Array("text".utf8))
  }

  @Test("If a file's new name is lost and its old name is durably removed, the file no longer exists")
  func bothLost() throws {
    let disks = try remains { fileSystem in
      try fileSystem.link("/a", to: "/d/b")
      try fileSystem.remove("/a")
      try fileSystem.syncDirectory("/")
    }
    #expect(Set(disks.map(\.paths)) == [["/d/"], ["/d/", "/d/b"]])
    #expect(disks.allSatisfy { $0.bytes(at: "/d/b") ?? Array("text".utf8) == Array("text".utf8) })
  }

  @Test("A sync through one name of a file also makes its bytes durable under the other name")
  func bytes() throws {
    let disks = try remains { fileSystem in
      try fileSystem.link("/a", to: "/d/b")
      try fileSystem.syncDirectory("/d")
      let file = try fileSystem.open("/d/b", .readWrite)
      try file.write(utf8: "TEXT", at: 0)
      try fileSystem.open("/a", .read).sync(.full)
    }
    #expect(disks.count == 1)
    for name in ["/a", "/d/b"] { #expect(disks[0].bytes(at: name) == Array("TEXT".utf8)) }
  }

  @Test("After a loss of power, two names lead to one file only if they did before")
  func sharing() throws {
    let disks = try remains { fileSystem in
      try fileSystem.link("/a", to: "/d/b")
      try fileSystem.open("/c", .create).write(utf8: "text", at: 0)
    }
    for disk in disks {
      let hasBoth = disk.paths.contains("/d/b")
      #expect(try linkCount("/a", disk) == (hasBoth ? 2 : 1))
      if disk.paths.contains("/c") { #expect(try linkCount("/c", disk) == 1) }
      guard hasBoth else { continue }
      let fileSystem = disk.fileSystem()
      try fileSystem.open("/d/b", .readWrite).write(utf8: "new ", at: 0)
      #expect(try fileSystem.open("/a", .read).read(9, at: 0) == Array("new ".utf8))
      #expect(fileSystem.currentImage.bytes(at: "/a") == Array("new ".utf8))
    }
    #expect(Set(disks.map { $0.paths.contains("/d/b") }) == [true, false])
  }

  @Test("Images are different if only the links between their names and files differ")
  func images() throws {
    let linked = try SimulatedFileSystem(disk())
    try linked.link("/a", to: "/b")
    let copied = try SimulatedFileSystem(disk())
    try copied.open("/b", .create).write(utf8: "text", at: 0)
    #expect(linked.currentImage != copied.currentImage)
    #expect(linked.currentImage == SimulatedFileSystem(linked.currentImage).currentImage)
    // If one of two names is removed, the other name is an ordinary file.
    try linked.remove("/a")
    try copied.remove("/a")
    #expect(linked.currentImage == copied.currentImage)
  }

  @Test("An image with linked files is written to a folder with links")
  func written() throws {
    let linked = try SimulatedFileSystem(disk())
    try linked.link("/a", to: "/d/b")
    let directory = try TemporaryDirectory()
    for fileSystem in [POSIXFileSystem(), InMemoryFileSystem()] as [any FileSystem] {
      let path = fileSystem is POSIXFileSystem ? directory.file("image") : "/image"
      try linked.currentImage.write(to: path, on: fileSystem)
      #expect(try fileSystem.open(path + "/d/b", .read).linkCount() == 2)
      #expect(try CrashImage(contentsOf: path, on: fileSystem).bytes(at: "/d/b") == Array("text".utf8))
    }
  }
}

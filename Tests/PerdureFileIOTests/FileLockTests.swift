import PerdureTestSupport
import Testing

@testable import PerdureFileIO

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("Locks")
struct FileLockTests {
  @Test("The second opener is refused, and the error names the holder of the lock", arguments: Subject.all)
  func exclusive(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    let lock = try fileSystem.lock("\(root)/lock", .exclusive, holder: "the first, with more text")
    for kind in [LockKind.exclusive, .shared] {
      let error = #expect(throws: FileIOError.self) {
        _ = try fileSystem.lock("\(root)/lock", kind, holder: "second")
      }
      #expect(error?.code == .locked)
      #expect(error?.message.contains("held by the first, with more text") == true)
    }
    lock.release()
    let next = try fileSystem.lock("\(root)/lock", .exclusive, holder: "third")
    // The first lock was released: releasing it again must not release the next holder's.
    lock.release()
    let error = #expect(throws: FileIOError.self) {
      _ = try fileSystem.lock("\(root)/lock", .exclusive, holder: "fourth")
    }
    #expect(error?.message.contains("held by third") == true)
    next.release()
  }

  @Test("Shared locks exclude an exclusive one, and not each other", arguments: Subject.all)
  func shared(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    let one = try fileSystem.lock("\(root)/lock", .shared, holder: "one")
    let two = try fileSystem.lock("\(root)/lock", .shared, holder: "two")
    one.release()
    expectError(.locked) { _ = try fileSystem.lock("\(root)/lock", .exclusive, holder: "three") }
    two.release()
    try fileSystem.lock("\(root)/lock", .exclusive, holder: "three").release()
  }

  @Test("A released lock is free", arguments: Subject.all)
  func released(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    do {
      let lock = try fileSystem.lock("\(root)/lock", .exclusive, holder: "one")
      withExtendedLifetime(lock) {}
    }
    _ = try fileSystem.lock("\(root)/lock", .exclusive, holder: "two")
  }

  @Test("A lock is released even if a child of the process still has its descriptor")
  func inherited() throws {
    let directory = try TemporaryDirectory()
    let fileSystem = POSIXFileSystem()
    let lock = try #require(
      try fileSystem.lock(directory.file("lock"), .exclusive, holder: "one") as? POSIXFileLock)
    // The state of a child between its creation and its own program.
    let copy = try lock.file.withDescriptor("test") { dup($0) }
    defer { close(copy) }
    lock.release()
    try fileSystem.lock(directory.file("lock"), .exclusive, holder: "two").release()
  }

  @Test(
    "A lock on a range keeps other openings from its bytes, and goes with its own", arguments: Subject.all)
  func ranges(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    let one = try fileSystem.open("\(root)/ranges", .create)
    let two = try fileSystem.open("\(root)/ranges", .readWrite)
    let reader = try fileSystem.open("\(root)/ranges", .read)
    #expect(try one.tryLock(0..<64) && two.tryLock(64..<128))
    #expect(try !two.tryLock(0..<64) && !two.tryLock(63..<64) && !one.tryLock(0..<65))
    #expect(try two.isLocked(0..<1) && !two.isLocked(64..<200) && !one.isLocked(0..<64))
    #expect(try reader.isLocked(0..<64) && reader.isLocked(100..<101) && !reader.isLocked(128..<192))
    expectError(.permissionDenied) { _ = try reader.tryLock(200..<201) }
    // Closing another opening of the file takes no lock away.
    try reader.close()
    #expect(try two.isLocked(0..<64))
    try one.unlock(0..<32)
    #expect(try !two.isLocked(0..<32) && two.isLocked(32..<64))
    try one.close()
    #expect(try two.tryLock(0..<64))
    expectError(.closed) { _ = try one.isLocked(0..<64) }
  }

  @Test("A directory can't be a lock", arguments: Subject.all)
  func directory(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    expectError(.isADirectory) { _ = try fileSystem.lock(root, .exclusive, holder: "one") }
    expectError(.notFound) { _ = try fileSystem.lock("\(root)/x/lock", .exclusive, holder: "one") }
  }

  @Test("A process that is killed leaves no lock")
  func killedHolder() async throws {
    let directory = try TemporaryDirectory()
    let fileSystem = POSIXFileSystem()
    // The lock is seen to be held before the holder is killed.
    let observer = Task {
      while true {
        do {
          try fileSystem.lock(directory.file("lock"), .exclusive, holder: "observer").release()
        } catch let error as FileIOError {
          // Between taking the lock and writing its text, the holder has no name.
          if error.message.contains("held by the child") { break }
        }
        try await Task.sleep(for: .milliseconds(1))
      }
      _ = try fileSystem.open(directory.file("die"), .create)
    }
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = directory.path as String] in
      let fileSystem = POSIXFileSystem()
      var lock: (any FileLock)?
      while lock == nil {
        // The observer may be trying at this very moment.
        lock = try? fileSystem.lock("\(path)/lock", .exclusive, holder: "the child")
      }
      while try fileSystem.kind(of: "\(path)/die") == nil { usleep(1000) }
      _ = withExtendedLifetime(lock) { raise(SIGKILL) }
    }
    try await observer.value
    try fileSystem.lock(directory.file("lock"), .exclusive, holder: "next").release()
  }
}

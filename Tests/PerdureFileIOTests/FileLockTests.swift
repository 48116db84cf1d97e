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

@Suite("Locks on files")
struct FileLockTests {
  @Test("A second lock is refused, and the error names the holder", arguments: Subject.all)
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
    // The first lock is already released. Releasing it again must not release the next holder's
    // lock.
    lock.release()
    let error = #expect(throws: FileIOError.self) {
      _ = try fileSystem.lock("\(root)/lock", .exclusive, holder: "fourth")
    }
    #expect(error?.message.contains("held by third") == true)
    next.release()
  }

  @Test("Shared locks exclude exclusive locks, but not each other", arguments: Subject.all)
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

  @Test("A lock is released when its object is deallocated", arguments: Subject.all)
  func released(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    do {
      let lock = try fileSystem.lock("\(root)/lock", .exclusive, holder: "one")
      withExtendedLifetime(lock) {}
    }
    _ = try fileSystem.lock("\(root)/lock", .exclusive, holder: "two")
  }

  @Test("A lock is released even if a child process still has its descriptor")
  func inherited() throws {
    let directory = try TemporaryDirectory()
    let fileSystem = POSIXFileSystem()
    let lock = try #require(
      try fileSystem.lock(directory.file("lock"), .exclusive, holder: "one") as? POSIXFileLock)
    // Between fork and exec, a child process has such a copy of the descriptor.
    let copy = try lock.file.withDescriptor(.lock) { dup($0) }
    defer { close(copy) }
    lock.release()
    try fileSystem.lock(directory.file("lock"), .exclusive, holder: "two").release()
  }

  @Test(
    "A range lock excludes other open files from its bytes until its own file is closed",
    arguments: Subject.all)
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
    // Closing another handle of the same file releases no lock.
    try reader.close()
    #expect(try two.isLocked(0..<64))
    try one.unlock(0..<32)
    #expect(try !two.isLocked(0..<32) && two.isLocked(32..<64))
    try one.close()
    #expect(try two.tryLock(0..<64))
    expectError(.closed) { _ = try one.isLocked(0..<64) }
  }

  @Test("A lock on a directory, or in a missing directory, fails", arguments: Subject.all)
  func directory(_ subject: Subject) throws {
    let (fileSystem, root, keep) = try subject.make()
    defer { withExtendedLifetime(keep) {} }
    expectError(.isADirectory) { _ = try fileSystem.lock(root, .exclusive, holder: "one") }
    expectError(.notFound) { _ = try fileSystem.lock("\(root)/x/lock", .exclusive, holder: "one") }
  }

  @Test("A killed process releases its locks")
  func killedHolder() async throws {
    let directory = try TemporaryDirectory()
    let fileSystem = POSIXFileSystem()
    // Before the holder is killed, the observer finds the lock held.
    let observer = Task {
      while true {
        do {
          try fileSystem.lock(directory.file("lock"), .exclusive, holder: "observer").release()
        } catch let error as FileIOError {
          // Between acquiring the lock and writing its text, the holder's name is unknown.
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
        // At this moment, the observer may hold the lock.
        lock = try? fileSystem.lock("\(path)/lock", .exclusive, holder: "the child")
      }
      while try fileSystem.kind(of: "\(path)/die") == nil { usleep(1000) }
      _ = withExtendedLifetime(lock) { raise(SIGKILL) }
    }
    try await observer.value
    try fileSystem.lock(directory.file("lock"), .exclusive, holder: "next").release()
  }
}

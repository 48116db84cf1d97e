import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Synchronization

/// Holds one thread before it opens or writes a file.
final class HoldingFileSystem: ForwardingFileSystem {
  let behind: any FileSystem = POSIXFileSystem()
  private let part: String
  // Atomics instead of locks: a lock that is held at the fork stays locked in the child process.
  private let waits = Atomic(false)
  private let isWaiting = Atomic(false)

  /// - Parameter part: A part of the paths of the files.
  init(_ part: String) { self.part = part }

  /// Runs `work` on another thread, and `body` while that thread waits.
  func hold(_ work: @escaping @Sendable () throws -> Void, meanwhile body: () throws -> Void) throws {
    let outcome = Guarded<Result<Void, any Error>?>(nil)
    waits.store(true, ordering: .sequentiallyConsistent)
    let isStarted = PlatformThread.start(name: "held") {
      let result = Result { try work() }
      outcome.withLock { $0 = result }
    }
    try expectInFork(isStarted, "the thread did not start")
    while !isWaiting.load(ordering: .sequentiallyConsistent) {
      try outcome.withLock { $0 }?.get()
      ForkedChild.waitAMillisecond()
    }
    let result = Result { try body() }
    waits.store(false, ordering: .sequentiallyConsistent)
    while outcome.withLock({ $0 == nil }) { ForkedChild.waitAMillisecond() }
    try outcome.withLock { $0 }?.get()
    try result.get()
  }

  fileprivate func wait(_ path: String) {
    guard path.contains(part) else { return }
    while waits.load(ordering: .sequentiallyConsistent) {
      isWaiting.store(true, ordering: .sequentiallyConsistent)
      ForkedChild.waitAMillisecond()
    }
  }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    wait(path)
    return HeldFile(try behind.open(path, mode), self)
  }
}

private final class HeldFile: ForwardingFile {
  let behind: any File
  private let fileSystem: HoldingFileSystem

  init(_ behind: any File, _ fileSystem: HoldingFileSystem) {
    (self.behind, self.fileSystem) = (behind, fileSystem)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    fileSystem.wait(path)
    try behind.write(bytes, at: offset)
  }
}

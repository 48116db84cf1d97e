// A test uses this class to kill the import repeatedly. If the environment contains
// PERDURE_DEMO_KILL_AT=n, the example sends itself SIGKILL during the nth call that changes a file
// or a name. The class counts calls, not seconds, so it can interrupt every step of an import on a
// machine of any speed.

import DebianArchiveGraph
import Foundation
import Perdure
import PerdureFileIO
import PerdureLog
import Synchronization

/// The moment at which the process ends, and the number of its changes so far.
final class ImportKill: Sendable {
  /// The moment from the environment; nil if the variable is missing or is not a number.
  static let asked = ProcessInfo.processInfo.environment["PERDURE_DEMO_KILL_AT"].flatMap { Int($0) }
    .map(ImportKill.init)

  private let moment: Int
  private let changes = Atomic(0)

  private init(at moment: Int) { self.moment = moment }

  /// Counts a change. If it is the nth change, calls `part`, which can make a part of the change,
  /// and then kills the process.
  func pass(_ part: () -> Void = {}) {
    guard changes.add(1, ordering: .relaxed).newValue == moment else { return }
    part()
    kill(getpid(), SIGKILL)
  }

  /// Prints a step that was reached, and the number of changes so far.
  func tell(_ what: String) {
    FileHandle.standardOutput.write(Data("\(what) \(changes.load(ordering: .relaxed))\n".utf8))
  }

  /// The example's container, on a file system that can end the process.
  func container(at path: String) throws -> PersistentContainer {
    PersistentContainer(
      name: "DebianArchive", model: try ManagedObjectModel(archiveClasses.map(\.entityDescription)),
      classes: archiveClasses, description: PersistentStoreDescription(path: path),
      factory: StoreFactory { [self] _, model in
        var options = StoreOptions()
        options.fileSystem = KillingFileSystem(end: self)
        return try LogPersistentStore(at: path, model: model, options: options)
      })
  }
}

/// The system's files. Calls that change something are counted.
private struct KillingFileSystem: FileSystem {
  let end: ImportKill
  private let behind = POSIXFileSystem()

  init(end: ImportKill) { self.end = end }

  func createDirectory(_ path: String) throws(FileIOError) {
    end.pass()
    try behind.createDirectory(path)
  }
  func contents(of directory: String) throws(FileIOError) -> [String] { try behind.contents(of: directory) }
  func kind(of path: String) throws(FileIOError) -> FileKind? { try behind.kind(of: path) }
  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    if mode == .create { end.pass() }
    return KillingFile(end: end, behind: try behind.open(path, mode))
  }
  func rename(_ source: String, to destination: String) throws(FileIOError) {
    end.pass()
    try behind.rename(source, to: destination)
  }
  func remove(_ path: String) throws(FileIOError) {
    end.pass()
    try behind.remove(path)
  }
  func syncDirectory(_ path: String) throws(FileIOError) {
    end.pass()
    try behind.syncDirectory(path)
  }
  func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    end.pass()
    return try behind.lock(path, kind, holder: holder)
  }
  func availableBytes(at path: String) throws(FileIOError) -> UInt64 { try behind.availableBytes(at: path) }
}

private final class KillingFile: File {
  private let end: ImportKill
  private let behind: any File

  init(end: ImportKill, behind: any File) {
    self.end = end
    self.behind = behind
  }

  var path: String { behind.path }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    // Write only half of the bytes, to simulate a crash in the middle of a write.
    end.pass { try? behind.write(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]), at: offset) }
    try behind.write(bytes, at: offset)
  }
  func allocate(_ length: UInt64) throws(FileIOError) {
    end.pass()
    try behind.allocate(length)
  }
  func sync(_ mode: SyncMode) throws(FileIOError) {
    end.pass()
    try behind.sync(mode)
  }

  func size() throws(FileIOError) -> UInt64 { try behind.size() }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int {
    try behind.read(into: buffer, at: offset)
  }
  func nextData(from offset: UInt64) throws(FileIOError) -> UInt64? { try behind.nextData(from: offset) }
  func map(_ length: Int) throws(FileIOError) -> FileMapping { try behind.map(length) }
  func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool { try behind.tryLock(range) }
  func unlock(_ range: Range<UInt64>) throws(FileIOError) { try behind.unlock(range) }
  func isLocked(_ range: Range<UInt64>) throws(FileIOError) -> Bool { try behind.isLocked(range) }
  func close() throws(FileIOError) { try behind.close() }
}

// A lock on a file, which the system releases when the holder's process ends.
//
// The lock is the system's `flock` on an open file. If the file is opened twice, the two locks
// conflict unless both are shared, even in one process. The text in the file is for messages only;
// the lock does not depend on it.
//
// The lock's holder may remove the file between another process's `open` and `flock`. A lock on a
// removed file excludes no process. So the new holder checks the name after it has acquired the
// lock. If the name refers to another file or does not exist, the attempt is repeated, at most 100
// times in all.

final class POSIXFileLock: FileLock {
  let file: POSIXFile
  private let kind: LockKind
  private let place: POSIXPlace
  private let mark: ProcessMark

  /// Opens or creates the file at `place` and acquires its lock. If it throws, no lock is held.
  ///
  /// - Parameter opened: Called in each attempt, between opening the file and locking it.
  init(
    _ place: POSIXPlace, _ kind: LockKind, holder: String, opened: () -> Void = {}
  ) throws(FileIOError) {
    self.kind = kind
    self.place = place
    mark = try ProcessMark.current()
    file = try Self.lockedFile(place, kind, opened)
    guard file.isWritable else { return }
    do throws(FileIOError) { try LockHolder.write(holder, to: file) } catch {
      // The text is for messages only: on a full volume, the lock is held without it.
      guard error.code.isLackOfSpace else { throw error }
    }
  }

  /// Opens the file at `place`, and locks it.
  private static func lockedFile(
    _ place: POSIXPlace, _ kind: LockKind, _ opened: () -> Void
  ) throws(FileIOError) -> POSIXFile {
    // An attempt is repeated only if the name no longer refers to the locked file.
    for _ in 1...100 {
      let file = try open(place, kind)
      opened()
      let number = try file.lock(kind)
      guard !KnownErrno.isLockHeld(number) else {
        throw FileIOError(
          .locked, operation: .lock, path: place.path, errno: number, detail: LockHolder.clause(in: file))
      }
      guard number == 0 else { throw place.failure(number, .lock) }
      if try isNamed(file, place) { return file }
      // Errors are ignored: the removed file's lock has no effect.
      _ = try? file.close()
    }
    throw FileIOError(
      .locked, operation: .lock, path: place.path, detail: "the file is removed repeatedly")
  }

  func isNamed() throws(FileIOError) -> Bool { try Self.isNamed(file, place) }

  private static func isNamed(_ file: POSIXFile, _ place: POSIXPlace) throws(FileIOError) -> Bool {
    let result = try file.withDescriptor(.lock) { descriptor in
      place.call { SystemCall.isNamed(descriptor, $1, in: $0) }
    }
    guard result.errno == 0 else { throw place.failure(result.errno, .lock) }
    return result.value
  }

  func release() {
    // The lock belongs to the open file, which a forked child shares with its parent. So the child
    // only closes its own descriptor.
    guard mark.isOwn else {
      _ = try? file.close()
      return
    }
    // An exclusive holder removes its text. The text of a shared lock may belong to another holder.
    // Errors are ignored: the text is for messages only, and closing also releases the lock. The
    // explicit `unlock` is for a child between `fork` and `exec`, which still shares the open file.
    if kind == .exclusive { _ = try? file.truncate(to: 0) }
    _ = try? file.unlock()
    _ = try? file.close()
  }

  /// Opens the lock file. For a shared lock, it is opened for reading if writing is not permitted.
  private static func open(_ place: POSIXPlace, _ kind: LockKind) throws(FileIOError) -> POSIXFile {
    var isWritable = true
    var result = place.call { SystemCall.openLockFile($1, in: $0, writable: true) }
    if kind == .shared && KnownErrno.isWritingRefused(result.errno) {
      isWritable = false
      let refusal = result.errno
      result = place.call { SystemCall.openLockFile($1, in: $0, writable: false) }
      if result.errno != 0 { throw place.failure(refusal, .lock) }
    }
    guard result.errno == 0 else { throw place.refusal(result.errno, .lock) }
    let file = POSIXFile(path: place.path, descriptor: result.value, isWritable: isWritable)
    try place.checkIsFile(result.value, .lock)
    return file
  }
}

/// The line in a lock file that describes the holder.
enum LockHolder {
  /// The maximum length of the text that is read back, in bytes.
  private static let lengthMax = 512

  static func write(_ holder: String, to file: POSIXFile) throws(FileIOError) {
    try file.truncate(to: 0)
    try file.write(Array((holder + "\n").utf8), at: 0)
  }

  static func clause(in file: POSIXFile) -> String {
    clause(for: read(from: file))
  }

  /// A clause about the holder. Its text may be missing, for example while the holder writes it.
  static func clause(for holder: String?) -> String {
    holder.map { "held by \($0)" } ?? "held by an unnamed process"
  }

  /// The text; nil if there is none or it cannot be read. Missing text is not an error.
  private static func read(from file: POSIXFile) -> String? {
    guard let bytes = try? file.read(lengthMax, at: 0) else { return nil }
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
    return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
  }
}

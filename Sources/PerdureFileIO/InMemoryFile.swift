import Synchronization

/// An open file of an `InMemoryFileSystem`.
final class InMemoryFile: File {
  let path: String
  private let content: MemoryContent
  private let isWritable: Bool
  private let countLinks: @Sendable () -> Int
  private let isClosed = Atomic<Bool>(false)
  private let locks: RangeLockTable.Holder

  /// - Parameter countLinks: Returns the number of the file's names.
  init(path: String, content: MemoryContent, isWritable: Bool, countLinks: @escaping @Sendable () -> Int) {
    self.path = path
    self.content = content
    self.isWritable = isWritable
    self.countLinks = countLinks
    locks = RangeLockTable.Holder(content.locks)
  }

  deinit { locks.releaseAll() }

  func size() throws(FileIOError) -> UInt64 {
    try checkOpen(.size)
    return UInt64(content.count)
  }

  func linkCount() throws(FileIOError) -> Int {
    try checkOpen(.linkCount)
    return countLinks()
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int {
    try checkOpen(.read)
    try FileRange.check(buffer.count, at: offset, operation: .read, path: path)
    return content.read(into: buffer, at: offset)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    try checkOpen(.write)
    guard isWritable else {
      throw FileIOError(.permissionDenied, operation: .write, path: path, offset: offset)
    }
    try FileRange.check(bytes.count, at: offset, operation: .write, path: path)
    guard content.write(bytes, at: offset) else {
      throw FileIOError(.noSpace, operation: .write, path: path, offset: offset)
    }
  }

  func sync(_ mode: SyncMode) throws(FileIOError) {
    try checkOpen(.sync)
  }

  func map(_ length: Int) throws(FileIOError) -> FileMapping {
    precondition(length > 0, "A mapping must have at least one byte")
    try checkOpen(.map)
    guard let mapping = content.map(length) else {
      throw FileIOError(.outOfMemory, operation: .map, path: path)
    }
    return mapping
  }

  func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool {
    try checkOpen(.tryLock)
    guard isWritable else { throw FileIOError(.permissionDenied, operation: .tryLock, path: path) }
    return locks.take(range)
  }

  func unlock(_ range: Range<UInt64>) throws(FileIOError) {
    try checkOpen(.unlock)
    locks.release(range)
  }

  func isLocked(_ range: Range<UInt64>) throws(FileIOError) -> Bool {
    try checkOpen(.isLocked)
    return locks.isTakenByOther(range)
  }

  func close() throws(FileIOError) {
    isClosed.store(true, ordering: .relaxed)
    locks.releaseAll()
  }

  private func checkOpen(_ operation: FileIOError.Operation) throws(FileIOError) {
    guard !isClosed.load(ordering: .relaxed) else {
      throw FileIOError(.closed, operation: operation, path: path)
    }
  }
}

/// The range of file offsets.
package enum FileRange {
  /// Throws if the range ends after the largest offset that a system can express.
  package static func check(_ count: Int, at offset: UInt64, operation: FileIOError.Operation, path: String)
    throws(FileIOError)
  {
    guard offset <= UInt64(Int64.max) - UInt64(count) else {
      throw FileIOError(
        errno: KnownErrno.invalidArgument, operation: operation, path: path, offset: offset)
    }
  }
}

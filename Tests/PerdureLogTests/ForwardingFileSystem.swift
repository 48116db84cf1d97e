import PerdureFileIO

/// A file system that stands before another one, and is like it but for what it does itself.
protocol ForwardingFileSystem: FileSystem {
  var behind: any FileSystem { get }
}

extension ForwardingFileSystem {
  func createDirectory(_ path: String) throws(FileIOError) { try behind.createDirectory(path) }
  func contents(of directory: String) throws(FileIOError) -> [String] { try behind.contents(of: directory) }
  func kind(of path: String) throws(FileIOError) -> FileKind? { try behind.kind(of: path) }
  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File { try behind.open(path, mode) }
  func rename(_ source: String, to destination: String) throws(FileIOError) {
    try behind.rename(source, to: destination)
  }
  func remove(_ path: String) throws(FileIOError) { try behind.remove(path) }
  func syncDirectory(_ path: String) throws(FileIOError) { try behind.syncDirectory(path) }
  func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try behind.lock(path, kind, holder: holder)
  }
  func availableBytes(at path: String) throws(FileIOError) -> UInt64 { try behind.availableBytes(at: path) }
}

/// A file of such a file system.
protocol ForwardingFile: File {
  var behind: any File { get }
}

extension ForwardingFile {
  var path: String { behind.path }

  func size() throws(FileIOError) -> UInt64 { try behind.size() }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int {
    try behind.read(into: buffer, at: offset)
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    try behind.write(bytes, at: offset)
  }
  func sync(_ mode: SyncMode) throws(FileIOError) { try behind.sync(mode) }
  func map(_ length: Int) throws(FileIOError) -> FileMapping { try behind.map(length) }
  func close() throws(FileIOError) { try behind.close() }
  func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool { try behind.tryLock(range) }
  func unlock(_ range: Range<UInt64>) throws(FileIOError) { try behind.unlock(range) }
  func isLocked(_ range: Range<UInt64>) throws(FileIOError) -> Bool { try behind.isLocked(range) }
}

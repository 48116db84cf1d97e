public import PerdureFileIO

/// A file system that implements some calls, and forwards the others to another file system. Use it
/// to count, fail or skip calls.
public protocol ForwardingFileSystem: FileSystem {
  /// The file system that receives the forwarded calls.
  var behind: any FileSystem { get }
}

extension ForwardingFileSystem {
  /// As `behind` does.
  public func absolutePath(_ path: String) throws(FileIOError) -> String { try behind.absolutePath(path) }
  /// As `behind` does.
  public func createDirectory(_ path: String) throws(FileIOError) { try behind.createDirectory(path) }
  /// As `behind` does.
  public func contents(of directory: String) throws(FileIOError) -> [String] {
    try behind.contents(of: directory)
  }
  /// As `behind` does.
  public func kind(of path: String) throws(FileIOError) -> FileKind? { try behind.kind(of: path) }
  /// As `behind` does.
  public func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    try behind.open(path, mode)
  }
  /// As `behind` does.
  public func rename(_ source: String, to destination: String) throws(FileIOError) {
    try behind.rename(source, to: destination)
  }
  /// As `behind` does.
  public func link(_ source: String, to name: String) throws(FileIOError) {
    try behind.link(source, to: name)
  }
  /// As `behind` does.
  public func remove(_ path: String) throws(FileIOError) { try behind.remove(path) }
  /// As `behind` does.
  public func syncDirectory(_ path: String) throws(FileIOError) { try behind.syncDirectory(path) }
  /// As `behind` does.
  public func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try behind.lock(path, kind, holder: holder)
  }
  /// As `behind` does.
  public func availableBytes(at path: String) throws(FileIOError) -> UInt64 {
    try behind.availableBytes(at: path)
  }
}

/// A file that implements some calls, and forwards the others to another file.
public protocol ForwardingFile: File {
  /// The file that receives the forwarded calls.
  var behind: any File { get }
}

extension ForwardingFile {
  /// The path of `behind`.
  public var path: String { behind.path }

  /// As `behind` does.
  public func size() throws(FileIOError) -> UInt64 { try behind.size() }
  /// As `behind` does.
  public func linkCount() throws(FileIOError) -> Int { try behind.linkCount() }
  /// As `behind` does.
  public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int {
    try behind.read(into: buffer, at: offset)
  }
  /// As `behind` does.
  public func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    try behind.write(bytes, at: offset)
  }
  /// As `behind` does.
  public func nextData(from offset: UInt64) throws(FileIOError) -> UInt64? {
    try behind.nextData(from: offset)
  }
  /// As `behind` does.
  public func allocate(_ length: UInt64) throws(FileIOError) { try behind.allocate(length) }
  /// As `behind` does.
  public func sync(_ mode: SyncMode) throws(FileIOError) { try behind.sync(mode) }
  /// As `behind` does.
  public func map(_ length: Int) throws(FileIOError) -> FileMapping { try behind.map(length) }
  /// As `behind` does.
  public func close() throws(FileIOError) { try behind.close() }
  /// As `behind` does.
  public func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool { try behind.tryLock(range) }
  /// As `behind` does.
  public func unlock(_ range: Range<UInt64>) throws(FileIOError) { try behind.unlock(range) }
  /// As `behind` does.
  public func isLocked(_ range: Range<UInt64>) throws(FileIOError) -> Bool { try behind.isLocked(range) }
}

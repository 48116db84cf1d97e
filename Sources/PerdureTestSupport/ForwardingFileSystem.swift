public import PerdureFileIO

/// A file system that implements some calls, and forwards the others to another file system. Use it
/// to count calls, to make them fail, or to skip them.
public protocol ForwardingFileSystem: FileSystem {
  /// The file system that receives the forwarded calls.
  var behind: any FileSystem { get }
}

extension ForwardingFileSystem {
  /// Forwards to `behind`.
  public func absolutePath(_ path: String) throws(FileIOError) -> String { try behind.absolutePath(path) }
  /// Forwards to `behind`.
  public func createDirectory(_ path: String) throws(FileIOError) { try behind.createDirectory(path) }
  /// Forwards to `behind`.
  public func contents(of directory: String) throws(FileIOError) -> [String] {
    try behind.contents(of: directory)
  }
  /// Forwards to `behind`.
  public func kind(of path: String) throws(FileIOError) -> FileKind? { try behind.kind(of: path) }
  /// Forwards to `behind`.
  public func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    try behind.open(path, mode)
  }
  /// Forwards to `behind`.
  public func rename(_ source: String, to destination: String) throws(FileIOError) {
    try behind.rename(source, to: destination)
  }
  /// Forwards to `behind`.
  public func link(_ source: String, to name: String) throws(FileIOError) {
    try behind.link(source, to: name)
  }
  /// Forwards to `behind`.
  public func remove(_ path: String) throws(FileIOError) { try behind.remove(path) }
  /// Forwards to `behind`.
  public func syncDirectory(_ path: String) throws(FileIOError) { try behind.syncDirectory(path) }
  /// Forwards to `behind`.
  public func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try behind.lock(path, kind, holder: holder)
  }
  /// Forwards to `behind`.
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

  /// Forwards to `behind`.
  public func size() throws(FileIOError) -> UInt64 { try behind.size() }
  /// Forwards to `behind`.
  public func linkCount() throws(FileIOError) -> Int { try behind.linkCount() }
  /// Forwards to `behind`.
  public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileIOError) -> Int {
    try behind.read(into: buffer, at: offset)
  }
  /// Forwards to `behind`.
  public func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    try behind.write(bytes, at: offset)
  }
  /// Forwards to `behind`.
  public func nextData(from offset: UInt64) throws(FileIOError) -> UInt64? {
    try behind.nextData(from: offset)
  }
  /// Forwards to `behind`.
  public func allocate(_ length: UInt64) throws(FileIOError) { try behind.allocate(length) }
  /// Forwards to `behind`.
  public func sync(_ mode: SyncMode) throws(FileIOError) { try behind.sync(mode) }
  /// Forwards to `behind`.
  public func map(_ length: Int) throws(FileIOError) -> FileMapping { try behind.map(length) }
  /// Forwards to `behind`.
  public func close() throws(FileIOError) { try behind.close() }
  /// Forwards to `behind`.
  public func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool { try behind.tryLock(range) }
  /// Forwards to `behind`.
  public func unlock(_ range: Range<UInt64>) throws(FileIOError) { try behind.unlock(range) }
  /// Forwards to `behind`.
  public func isLocked(_ range: Range<UInt64>) throws(FileIOError) -> Bool { try behind.isLocked(range) }
}

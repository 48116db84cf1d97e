/// A file system in memory, for stores that need not outlive the process.
///
/// It fulfills the whole contract of `FileSystem`. Syncing does nothing, because the content is
/// lost only when the object is freed. A new file system contains only the root `/`, where relative
/// paths start. It shares nothing with other objects of this class. A file's memory is freed when
/// the file has no name, is not open and is not mapped.
public final class InMemoryFileSystem: FileSystem {
  fileprivate struct State {
    var tree = NameTree()
    var contents: [NameTree.NodeID: MemoryContent] = [:]
    var locks = LockTable()
  }

  private let state = Guarded(State())

  /// Makes an empty file system.
  public init() {}

  /// See `FileSystem.createDirectory(_:)`.
  public func createDirectory(_ path: String) throws(FileIOError) {
    try state.withLock { state throws(FileIOError) in _ = try state.tree.createDirectory(.init(path)) }
  }

  /// See `FileSystem.contents(of:)`.
  public func contents(of directory: String) throws(FileIOError) -> [String] {
    try state.withLock { state throws(FileIOError) in try state.tree.contents(of: .init(directory)) }
  }

  /// See `FileSystem.kind(of:)`.
  public func kind(of path: String) throws(FileIOError) -> FileKind? { try kind(of: .init(path)) }

  /// See `FileSystem.open(_:_:)`.
  public func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    try open(.init(path), mode)
  }

  /// Opens the directory. The result refers to this directory even if the path later refers to
  /// another one.
  public func openDirectory(_ path: String) throws(FileIOError) -> any Directory {
    let node = try state.withLock { state throws(FileIOError) in
      try state.tree.directory(at: .init(path), for: .openDirectory)
    }
    return InMemoryDirectory(path, node, self)
  }

  /// See `FileSystem.rename(_:to:)`.
  public func rename(_ source: String, to destination: String) throws(FileIOError) {
    try rename(.init(source), to: .init(destination))
  }

  /// See `FileSystem.link(_:to:)`.
  public func link(_ source: String, to name: String) throws(FileIOError) {
    try state.withLock { state throws(FileIOError) in
      _ = try state.tree.link(.init(source), to: .init(name))
    }
  }

  /// See `FileSystem.remove(_:)`.
  public func remove(_ path: String) throws(FileIOError) { try remove(.init(path)) }

  /// Checks that the directory exists.
  public func syncDirectory(_ path: String) throws(FileIOError) {
    try state.withLock { state throws(FileIOError) in
      _ = try state.tree.directory(at: .init(path), for: .syncDirectory)
    }
  }

  /// See `FileSystem.lock(_:_:holder:)`.
  public func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try lock(.init(path), kind, holder: holder)
  }

  /// Returns `Int64.max`: there is no limit, regardless of the machine's memory.
  public func availableBytes(at path: String) throws(FileIOError) -> UInt64 {
    try state.withLock { state throws(FileIOError) in
      _ = try state.tree.node(at: .init(path), for: .availableBytes)
    }
    return Self.availableBytes
  }

  fileprivate static let availableBytes = UInt64(Int64.max)
}

// Operations on one name, from the root or from an open directory.
extension InMemoryFileSystem {
  fileprivate func names(in directory: NameTree.NodeID) -> [String] {
    state.withLock { $0.tree.names(in: directory) }
  }

  fileprivate func kind(of path: NameTree.Path) throws(FileIOError) -> FileKind? {
    try state.withLock { state throws(FileIOError) in try state.tree.kind(of: path) }
  }

  fileprivate func open(_ path: NameTree.Path, _ mode: FileMode) throws(FileIOError) -> any File {
    let (node, content) = try state.withLock { state throws(FileIOError) in
      if mode == .create { try state.create(path, for: .open) }
      return try state.file(at: path)
    }
    return InMemoryFile(path: path.text, content: content, isWritable: mode != .read) { [state] in
      state.withLock { $0.tree.linkCount(of: node) }
    }
  }

  fileprivate func rename(_ source: NameTree.Path, to destination: NameTree.Path) throws(FileIOError) {
    try state.withLock { state throws(FileIOError) in
      if let replaced = try state.tree.rename(source, to: destination).replaced {
        state.contents[replaced] = nil
      }
    }
  }

  fileprivate func remove(_ path: NameTree.Path) throws(FileIOError) {
    try state.withLock { state throws(FileIOError) in
      if let removed = try state.tree.remove(path).removed { state.contents[removed] = nil }
    }
  }

  fileprivate func lock(
    _ path: NameTree.Path, _ kind: LockKind, holder: String
  ) throws(FileIOError) -> any FileLock {
    let (node, number) = try state.withLock { state throws(FileIOError) in
      if try state.tree.kind(of: path) == nil { try state.create(path, for: .lock) }
      let node = try state.tree.file(at: path, for: .lock)
      return (node, try state.locks.take(node, kind, holder: holder, path: path.text))
    }
    return MemoryLock { [state] () throws(FileIOError) in
      state.withLock { $0.tree.isNamed(node, path) }
    } onRelease: { [state] in
      state.withLock { $0.locks.release(node, number: number) }
    }
  }
}

/// An open directory of an `InMemoryFileSystem`.
private final class InMemoryDirectory: Directory {
  let path: String
  private let node: NameTree.NodeID
  private let fileSystem: InMemoryFileSystem

  init(_ path: String, _ node: NameTree.NodeID, _ fileSystem: InMemoryFileSystem) {
    (self.path, self.node, self.fileSystem) = (path, node, fileSystem)
  }

  func contents() throws(FileIOError) -> [String] { fileSystem.names(in: node) }

  func kind(of name: String) throws(FileIOError) -> FileKind? { try fileSystem.kind(of: place(name)) }

  func open(_ name: String, _ mode: FileMode) throws(FileIOError) -> any File {
    try fileSystem.open(place(name), mode)
  }

  func rename(_ source: String, to destination: String) throws(FileIOError) {
    try fileSystem.rename(place(source), to: place(destination))
  }

  func remove(_ name: String) throws(FileIOError) { try fileSystem.remove(place(name)) }

  func sync() throws(FileIOError) {}

  func lock(_ name: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try fileSystem.lock(place(name), kind, holder: holder)
  }

  func availableBytes() throws(FileIOError) -> UInt64 { InMemoryFileSystem.availableBytes }

  private func place(_ name: String) -> NameTree.Path { NameTree.Path(name, in: node, of: path) }
}

extension InMemoryFileSystem.State {
  fileprivate mutating func create(_ path: NameTree.Path, for operation: FileIOError.Operation)
    throws(FileIOError)
  {
    guard let content = MemoryContent() else {
      throw FileIOError(.outOfMemory, operation: operation, path: path.text)
    }
    if let node = try tree.createFile(path, for: operation).node { contents[node] = content }
  }

  fileprivate func file(at path: NameTree.Path) throws(FileIOError) -> (NameTree.NodeID, MemoryContent) {
    let node = try tree.file(at: path, for: .open)
    guard let content = contents[node] else { preconditionFailure("A file in the tree must have content") }
    return (node, content)
  }
}

/// A file system that lives as long as the object, for stores that need not outlive the process.
///
/// Keeps the contract of `FileSystem` in full; syncing does nothing, since nothing can be lost but all of it.
/// Empty at first: the root `/` is there, and relative paths start at it. Independent of every other
/// object of its kind. A file's memory is given back when it has no name, no opener and no mapping.
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
    try state.withLock { state throws(FileIOError) in _ = try state.tree.createDirectory(path) }
  }

  /// See `FileSystem.contents(of:)`.
  public func contents(of directory: String) throws(FileIOError) -> [String] {
    try state.withLock { state throws(FileIOError) in try state.tree.contents(of: directory) }
  }

  /// See `FileSystem.kind(of:)`.
  public func kind(of path: String) throws(FileIOError) -> FileKind? {
    try state.withLock { state throws(FileIOError) in try state.tree.kind(of: path) }
  }

  /// See `FileSystem.open(_:_:)`.
  public func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    let content = try state.withLock { state throws(FileIOError) in
      mode == .create ? try state.create(path, for: "open") : try state.content(at: path)
    }
    return InMemoryFile(path: path, content: content, isWritable: mode != .read)
  }

  /// See `FileSystem.rename(_:to:)`.
  public func rename(_ source: String, to destination: String) throws(FileIOError) {
    try state.withLock { state throws(FileIOError) in
      if let replaced = try state.tree.rename(source, to: destination).replaced {
        state.contents[replaced] = nil
      }
    }
  }

  /// See `FileSystem.remove(_:)`.
  public func remove(_ path: String) throws(FileIOError) {
    try state.withLock { state throws(FileIOError) in
      state.contents[try state.tree.remove(path).removed] = nil
    }
  }

  /// Checks that the directory is there.
  public func syncDirectory(_ path: String) throws(FileIOError) {
    try state.withLock { state throws(FileIOError) in
      _ = try state.tree.directory(at: path, for: "syncDirectory")
    }
  }

  /// See `FileSystem.lock(_:_:holder:)`.
  public func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    let (node, number) = try state.withLock { state throws(FileIOError) in
      if try state.tree.kind(of: path) == nil { _ = try state.create(path, for: "lock") }
      let node = try state.tree.file(at: path, for: "lock")
      return (node, try state.locks.take(node, kind, holder: holder, path: path))
    }
    return MemoryLock { [state] in state.withLock { $0.locks.release(node, number: number) } }
  }

  /// No limit of its own: `Int64.max`, whatever the machine has.
  public func availableBytes(at path: String) throws(FileIOError) -> UInt64 {
    try state.withLock { state throws(FileIOError) in
      _ = try state.tree.node(at: path, for: "availableBytes")
    }
    return UInt64(Int64.max)
  }
}

extension InMemoryFileSystem.State {
  fileprivate mutating func create(_ path: String, for operation: String) throws(FileIOError) -> MemoryContent
  {
    guard let content = MemoryContent() else {
      throw FileIOError(.outOfMemory, operation: operation, path: path)
    }
    if let node = try tree.createFile(path, for: operation).node { contents[node] = content }
    return content
  }

  fileprivate func content(at path: String) throws(FileIOError) -> MemoryContent {
    guard let content = contents[try tree.file(at: path, for: "open")] else {
      preconditionFailure("A file in the tree has no content")
    }
    return content
  }
}

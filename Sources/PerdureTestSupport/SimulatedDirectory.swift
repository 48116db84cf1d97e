import PerdureFileIO

/// An open directory of a `SimulatedFileSystem`. An injected failure is matched against paths as
/// they were when the directory was opened.
final class SimulatedDirectory: Directory {
  let path: String
  private let node: NameTree.NodeID
  private let fileSystem: SimulatedFileSystem

  init(_ path: String, _ node: NameTree.NodeID, _ fileSystem: SimulatedFileSystem) {
    (self.path, self.node, self.fileSystem) = (path, node, fileSystem)
  }

  func contents() throws(FileIOError) -> [String] {
    try fileSystem.perform(.contents, path) { $0.tree.names(in: node) }
  }

  func kind(of name: String) throws(FileIOError) -> FileKind? { try fileSystem.kind(of: place(name)) }

  func open(_ name: String, _ mode: FileMode) throws(FileIOError) -> any File {
    try fileSystem.open(place(name), mode)
  }

  func rename(_ source: String, to destination: String) throws(FileIOError) {
    try fileSystem.rename(place(source), to: place(destination))
  }

  func remove(_ name: String) throws(FileIOError) { try fileSystem.remove(place(name)) }

  func sync() throws(FileIOError) { try fileSystem.syncDirectory(path) { _ in node } }

  func lock(_ name: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try fileSystem.lock(place(name), kind, holder: holder)
  }

  func availableBytes() throws(FileIOError) -> UInt64 {
    try fileSystem.perform(.availableBytes, path) { $0.availableBytes }
  }

  private func place(_ name: String) -> NameTree.Path { NameTree.Path(name, in: node, of: path) }
}

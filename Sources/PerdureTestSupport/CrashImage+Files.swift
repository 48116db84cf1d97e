public import PerdureFileIO

extension CrashImage {
  /// Writes the disk's content into a new directory, to save it or to examine it with other tools.
  ///
  /// - Parameters:
  ///   - directory: The path of the directory to create. It must not exist.
  ///   - fileSystem: The file system of the directory. Default: that of this machine.
  /// - Throws: Errors of `FileSystem` and `File`; some files may then exist. `.notSupported` if a
  ///   file has several names and the file system has no hard links.
  public func write(
    to directory: String, on fileSystem: any FileSystem = POSIXFileSystem()
  ) throws(FileIOError) {
    try fileSystem.createDirectory(directory)
    var links = ImageLinks()
    try Self.write(root, to: directory, fileSystem, &links)
  }

  /// Reads a disk that `write(to:on:)` has written, or any other directory. If a file has several
  /// names, each name becomes a separate file.
  ///
  /// - Throws: Errors of `FileSystem` and `File`.
  public init(
    contentsOf directory: String, on fileSystem: any FileSystem = POSIXFileSystem()
  ) throws(FileIOError) {
    self.init(root: try Self.entries(of: directory, fileSystem))
  }

  private static func write(
    _ entries: [String: Node], to directory: String, _ fileSystem: any FileSystem, _ links: inout ImageLinks
  ) throws(FileIOError) {
    for (name, node) in entries {
      let path = "\(directory)/\(name)"
      switch node {
      case .directory(let inner):
        try fileSystem.createDirectory(path)
        try write(inner, to: path, fileSystem, &links)
      case .file(let file, let link):
        if let first = links.first(of: link, otherwise: path) {
          try fileSystem.link(first, to: path)
          continue
        }
        let made = try fileSystem.open(path, .create)
        try made.write(file.bytes, at: 0)
        try made.close()
      }
    }
  }

  private static func entries(
    of directory: String, _ fileSystem: any FileSystem
  ) throws(FileIOError) -> [String: Node] {
    var entries: [String: Node] = [:]
    for name in try fileSystem.contents(of: directory) {
      let path = "\(directory)/\(name)"
      if try fileSystem.kind(of: path) == .directory {
        entries[name] = .directory(try Self.entries(of: path, fileSystem))
      } else {
        let file = try fileSystem.open(path, .read)
        entries[name] = .file(FileBytes(try file.read(Int(try file.size()), at: 0)))
        try file.close()
      }
    }
    return entries
  }
}

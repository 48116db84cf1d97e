package import PerdureFileIO

/// Reads and writes whole files of models, with errors that name the file and the remedy.
package struct ModelFolder {
  /// The greatest size of a file. Files of real models have less than 1 MiB.
  static let sizeMaxBytes = 64 << 20

  let fileSystem: any FileSystem

  package init() { self.init(fileSystem: POSIXFileSystem()) }

  init(fileSystem: any FileSystem) { self.fileSystem = fileSystem }

  /// The kind of file at a path; nil if no file exists.
  package func kind(of path: String) throws(ModelFileError) -> FileKind? {
    try calling(path) { () throws(FileIOError) in try fileSystem.kind(of: path) }
  }

  /// The names in a folder, sorted.
  func names(in path: String) throws(ModelFileError) -> [String] {
    try calling(path) { () throws(FileIOError) in try fileSystem.contents(of: path) }
  }

  /// The bytes of a file.
  package func bytes(of path: String) throws(ModelFileError) -> [UInt8] {
    let file = try calling(path) { () throws(FileIOError) in try fileSystem.open(path, .read) }
    let size = try calling(path) { () throws(FileIOError) in try file.size() }
    guard size <= Self.sizeMaxBytes else {
      throw ModelFileError(
        .file, file: path, "The file has \(size) bytes.",
        "Give a model file of at most \(Self.sizeMaxBytes) bytes.")
    }
    return try calling(path) { () throws(FileIOError) in try file.read(Int(size), at: 0) }
  }

  /// Replaces the bytes of a file, or creates it. After a crash, the file is unchanged or has the
  /// new bytes. A file that already has these bytes is not written.
  ///
  /// - Returns: Whether the file was written.
  @discardableResult
  package func write(_ bytes: [UInt8], to path: String) throws(ModelFileError) -> Bool {
    if try kind(of: path) == .file, try self.bytes(of: path) == bytes { return false }
    let folder = Self.parent(of: path)
    let number = String(UInt64.random(in: 0 ... .max), radix: 36)
    let draft = "\(folder)/.\(Self.name(of: path)).\(number)"
    try calling(path) { () throws(FileIOError) in
      let file = try fileSystem.open(draft, .create)
      do throws(FileIOError) {
        try file.write(bytes, at: 0)
        try file.sync(.full)
        try file.close()
        try fileSystem.rename(draft, to: path)
      } catch {
        // An error here is ignored, because the first error is reported. A draft that remains has a
        // hidden name.
        try? fileSystem.remove(draft)
        throw error
      }
      try fileSystem.syncDirectory(folder)
    }
    return true
  }

  /// Creates a folder if it does not exist. The folder that contains it must exist.
  package func makeFolder(_ path: String) throws(ModelFileError) {
    if try kind(of: path) == .directory { return }
    try calling(path) { () throws(FileIOError) in
      try fileSystem.createDirectory(path)
      try fileSystem.syncDirectory(Self.parent(of: path))
    }
  }

  private func calling<Result>(
    _ path: String, _ body: () throws(FileIOError) -> Result
  ) throws(ModelFileError) -> Result {
    do {
      return try body()
    } catch {
      throw ModelFileError(.file, file: path, error.message, "Check the path and its permissions.")
    }
  }

  // MARK: Paths

  /// The folder that contains a file.
  static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The last name of a path.
  static func name(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  /// A name without its extension.
  package static func stem(_ name: String) -> String {
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return name }
    return String(name[..<dot])
  }
}

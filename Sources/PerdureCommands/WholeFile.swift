import PerdureFileIO

/// Writes text files for commands.
enum WholeFile {
  /// Writes a complete file. If that fails, an existing file is unchanged.
  ///
  /// The text is written to a new file beside `path`, which then replaces it. The name of the new
  /// file has a random part, so a file that a crash left does not disturb a later call.
  ///
  /// - Throws: `FileIOError`. The file at `path` is then unchanged, and the new file is removed if
  ///   possible.
  static func write(_ text: String, to path: String) throws(FileIOError) {
    let files = POSIXFileSystem()
    let draft = "\(path).\(UInt32.random(in: 0...(.max))).new"
    let file = try files.open(draft, .create)
    do {
      try file.write(Array(text.utf8), at: 0)
      try file.close()
      try files.rename(draft, to: path)
    } catch {
      // An error here is ignored, because the first error is reported.
      try? files.remove(draft)
      throw error
    }
  }
}

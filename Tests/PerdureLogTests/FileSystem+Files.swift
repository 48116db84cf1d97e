import PerdureFileIO

extension FileSystem {
  /// The bytes of all files in a directory, by name.
  func files(in directory: String) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try contents(of: directory) {
      let file = try open(directory + "/" + name, .read)
      files[name] = try file.read(Int(file.size()), at: 0)
    }
    return files
  }
}

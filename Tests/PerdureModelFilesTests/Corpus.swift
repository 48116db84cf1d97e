import PerdureFileIO

/// Model files of public projects. These files are not part of the repository. Tests of the corpus
/// run only if `PERDURE_MODEL_CORPUS` names a folder with such files.
enum Corpus {
  /// The paths of the `.xml` files in the folder and in its subfolders.
  static let files: [String] = Environment.value(of: "PERDURE_MODEL_CORPUS").map(xmlFiles) ?? []

  static func bytes(of path: String) throws -> [UInt8] {
    let file = try POSIXFileSystem().open(path, .read)
    return try file.read(Int(file.size()), at: 0)
  }

  private static func xmlFiles(in folder: String) -> [String] {
    let names = (try? POSIXFileSystem().contents(of: folder)) ?? []
    return names.flatMap { name in
      name.hasSuffix(".xml") ? ["\(folder)/\(name)"] : xmlFiles(in: "\(folder)/\(name)")
    }
  }
}

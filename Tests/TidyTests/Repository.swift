import Foundation

/// The files of the repository. The root is found from the path of this file.
enum Repository {
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  struct SourceFile {
    /// The path from the root of the repository.
    var path: String
    var text: String

    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
  }

  /// The error for a folder without Swift files. Without this error, every rule passes in such a
  /// folder.
  struct NoFiles: Error { var folder: String }

  /// All Swift files below a folder; there must be at least one. Skips code files of tutorials,
  /// because no target compiles them.
  static func swiftFiles(in folder: String) throws -> [SourceFile] {
    let base = root.appendingPathComponent(folder)
    let found = paths(below: folder).filter { $0.hasSuffix(".swift") && !$0.contains(".docc/") }.sorted()
    guard !found.isEmpty else { throw NoFiles(folder: folder) }
    return try found.map { path in
      SourceFile(
        path: folder + "/" + path,
        text: try String(contentsOf: base.appendingPathComponent(path), encoding: .utf8))
    }
  }

  /// The relative paths of all files and folders below a folder. Skips the build folders of the
  /// packages in Benchmarks and Examples, which contain the sources of other packages.
  static func paths(below folder: String) -> [String] {
    guard let files = FileManager.default.enumerator(atPath: root.appendingPathComponent(folder).path)
    else { return [] }
    var paths: [String] = []
    while let path = files.nextObject() as? String {
      if path.split(separator: "/").last?.hasPrefix(".build") == true {
        files.skipDescendants()
      } else {
        paths.append(path)
      }
    }
    return paths
  }

  static func text(of path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }
}

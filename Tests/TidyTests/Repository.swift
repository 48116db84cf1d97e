import Foundation

/// The files of the repository, found from this file's own place.
enum Repository {
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  struct SourceFile {
    /// From the root of the repository.
    var path: String
    var text: String

    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
  }

  /// A folder without a Swift file: a rule about its files would hold, whatever the rule.
  struct NoFiles: Error { var folder: String }

  /// All Swift files below a folder; there is at least one. Code files of tutorials are left out:
  /// no target compiles them.
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

  /// The paths of all files and folders below a folder, from there. The packages in Benchmarks and
  /// Examples have builds of their own, with the sources of other packages: these are left out.
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

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
    let paths = FileManager.default.enumerator(atPath: base.path)?.compactMap { $0 as? String } ?? []
    let found = paths.filter { $0.hasSuffix(".swift") && !$0.contains(".docc/") }.sorted()
    guard !found.isEmpty else { throw NoFiles(folder: folder) }
    return try found.map { path in
      SourceFile(
        path: folder + "/" + path,
        text: try String(contentsOf: base.appendingPathComponent(path), encoding: .utf8))
    }
  }

  static func text(of path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }
}

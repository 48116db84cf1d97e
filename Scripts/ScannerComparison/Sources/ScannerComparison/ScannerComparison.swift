import Foundation
import SwiftParser

/// Compares the scanner of the macros' plugin with SwiftParser. It compares every class, struct,
/// actor and enum that SwiftParser accepts, with each of its members, in the readable Swift files
/// of the given folders outside build folders. Prints each difference. Exits with 1 if there is a
/// difference, or if the folders contain no type.
@main struct ScannerComparison {
  static func main() {
    let folders = CommandLine.arguments.dropFirst()
    guard !folders.isEmpty else {
      print("usage: ScannerComparison FOLDER…")
      exit(2)
    }
    let comparison = Comparison()
    for folder in folders { compare(folder: folder, comparison) }
    print(comparison.summary)
    exit(comparison.differences == 0 && comparison.types > 0 ? 0 : 1)
  }

  private static func compare(folder: String, _ comparison: Comparison) {
    let root = URL(fileURLWithPath: folder)
    guard let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil) else {
      return
    }
    for case let file as URL in files {
      // Skips build folders, which contain build products and fetched packages, unless such a
      // folder is given directly.
      if file.lastPathComponent.hasPrefix(".build") { files.skipDescendants() }
      guard file.pathExtension == "swift", let bytes = try? Data(contentsOf: file),
        let source = String(validating: bytes, as: UTF8.self)
      else { continue }
      comparison.compare(Parser.parse(source: source), file: file.path)
    }
  }
}

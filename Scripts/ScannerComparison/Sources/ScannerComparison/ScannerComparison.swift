import Foundation
import SwiftParser

/// Holds the scanner of the macros' plugin against SwiftParser: every class, struct, actor and enum
/// in the Swift files of the folders that are named, with each of its members. Prints each
/// difference; one ends the program with 1.
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
      // What is built, and what is fetched for that, is compared where a folder of it is named.
      if file.lastPathComponent.hasPrefix(".build") { files.skipDescendants() }
      guard file.pathExtension == "swift", let bytes = try? Data(contentsOf: file),
        let source = String(validating: bytes, as: UTF8.self)
      else { continue }
      comparison.compare(Parser.parse(source: source), file: file.path)
    }
  }
}

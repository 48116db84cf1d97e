import Foundation
import Testing

/// Compares the code blocks of a document with lines of a test file. These lines are between the
/// marks `// NAME number` and `// end`.
struct DocumentedCode {
  private let blocks: [[String]]
  private let lines: [String]
  private let name: String

  /// - Parameters:
  ///   - document: The path of the document in the repository, such as `README.md`. In the
  ///     marks, NAME is its file name without the extension.
  ///   - file: The absolute path of the test file, which is three components below the repository.
  init(_ document: String, in file: String) throws {
    let here = URL(fileURLWithPath: file)
    lines = try String(contentsOf: here, encoding: .utf8).components(separatedBy: "\n")
    name = URL(fileURLWithPath: document).deletingPathExtension().lastPathComponent
    let top = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    blocks = try String(contentsOf: top.appendingPathComponent(document), encoding: .utf8)
      .components(separatedBy: "```swift\n").dropFirst().map {
        $0.components(separatedBy: "```")[0].components(separatedBy: "\n").dropLast()
      }
  }

  /// The number of code blocks in the document, and the number of start marks in the test file.
  var counts: (document: Int, file: Int) {
    (blocks.count, lines.count { Self.text($0).hasPrefix("// \(name) ") })
  }

  /// Expects that a block equals the marked lines. The imports at its beginning may be anywhere
  /// in the file.
  func expectSame(_ number: Int) throws {
    let block = try #require(blocks.dropFirst(number - 1).first)
    let imports = block.prefix { $0.hasPrefix("import ") }
    #expect(Array(block.dropFirst(imports.count).drop { $0.isEmpty }) == region(number))
    for line in imports { #expect(lines.contains(line)) }
  }

  /// The lines between the marks, without the indentation of the start mark.
  private func region(_ number: Int) -> [String] {
    let from = lines.drop { Self.text($0) != "// \(name) \(number)" }
    let margin = from.first.map { $0.prefix { $0 == " " }.count } ?? 0
    return from.dropFirst().prefix { Self.text($0) != "// end" }.map { String($0.dropFirst(margin)) }
  }

  private static func text(_ line: String) -> String { line.trimmingCharacters(in: .whitespaces) }
}

import Foundation

/// The part of a document between the marks `<!-- name -->` and `<!-- /name -->`.
package struct MarkedBlock {
  let name: String

  package init(_ name: String) { self.name = name }

  /// A document without one of the two marks.
  package struct MissingMark: Error, CustomStringConvertible {
    package let description: String
  }

  private var first: String { "<!-- \(name) -->\n" }
  private var second: String { "<!-- /\(name) -->" }

  /// Whether a document has the first mark.
  package func begins(in text: String) -> Bool { text.contains(first) }

  /// - Returns: The text with the new block.
  /// - Throws: `MissingMark` if a mark is missing, or the second one is not after the first one.
  package func replaced(in text: String, with block: String) throws -> String {
    let start = try range(of: first, in: text[...])
    let stop = try range(of: second, in: text[start.upperBound...])
    return text[..<start.upperBound] + block + "\n" + text[stop.lowerBound...]
  }

  private func range(of mark: String, in text: Substring) throws -> Range<String.Index> {
    if let range = text.range(of: mark) { return range }
    let line = mark.trimmingCharacters(in: .newlines)
    throw MissingMark(description: "The document has no \(line). Add the two marks of the block.")
  }
}

import Foundation

/// The part of a document between the marks `<!-- name -->` and `<!-- /name -->`.
package struct MarkedBlock {
  let name: String

  package init(_ name: String) { self.name = name }

  /// A document whose first mark has no second one.
  package struct UnendedBlock: Error, CustomStringConvertible {
    package let description: String
  }

  /// - Returns: The text with the new block; unchanged if it does not contain the marks.
  /// - Throws: `UnendedBlock` if the second mark is missing.
  package func replaced(in text: String, with block: String) throws -> String {
    guard let start = text.range(of: "<!-- \(name) -->\n") else { return text }
    guard let stop = text.range(of: "<!-- /\(name) -->", range: start.upperBound..<text.endIndex) else {
      throw UnendedBlock(description: "<!-- \(name) --> has no end")
    }
    return text[..<start.upperBound] + block + "\n" + text[stop.lowerBound...]
  }
}

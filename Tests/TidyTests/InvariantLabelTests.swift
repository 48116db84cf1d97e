import Foundation
import Testing

/// Invariants have labels, such as PT2, that comments and assertions cite.
@Suite("Invariant labels")
struct InvariantLabelTests {
  /// The label at the beginning of a list item, as in "PT2  A reader claims" or "SM1. A sum".
  private func label(of text: Substring) -> String? {
    let item = /\s+(?:- )?([A-Z]{1,2}[0-9]{1,2})(?:\. | {2})\s*\S/
    return text.prefixMatch(of: item).map { String($0.output.1) }
  }

  @Test("Every label is defined in only one source file, or only in FORMAT.md")
  func unique() throws {
    var owners: [String: Set<String>] = [:]
    for file in try ["Sources", "Proof"].flatMap(Repository.swiftFiles) {
      for label in Comments(file).lines.compactMap({ label(of: $0.text) }) {
        owners[label, default: []].insert(file.path)
      }
    }
    #expect(owners.count > 150)
    for line in try Repository.text(of: "FORMAT.md").split(separator: "\n") {
      guard let match = line.prefixMatch(of: /(?:- |\| )?\**([A-Z][0-9]{1,2})\b/) else { continue }
      owners[String(match.output.1), default: []].insert("FORMAT.md")
    }
    for (label, files) in owners.sorted(by: { $0.key < $1.key }) {
      #expect(files.count == 1, "\(label) is in \(files.sorted().joined(separator: " and in "))")
    }
  }
}

import Foundation
import Testing

/// Links between the Markdown documents of the repository. docc checks links to symbols and to
/// pages of the catalogs (`make docs`). Links to other sites are not checked.
@Suite("Links between documents")
struct LinkTests {
  private static let folders = ["docs", "Sources", "Tests", "Proof", "Examples", "Benchmarks"]

  /// The paths of all documents, from the root of the repository.
  private static func documents() throws -> [String] {
    var found = try FileManager.default.contentsOfDirectory(atPath: Repository.root.path)
    for folder in folders { found += Repository.paths(below: folder).map { "\(folder)/\($0)" } }
    return found.filter { $0.hasSuffix(".md") }.sorted()
  }

  @Test("Every link to a file or a heading of the repository resolves")
  func targets() throws {
    let documents = try Self.documents()
    #expect(documents.count > 40)
    for document in documents {
      let text = try Repository.text(of: document)
      for link in Self.links(in: text) {
        #expect(try Self.isResolved(link, in: document, text), "\(document) links to \(link)")
      }
    }
  }

  @Test(
    "Links to existing targets resolve, and links to missing targets do not",
    arguments: [
      ("README.md", true), ("#a-heading-its-end", true), ("README.md#limits", true), ("docs/decisions", true),
      ("MISSING.md", false), ("#another", false), ("README.md#another", false), ("docs/README.md", false),
    ])
  func canary(_ link: String, _ isResolved: Bool) throws {
    let text = "# A `heading`: its end\n\nSee [this](\(link)) and `[code](no.md)`.\n\n```\n# another\n```\n"
    #expect(Self.links(in: text) == [link])
    #expect(try Self.isResolved(link, in: "CANARY.md", text) == isResolved)
  }

  /// The targets of links outside of code, except for links to other sites.
  private static func links(in text: String) -> [String] {
    let prose = proseLines(of: text).map { $0.replacing(/`[^`]*`/, with: "") }.joined(separator: "\n")
    return prose.matches(of: /\]\(<?([^)\s>]+)>?\)/).map { String($0.output.1) }
      .filter { !$0.contains(":") }
  }

  private static func isResolved(_ link: String, in document: String, _ text: String) throws -> Bool {
    let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    var target = document
    if !parts[0].isEmpty {
      let folder = document.split(separator: "/").dropLast().joined(separator: "/")
      target = folder.isEmpty ? String(parts[0]) : "\(folder)/\(parts[0])"
      let path = Repository.root.appendingPathComponent(target).standardized.path
      guard FileManager.default.fileExists(atPath: path) else { return false }
    }
    guard parts.count > 1 else { return true }
    return anchors(of: target == document ? text : try Repository.text(of: target)).contains(String(parts[1]))
  }

  /// The anchors of headings, as GitHub makes them.
  private static func anchors(of text: String) -> Set<String> {
    var counts: [String: Int] = [:]
    var anchors: Set<String> = []
    for line in proseLines(of: text) {
      guard let heading = line.firstMatch(of: /^#{1,6} +(.+)$/)?.output.1 else { continue }
      let words = heading.replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.output.1 }
      let kept = words.lowercased().filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }
      let anchor = kept.replacing(" ", with: "-")
      let count = counts[anchor, default: 0]
      anchors.insert(count == 0 ? anchor : "\(anchor)-\(count)")
      counts[anchor] = count + 1
    }
    return anchors
  }

  /// The lines outside of fenced code.
  private static func proseLines(of text: String) -> [Substring] {
    var isCode = false
    return text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
      let isFence = line.drop { $0 == " " }.hasPrefix("```")
      if isFence { isCode.toggle() }
      return !isCode && !isFence
    }
  }
}

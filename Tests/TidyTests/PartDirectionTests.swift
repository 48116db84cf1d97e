import Testing

/// The parts of a context (ARCHITECTURE.md, "The context"; D26) use only parts below them.
@Suite("Directions between the parts of a context")
struct PartDirectionTests {
  private static let folder = "Sources/Perdure/Context/"
  private static let state = [
    "ObjectRegistry", "ViewState", "PendingChanges", "TransientState", "ContextActivity", "EventHub",
  ]
  /// What no part may name: the types that connect the parts.
  private static let composition = ["ContextCore", "ContextFetching"]

  /// The parts of the groups, lowest first.
  private func groups() throws -> [(name: String, parts: [String])] {
    var groups = [("State", Self.state)]
    for name in ["Reading", "Editing", "Saving"] {
      let text = try Repository.text(of: "\(Self.folder)\(name)/Context\(name).swift")
      let parts = text.matches(of: #/(?m)^ {2}let \w+: (\w+)$/#).map { String($0.output.1) }
      groups.append((name, parts.filter { $0 != "GraphSchema" && !Self.state.contains($0) }))
    }
    return groups
  }

  /// A line of code without its comment.
  private func code(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !$0.drop(while: { $0 == " " }).hasPrefix("//") }.joined(separator: "\n")
  }

  private func names(in code: String) -> Set<String> {
    Set(code.matches(of: /\b[A-Z]\w+/).map { String($0.output) })
  }

  @Test("A part names no later part of its folder, no folder above it, and not the context")
  func directions() throws {
    let groups = try groups()
    #expect(groups.map(\.parts.count).allSatisfy { $0 >= 6 })
    var forbidden = Set(Self.composition)
    for group in groups.reversed() {
      let files = try Repository.swiftFiles(in: Self.folder + group.name)
      for file in files {
        let found = names(in: code(file.text)).intersection(forbidden)
        #expect(found.isEmpty, "\(file.path) names \(found.sorted())")
      }
      for part in group.parts.reversed() {
        let file = try #require(
          files.first { $0.path.hasSuffix("/\(part).swift") }, "\(part) has a file in \(group.name)")
        let found = names(in: code(file.text)).intersection(forbidden)
        #expect(found.isEmpty, "\(part) names \(found.sorted())")
        forbidden.insert(part)
      }
      forbidden.insert("Context\(group.name)")
    }
  }

  @Test("A part has at most 12 stored properties and 25 methods, in all its extensions")
  func sizes() throws {
    let bodies = try Repository.swiftFiles(in: "Sources/Perdure").map { code($0.text) }
    for part in try groups().flatMap(\.parts) {
      let declaration = try Regex("(?m)^(?:final class|extension) \(part)\\b[^\\n]*\\{\\n((?:(?!\\}).*\\n)*)")
      let found: [String] = bodies.flatMap { text in
        text.matches(of: declaration).map { String($0.output[1].substring ?? "") }
      }
      let members: [Substring] = found.joined().split(separator: Character("\n"))
      let stored = members.count {
        $0.contains(
          #/^ {2}(?:@\S+ )*(?:private(?:\(set\))? |weak )*(?:let|var) \w+(?:: [^{]+| = .+)?$/#)
      }
      let methods = members.count { $0.contains(#/^ {2}(?:@\S+ )*(?:private |static )*func /#) }
      #expect(stored <= 12 && methods <= 25, "\(part): \(stored) stored properties, \(methods) methods")
      #expect(stored + methods > 0)
    }
  }
}

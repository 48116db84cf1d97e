import Testing

/// The parts of a context (ARCHITECTURE.md, "The context"; D26) use only parts below them.
@Suite("Directions between the parts of a context")
struct PartDirectionTests {
  private static let folder = "Sources/Perdure/Context/"
  private static let state = [
    "ObjectRegistry", "ViewState", "PendingChanges", "TransientState", "ContextActivity", "EventHub",
  ]
  /// The type that connects the parts. No part may name it.
  private static let composition = "ContextCore"

  /// The parts of the groups, lowest first.
  private func groups() throws -> [(name: String, parts: [String])] {
    var groups = [("State", Self.state)]
    for name in ["Reading", "Editing", "Queries", "Saving", "Operations"] {
      let text = try Repository.text(of: "\(Self.folder)\(name)/Context\(name).swift")
      let parts = text.matches(of: #/(?m)^ {2}let \w+: (\w+)$/#).map { String($0.output.1) }
      groups.append((name, parts.filter { $0 != "GraphSchema" && !Self.state.contains($0) }))
    }
    return groups
  }

  /// The text without the lines that contain only a comment.
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
    #expect(groups.map(\.parts.count).allSatisfy { $0 >= 5 })
    var forbidden = Set([Self.composition])
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

  @Test(
    "A part stores a whole lower group only to use more than three of its parts, or to pass the group on"
  )
  func wholeGroups() throws {
    let groups = try groups().dropFirst()
    for (position, group) in groups.enumerated() {
      for part in group.parts {
        let code = code(try Repository.text(of: "\(Self.folder)\(group.name)/\(part).swift"))
        for lower in groups.prefix(position) where names(in: code).contains("Context\(lower.name)") {
          let variable = lower.name.lowercased()
          let uses = Set(
            code.matches(of: try Regex("(?:[^\\w.]|self\\.)\(variable)\\.(\\w+)")).map {
              String($0.output[1].substring ?? "")
            })
          let passesOn = code.contains(try Regex("[^\\w.]\(variable)[,)]"))
          #expect(uses.count > 3 || passesOn, "\(part) uses \(uses.sorted()) of Context\(lower.name)")
        }
      }
    }
  }

  @Test("A part has at most 12 stored properties and 25 methods, in all its extensions")
  func sizes() throws {
    for part in try groups().flatMap(\.parts) { try expectSmall(part) }
  }

  @Test("The context itself has at most 12 stored properties and 25 methods, in all its extensions")
  func sizeOfComposition() throws { try expectSmall(Self.composition) }

  private func expectSmall(_ type: String) throws {
    let declaration = try Regex(
      "(?m)^(?:private |fileprivate )?(?:final class|struct|extension) \(type)\\b[^\\n]*\\{\\n((?:(?!\\}).*\\n)*)"
    )
    let found: [String] = try Repository.swiftFiles(in: "Sources/Perdure").flatMap { file in
      code(file.text).matches(of: declaration).map { String($0.output[1].substring ?? "") }
    }
    let members: [Substring] = found.joined().split(separator: Character("\n"))
    let stored = members.count {
      $0.contains(
        #/^ {2}(?:@\S+ )*(?:private(?:\(set\))? |weak |lazy )*(?:let|var) \w+(?:: [^{]+| = .+)?$/#)
    }
    let methods = members.count {
      $0.contains(#/^ {2}(?:@\S+ )*(?:private |fileprivate |static )*func /#)
    }
    #expect(stored <= 12 && methods <= 25, "\(type): \(stored) stored properties, \(methods) methods")
    #expect(stored + methods > 0)
  }
}

import Testing

@testable import DebianIndexReading

private func bytes(_ text: String) -> ArraySlice<UInt8> { Array(text.utf8)[...] }

@Suite("Dependency fields") struct DependencyParserTests {
  private func parse(
    _ text: String, kind: DependencyKind = .depends
  ) -> (dependencies: [Dependency], malformed: [String]) {
    var malformed: [String] = []
    let dependencies = DependencyParser.parse(bytes(text), kind: kind) { malformed.append($0) }
    return (dependencies, malformed)
  }

  @Test("Clauses, alternatives, architectures and versions are parsed in order")
  func wholeGrammar() {
    let (dependencies, malformed) = parse(
      " libc6 (>= 2.36), perl:any | perl-base:amd64 (<< 5.40~),\n python3\n")
    #expect(malformed.isEmpty)
    #expect(
      dependencies == [
        Dependency(
          kind: .depends, group: 0, position: 0, target: "libc6",
          constraint: VersionConstraint(.laterOrEqual, "2.36")
        ),
        Dependency(kind: .depends, group: 1, position: 0, target: "perl", architecture: "any"),
        Dependency(
          kind: .depends, group: 1, position: 1, target: "perl-base", architecture: "amd64",
          constraint: VersionConstraint(.earlier, "5.40~")),
        Dependency(kind: .depends, group: 2, position: 0, target: "python3"),
      ])
  }

  @Test(
    "Every relation is parsed with and without spaces",
    arguments: [
      ("<<", .earlier), ("<=", .earlierOrEqual), ("=", .equal), (">=", .laterOrEqual), (">>", .later),
      ("<", .earlierOrEqual), (">", .laterOrEqual),
    ] as [(String, VersionRelation)])
  func relations(sign: String, relation: VersionRelation) {
    for text in ["a(\(sign)1:2.0-3)", "a ( \(sign) 1:2.0-3 )", "a\n (\(sign)\n 1:2.0-3)"] {
      let (dependencies, malformed) = parse(text, kind: .provides)
      #expect(malformed.isEmpty)
      #expect(dependencies.map(\.constraint) == [VersionConstraint(relation, "1:2.0-3")])
      #expect(dependencies.map(\.kind) == [.provides])
    }
  }

  @Test("Empty text and extra commas add no clauses")
  func emptyClauses() {
    #expect(parse("").dependencies.isEmpty)
    let (dependencies, malformed) = parse(" , a,, b ,\n")
    #expect(dependencies.map(\.target) == ["a", "b"])
    #expect(dependencies.map(\.group) == [0, 1])
    #expect(malformed.isEmpty)
  }

  @Test(
    "A malformed clause is skipped, reported and counted, and the other clauses are parsed",
    arguments: [
      "b (>= ", "b (2)", "b ()", "b (>= 1", "b | ", "| b", "b c", "b (=> 1)", "b:", "b (>= 1) x", "é",
      "b | c (~ 1)",
    ])
  func malformed(clause: String) {
    let (dependencies, malformed) = parse("a, \(clause), z (= 1)")
    #expect(dependencies.map(\.target) == ["a", "z"])
    #expect(dependencies.map(\.group) == [0, 2])
    #expect(malformed == [clause.trimmingPrefix { _ in false }.trimmingSuffix()])
  }

  @Test("Every kind has its own field name")
  func fieldNames() {
    #expect(Set(DependencyKind.allCases.map { $0.fieldName.description }).count == 9)
  }
}

extension Substring {
  fileprivate func trimmingSuffix() -> String {
    var result = self
    while result.last == " " { result.removeLast() }
    return String(result)
  }
}

@Suite("Maintainer fields") struct MaintainerParserTests {
  @Test(
    "A name and an address are parsed, even if either is missing",
    arguments: [
      (" Ada Lovelace <ada@example.org>", "Ada Lovelace", "ada@example.org"),
      ("\"Ada K. Lovelace, III\" <ada@example.org>\n", "Ada K. Lovelace, III", "ada@example.org"),
      ("Ada Lovelace", "Ada Lovelace", ""), ("<ada@example.org>", "ada@example.org", "ada@example.org"),
      ("ada@example.org", "ada@example.org", "ada@example.org"),
      ("Ada <ada@example.org", "Ada", "ada@example.org"),
      ("Ada (<3 sets) <ada@example.org>", "Ada (<3 sets)", "ada@example.org"),
    ])
  func nameAndAddress(text: String, name: String, address: String) {
    #expect(MaintainerParser.parse(bytes(text)) == Maintainer(name: name, address: address))
  }

  @Test("A blank field yields no maintainer")
  func blank() {
    #expect(MaintainerParser.parse(bytes(" \n ")) == nil)
  }
}

@Suite("Tag fields") struct TagParserTests {
  @Test("Lists and braces are expanded, even across lines")
  func expansion() {
    let tags = TagParser.parse(
      bytes(" admin::{configuring,logging}, role::program,\n use::{a, b ,\n c}x, plain\n"))
    #expect(
      tags == [
        "admin::configuring", "admin::logging", "role::program", "use::ax", "use::bx", "use::cx", "plain",
      ])
  }

  @Test("A repeated tag counts once")
  func duplicates() {
    #expect(TagParser.parse(bytes("a::b, a::{b,c}, a::c")) == ["a::b", "a::c"])
  }

  @Test(
    "Invalid braces are reported and skipped", arguments: ["a::{b", "a::b}", "a::}b{", "a::{b{c}}"])
  func malformed(entry: String) {
    var malformed: [String] = []
    let tags = TagParser.parse(bytes("x::y, \(entry)")) { malformed.append($0) }
    #expect(tags == ["x::y"])
    #expect(malformed == [entry])
  }
}

import Testing

@testable import DebianIndexReading

@Suite("Package records") struct PackageReaderTests {
  private func packages(of text: String) throws -> (
    records: [PackageRecord], problems: [ArchiveProblem], stanzas: Int
  ) {
    let problems = Collected<ArchiveProblem>()
    let report = { (problem: ArchiveProblem) in problems.items.append(problem) }
    var reader = PackageReader(try reader(of: Array(text.utf8), report: report), report: report)
    var records: [PackageRecord] = []
    while let record = try reader.next() { records.append(record) }
    return (records, problems.items, reader.stanzaCount)
  }

  @Test("A stanza becomes a record")
  func wholeRecord() throws {
    let (records, problems, _) = try packages(
      of: """
        Package: perdure-tools
        Source: perdure (1.2-3)
        Version: 1.2-3+b1
        Installed-Size: 42
        Maintainer: Ada Lovelace <ada@example.org>
        Architecture: amd64
        Provides: perdure-cli (= 1.2)
        Depends: libc6 (>= 2.36), a | b
        Pre-Depends: dpkg
        Description: keeps what you keep
         in more words
        Homepage: https://example.org/
        Section: database
        Priority: optional
        Tag: role::program, works-with::{db,file}
        Size: 1234

        """)
    #expect(problems.isEmpty)
    let record = try #require(records.first)
    #expect(record.name == "perdure-tools")
    #expect(record.version == "1.2-3+b1")
    #expect(record.architecture == "amd64")
    #expect(record.source == "perdure")
    #expect(record.maintainer == Maintainer(name: "Ada Lovelace", address: "ada@example.org"))
    #expect(record.section == "database")
    #expect(record.priority == "optional")
    #expect(record.summary == "keeps what you keep")
    #expect(record.homepage == "https://example.org/")
    #expect(record.installedSize == 42)
    #expect(record.size == 1234)
    #expect(record.tags == ["role::program", "works-with::db", "works-with::file"])
    #expect(record.dependencies.map(\.target) == ["dpkg", "libc6", "a", "b", "perdure-cli"])
    #expect(record.dependencies.map(\.kind) == [.preDepends, .depends, .depends, .depends, .provides])
    #expect(record.dependencies.map(\.group) == [0, 0, 1, 1, 0])
  }

  @Test("A stanza without a name is reported with its line and skipped")
  func namelessStanza() throws {
    let (records, problems, stanzas) = try packages(
      of: "Package: a\n\nVersion: 1\n\nPackage:\n\nPackage: b\n")
    #expect(records.map(\.name) == ["a", "b"])
    #expect(problems.map(\.place.line) == [3, 5])
    #expect(stanzas == 4)
  }

  @Test("An unreadable part of a field is reported with the field's line and skipped")
  func malformedField() throws {
    let (records, problems, _) = try packages(of: "Package: a\nVersion: 1\nDepends: b, c (, d\nTag: x::{y\n")
    #expect(records.first?.dependencies.map(\.target) == ["b", "d"])
    #expect(records.first?.tags == [])
    #expect(Set(problems.map(\.place.line)) == [3, 4])
  }
}

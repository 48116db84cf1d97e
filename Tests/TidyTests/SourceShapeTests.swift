import Foundation
import Testing

@Suite("Shape of sources and documents")
struct SourceShapeTests {
  private static let linesMax = 400

  private func shipped() throws -> [Repository.SourceFile] {
    try ["Sources", "Examples", "Proof/Proving", "Proof/Graph", "Proof/Command"]
      .flatMap(Repository.swiftFiles)
  }

  @Test("Source files without tables have at most 400 lines")
  func fileLength() throws {
    for file in try shipped() where !file.path.contains("Table") {
      #expect(file.lines.count <= Self.linesMax, "\(file.path) has \(file.lines.count) lines")
    }
  }

  @Test("Shipped sources have no forced try and no empty catch")
  func noTryBang() throws {
    for file in try shipped() {
      for (number, line) in file.lines.enumerated() where !line.drop(while: { $0 == " " }).hasPrefix("//") {
        #expect(!line.contains("try" + "!"), "\(file.path):\(number + 1)")
        let compact = line.filter { $0 != " " }
        #expect(!compact.contains("catch{}"), "\(file.path):\(number + 1)")
      }
    }
  }

  @Test("Every use of a mark that disables compiler checks has a comment on the line above")
  func uncheckedHasReason() throws {
    let marks = [
      "@unchecked " + "Sendable", "nonisolated" + "(unsafe)", "unowned" + "(unsafe)", "unsafe" + "BitCast(",
      "unsafe" + "Downcast(",
    ]
    let files =
      try shipped() + Repository.swiftFiles(in: "Tests") + Repository.swiftFiles(in: "Proof/Tests")
      + Repository.swiftFiles(in: "Proof/GraphTests")
      + Repository.swiftFiles(in: "Benchmarks/Sources")
    for file in files {
      let lines = file.lines.map { $0.drop { $0 == " " } }
      for (number, line) in lines.enumerated() {
        // A mark in a string literal is data.
        let isCode = !line.hasPrefix("//") && !line.contains("\"")
        guard isCode, marks.contains(where: { line.contains($0) }) else { continue }
        let above = number > 0 ? lines[number - 1] : ""
        #expect(
          above.hasPrefix("//") && !above.hasPrefix("///"), "\(file.path):\(number + 1) gives no reason")
      }
    }
  }

  @Test("A comment explains unchecked exclusivity before its first use in a file")
  func exclusivityHasReason() throws {
    for file in try Repository.swiftFiles(in: "Sources") {
      let lines = file.lines
      guard let first = lines.firstIndex(where: { $0.contains("@exclusivity" + "(unchecked)") }) else {
        continue
      }
      let isGiven = lines[..<first].contains { $0.contains("//") && $0.contains("exclusivity") }
      #expect(isGiven, "\(file.path):\(first + 1) gives no reason")
    }
  }

  @Test("The top-level documents exist, and the links of README.md resolve")
  func documents() throws {
    for name in [
      "README.md", "ARCHITECTURE.md", "FORMAT.md", "FORMAT-GRAPH.md", "DEVIATIONS.md", "CHANGELOG.md",
      "CONTRIBUTING.md", "RELIABILITY.md", "LICENSE",
    ] {
      #expect(try !Repository.text(of: name).isEmpty, "\(name)")
    }
    let readme = try Repository.text(of: "README.md")
    for link in readme.matches(of: /\]\(([A-Za-z0-9.\/\-]+\.md)\)/).map({ String($0.output.1) }) {
      #expect(throws: Never.self, "README.md links to \(link)") { try Repository.text(of: link) }
    }
  }

  @Test("Every Swift file that ARCHITECTURE.md or a decision names exists")
  func architectureIsTrue() throws {
    let names = Set(try shipped().map { $0.path.split(separator: "/").last.map(String.init) ?? "" })
    for document in try ["ARCHITECTURE.md"] + decisions() {
      let text = try Repository.text(of: document)
      for name in text.matches(of: /[A-Za-z+]+\.swift/).map({ String($0.output) }) {
        #expect(names.contains(name), "\(document) names \(name)")
      }
    }
  }

  /// The documents in docs/decisions, in the order of their numbers.
  private func decisions() throws -> [String] {
    let folder = "docs/decisions"
    let files = try FileManager.default.contentsOfDirectory(
      atPath: Repository.root.appendingPathComponent(folder).path)
    return files.filter { $0.hasSuffix(".md") }.sorted().map { "\(folder)/\($0)" }
  }

  @Test("Decisions are numbered without gaps, have the four headings, and ARCHITECTURE.md lists them")
  func decisionsAreListed() throws {
    let headings = ["Context", "Options measured", "Decision", "What would change it"]
    let architecture = try Repository.text(of: "ARCHITECTURE.md")
    let documents = try decisions()
    #expect(documents.count >= 20)
    for (index, document) in documents.enumerated() {
      let text = try Repository.text(of: document)
      let found = text.matches(of: /\n## (.+)/).map { String($0.output.1) }
      #expect(found == headings, "\(document)")
      #expect(text.hasPrefix("# D\(index + 1): "), "\(document)")
      #expect(architecture.contains("- D\(index + 1) -> [\(document)](\(document)): "), "\(document)")
    }
  }

  @Test("README.md has at most 120 lines, ARCHITECTURE.md at most 300")
  func documentLengths() throws {
    for (name, linesMax) in [("README.md", 120), ("ARCHITECTURE.md", 300)] {
      let count = try Repository.text(of: name).split(separator: "\n", omittingEmptySubsequences: false).count
      #expect(count - 1 <= linesMax, "\(name) has \(count - 1) lines")
    }
  }

  @Test("Every suite that DEVIATIONS.md names exists")
  func deviationsAreTested() throws {
    let tests = try Repository.swiftFiles(in: "Tests").map(\.text).joined()
    let text = try Repository.text(of: "DEVIATIONS.md")
    for name in text.matches(of: /`([A-Za-z]+Tests)`/).map({ String($0.output.1) }) {
      #expect(tests.contains("struct \(name)"), "DEVIATIONS.md names \(name)")
    }
  }

  @Test("Every test that CHANGELOG.md names under Fixed exists")
  func mendsAreTested() throws {
    let tests = try (Repository.swiftFiles(in: "Tests") + Repository.swiftFiles(in: "Proof")).map(\.text)
    let section = try #require(
      try Repository.text(of: "CHANGELOG.md").components(separatedBy: "### Fixed").dropFirst().first)
    var named = 0
    for match in section.matches(of: /`([A-Za-z]+Tests)\.([A-Za-z0-9]+)`/) {
      let (suite, function) = (match.output.1, match.output.2)
      named += 1
      #expect(
        tests.contains { Self.isPart($0, of: suite) && $0.contains("func \(function)(") },
        "CHANGELOG.md names \(suite).\(function)")
    }
    #expect(named > 50)
    #expect(!Self.isPart("struct GraphStoreTests {", of: "StoreTests"))
    #expect(!Self.isPart("// as StoreTests says", of: "StoreTests"))
  }

  /// Whether a source declares a suite or an extension of it.
  private static func isPart(_ text: String, of suite: Substring) -> Bool {
    ["struct", "class", "extension"].contains { word in
      [" ", ":"].contains { text.contains("\(word) \(suite)\($0)") }
    }
  }

  @Test("Every suite that the Makefile runs under the sanitizers exists")
  func sanitizedSuites() throws {
    let tests = try (Repository.swiftFiles(in: "Tests") + Repository.swiftFiles(in: "Proof")).map(\.text)
    let makefile = try Repository.text(of: "Makefile")
    let lists = makefile.matches(of: /(?m)^SANITIZED_[A-Z]+ := (.+)$/).map(\.output.1)
    let suites = lists.flatMap { $0.split(separator: "|") }.filter { !$0.contains("$") }
    for suite in suites {
      #expect(tests.contains { Self.isPart($0, of: suite) }, "The Makefile names \(suite)")
    }
    #expect(lists.count == 2 && suites.count > 20)
  }

  @Test("The suites and test titles in the parity list exist")
  func parity() throws {
    let table = try Repository.text(of: "Tests/ConformanceTests/README.md")
    let tests = try Repository.swiftFiles(in: "Tests").map(\.text)
    for line in table.split(separator: "\n") where line.contains("Tests`") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      let suite = cells[1].replacingOccurrences(of: "`", with: "")
      let file = try #require(tests.first { $0.contains("struct \(suite) ") }, "\(suite)")
      for name in cells[2].components(separatedBy: "; ") {
        #expect(file.contains("\"\(name)"), "\(suite): \(name)")
      }
    }
  }

  @Test("Every store option documents its default and reason, and every number also its unit and range")
  func optionsAreExplained() throws {
    var (documented, options) = ("", 0)
    for line in try Repository.text(of: "Sources/PerdureLog/StoreOptions.swift").split(separator: "\n") {
      let code = line.drop { $0 == " " }
      if code.hasPrefix("///") { documented += code.dropFirst(3) }
      guard code.hasPrefix("public var ") else {
        if !code.hasPrefix("///") { documented = "" }
        continue
      }
      options += 1
      let isNumber = code.firstMatch(of: /= -?[0-9]|Bytes|Seconds|Milliseconds|Percent|Ratio/) != nil
      for word in ["Default: ", "Why: "] + (isNumber ? ["Unit: ", "Range: "] : []) {
        #expect(documented.contains(word), "\(code) does not state \(word)")
      }
      documented = ""
    }
    #expect(options >= 9)
  }

  @Test("ARCHITECTURE.md lists exactly the invariants that the verifications check")
  func invariantsAreListed() throws {
    let source = try Repository.text(of: "Sources/PerdureLog/Verification/VerificationReport.swift")
    let graph = try Repository.text(of: "Sources/Perdure/Verification/GraphVerification.swift")
    let checked =
      source.matches(of: #/\/\/\/ (V[0-9]+): /#).map { String($0.output.1) }
      + graph.matches(of: #/\/\/   (G[0-9]+)  /#).map { String($0.output.1) }
    let text = try Repository.text(of: "ARCHITECTURE.md")
    #expect(checked == text.matches(of: /\n\| ([VG][0-9]+) \|/).map { String($0.output.1) })
    #expect(checked.count >= 12)
    let tests =
      try Repository.text(of: "Tests/PerdureLogTests/Verification/VerificationTests.swift")
      + Repository.text(of: "Tests/PerdureTests/Verification/GraphVerificationTests.swift")
      + Repository.text(of: "Tests/PerdureTests/Ordering/OrderedClassTests.swift")
    for invariant in checked { #expect(tests.contains("\"\(invariant): "), "\(invariant) has no test") }
  }

  @Test("Every public symbol is documented")
  func publicIsDocumented() throws {
    let declaration = /^ *(@[A-Za-z]+(\([^)]*\))? )*(public|open) (?!import|extension)/
    for file in try shipped() {
      let lines = file.lines
      for (number, line) in lines.enumerated() where line.prefixMatch(of: declaration) != nil {
        let above = lines[..<number].reversed().first { !$0.drop { $0 == " " }.hasPrefix("@") } ?? ""
        #expect(
          above.contains("//") || above.hasSuffix(")"), "\(file.path):\(number + 1) has no doc comment")
      }
    }
  }
}

import ArgumentParser
import Perdure
import PerdureLog
import PerdureText

/// Checks every invariant of a store, from the bytes of the log to the relationships of the graph.
struct VerifyCommand: ConsoleCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Checks a store: log, index, derived indexes, blob files, graph.",
    discussion: """
      Findings are grouped by invariant: \(Invariants.all.map { "\($0.name) \($0.title)" }.joined(separator: "; ")).

      If damage prevents the store from opening, for example a bad segment header, the files of the log are still \
      checked. Every damaged place is a finding. `perdure salvage` makes a new store from the readable \
      records.

      Exit codes: 0 clean; 1 findings; 2 the store could not be opened for a reason other than damage.
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var path: String

  @Option(help: "The maximum number of findings for each invariant; not with --json.")
  var findings = 5

  @Flag(help: "One JSON object.")
  var json = false

  func validate() throws {
    guard findings >= 0 else { throw ValidationError("--findings must not be negative") }
  }

  func perform(on console: Console) throws -> ExitCode {
    let store: OpenedStore
    do {
      store = try OpenedStore(at: path, on: console)
    } catch let error as StoreError where error.code == .corruption {
      return try verifyFiles(error, on: console)
    }
    let engine = try console.withProgress("verifying") { try store.engine.verify(progress: $0) }
    // Print these results now, because the check of the graph may take a long time.
    if !json { try show(engine, on: console) }
    let graph = try store.graph.map { graph in
      try console.withProgress("verifying the graph") { try graph.verifyGraph(progress: $0) }
    }
    if json {
      try console.print(Self.text(path, engine, graph).text)
    } else if let graph {
      try show(graph, on: console)
    }
    return engine.isClean && graph?.isClean ?? true ? .success : .findings
  }

  // MARK: - A store that does not open

  private func verifyFiles(_ failure: StoreError, on console: Console) throws -> ExitCode {
    let report = try console.withProgress("searching for damage") {
      try Store.survey(at: path, progress: $0)
    }
    var found = report.damages.map { ShownFinding($0) }
    // If the survey found nothing, the damage is in an index, or in a record that only the opening
    // of a store reads.
    if found.isEmpty {
      found = [ShownFinding(invariant: "V1", place: failure.place ?? path, message: failure.message)]
    }
    let count = max(report.damageCount, found.count)
    if json {
      try console.print(Self.text(path, failure, found, count, report).text)
      return .findings
    }
    try console.print("The store does not open: \(failure)")
    try show(FindingGroup.groups(found), on: console)
    if count > found.count { try console.print("and \(counted(count - found.count, "damaged place")) more") }
    try console.print(
      "log: \(counted(report.segments, "segment")), \(counted(report.records, "record")) readable: "
        + summary(count, on: console))
    return .findings
  }

  private static func text(
    _ path: String, _ failure: StoreError, _ found: [ShownFinding], _ count: Int, _ report: SalvageReport
  ) -> JSONText {
    .object([
      ("path", .string(path)), ("clean", .bool(false)), ("opens", .bool(false)),
      ("opening", .string("\(failure)")), ("findings", .array(found.map(json))),
      ("findingCount", .integer(count)), ("segments", .integer(report.segments)),
      ("records", .integer(report.records)),
    ])
  }

  // MARK: - Text

  private func show(_ groups: [FindingGroup], on console: Console) throws {
    for group in groups {
      try console.print(console.styled(group.title, .red))
      for line in group.lines(limit: findings) { try console.print(line) }
    }
  }

  private func show(_ engine: VerificationReport, on console: Console) throws {
    let counts = engine.findingCounts.map { ("V\($0.key.rawValue)", $0.value) }
    let groups = FindingGroup.groups(
      engine.findings.map { ShownFinding($0) }, counts: Dictionary(uniqueKeysWithValues: counts))
    try show(groups, on: console)
    // The number of commits is known only if the whole log could be read.
    let readsWhole = !engine.findings.contains { $0.invariant == .log }
    let commits = readsWhole ? counted(engine.commits, "commit") + ", " : ""
    try console.print(
      "log: \(commits)\(counted(engine.records, "record")), "
        + "\(counted(engine.indexEntries, "index entry", plural: "index entries")), "
        + "\(counted(engine.blobs, "blob file")): \(summary(engine.findingCount, on: console))")
  }

  private func show(_ graph: GraphVerificationReport, on console: Console) throws {
    try show(FindingGroup.groups(graph.findings.map { ShownFinding($0) }), on: console)
    let left = graph.referencesLeft
    let leftText =
      left == 0 ? "" : ", \(counted(left, "reference")) to deleted objects left by the delete rule noAction"
    try console.print(
      "graph: \(counted(graph.rows, "object")), \(counted(graph.links, "link"))\(leftText): "
        + summary(graph.findings.count, on: console))
  }

  private func summary(_ count: Int, on console: Console) -> String {
    count == 0 ? console.styled("clean", .green) : console.styled(counted(count, "finding"), .red)
  }

  // MARK: - JSON

  private static func text(
    _ path: String, _ engine: VerificationReport, _ graph: GraphVerificationReport?
  ) -> JSONText {
    let found = engine.findings.map { ShownFinding($0) } + (graph?.findings ?? []).map { ShownFinding($0) }
    var members: [(String, JSONText)] = [
      ("path", .string(path)), ("clean", .bool(engine.isClean && graph?.isClean ?? true)),
      ("opens", .bool(true)), ("findings", .array(found.map(json))),
      ("findingCount", .integer(engine.findingCount + (graph?.findings.count ?? 0))),
      ("commits", .integer(engine.commits)), ("records", .integer(engine.records)),
      ("indexEntries", .integer(engine.indexEntries)), ("blobs", .integer(engine.blobs)),
    ]
    if let graph {
      members += [
        ("objects", .integer(graph.rows)), ("links", .integer(graph.links)),
        ("referencesLeft", .integer(graph.referencesLeft)),
      ]
    }
    return .object(members)
  }

  private static func json(_ finding: ShownFinding) -> JSONText {
    .object([
      ("invariant", .string(finding.invariant)), ("place", .string(finding.place)),
      ("message", .string(finding.message)),
    ])
  }
}

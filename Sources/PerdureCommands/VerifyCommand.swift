import ArgumentParser
import Perdure
import PerdureLog

/// Checks every invariant of a store, from the bytes of the log to the relationships of the graph.
struct VerifyCommand: ConsoleCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Checks a store: log, index, derived indexes, blob files, graph.",
    discussion: """
      V1 frames of the log; V2 addresses; V3 index; V4 derived indexes; V5 uniqueness; V6 blob files; V7 \
      order and counts; V8 superblock; V9 catalog; V10 checkpoint; V11 counts of garbage; G1 rows; G2 to-one \
      references; G3 links; G4 uniqueness; G5 pairs and inverses; G6 numbers of objects; G7 places in \
      orders. Exit codes: 0 clean; 1 findings; 2 the store cannot be opened: `perdure salvage` makes a new one of what can be read.
      """)

  @Argument(help: "The store's directory.")
  var path: String

  @Flag(help: "One JSON object.")
  var json = false

  func perform(on console: Console) throws -> ExitCode {
    let store = try OpenedStore(at: path, on: console)
    let engine = try console.withProgress("verifying") { try store.engine.verify(progress: $0) }
    // Said before the graph is looked at, which may take long.
    if !json { show(engine, on: console) }
    let graph = try store.graph.map { graph in
      try console.withProgress("verifying the graph") { try graph.verifyGraph(progress: $0) }
    }
    if json {
      console.print(Self.text(path, engine, graph).text)
    } else if let graph {
      show(graph, on: console)
    }
    return engine.isClean && graph?.isClean ?? true ? .success : .findings
  }

  private func show(_ engine: VerificationReport, on console: Console) {
    for finding in engine.findings { console.print("\(finding)") }
    // How many there are is known when all of them could be read.
    let readsWhole = !engine.findings.contains { $0.invariant == .log }
    let commits = readsWhole ? counted(engine.commits, "commit") + ", " : ""
    console.print(
      "log: \(commits)\(counted(engine.records, "record")), "
        + "\(counted(engine.indexEntries, "index entry", plural: "index entries")), "
        + "\(counted(engine.blobs, "blob file")): \(summary(engine.findingCount))")
  }

  private func show(_ graph: GraphVerificationReport, on console: Console) {
    for finding in graph.findings { console.print("\(finding)") }
    let left = graph.referencesLeft
    let leftText =
      left == 0 ? "" : ", \(counted(left, "reference")) to deleted objects left by the rule noAction"
    console.print(
      "graph: \(counted(graph.rows, "object")), \(counted(graph.links, "link"))\(leftText): "
        + summary(graph.findings.count))
  }

  private func summary(_ count: Int) -> String { count == 0 ? "clean" : counted(count, "finding") }

  private static func text(
    _ path: String, _ engine: VerificationReport, _ graph: GraphVerificationReport?
  ) -> JSONText {
    let found =
      engine.findings.map { finding("V\($0.invariant.rawValue)", $0.place, $0.message) }
      + (graph?.findings ?? []).map { finding("G\($0.invariant)", $0.place, $0.message) }
    var members: [(String, JSONText)] = [
      ("path", .string(path)), ("clean", .bool(engine.isClean && graph?.isClean ?? true)),
      ("findings", .array(found)),
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

  private static func finding(_ invariant: String, _ place: String, _ message: String) -> JSONText {
    .object([("invariant", .string(invariant)), ("place", .string(place)), ("message", .string(message))])
  }
}

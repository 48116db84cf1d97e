import ArgumentParser
import Perdure
import PerdureLog

/// Checks every invariant of a store, from the bytes of the log to the relationships of the graph.
struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Checks a store: log, index, derived indexes, blob files, graph.")

  @Argument(help: "The store's directory.")
  var path: String

  func run() throws {
    let store = try OpenedStore(at: path)
    let engine = try store.engine.verify()
    for finding in engine.findings { print(finding) }
    print(
      "log: \(engine.commits) commits, \(engine.records) records, \(engine.indexEntries) index entries, "
        + "\(engine.blobs) blob files: \(summary(engine.findings.count))")
    var isClean = engine.isClean
    if let graph = try store.graph?.verifyGraph() {
      for finding in graph.findings { print(finding) }
      print("graph: \(graph.rows) objects, \(graph.links) links: \(summary(graph.findings.count))")
      isClean = isClean && graph.isClean
    }
    if !isClean { throw ExitCode.findings }
  }

  private func summary(_ count: Int) -> String { count == 0 ? "clean" : "\(count) findings" }
}

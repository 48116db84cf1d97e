import ArgumentParser
import Perdure
import PerdureLog

/// Shows what is in a store and what it takes.
struct StatsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats", abstract: "Shows what is in a store and what it takes.")

  @Argument(help: "The store's directory.")
  var path: String

  func run() throws {
    let store = try OpenedStore(at: path)
    let statistics = try store.engine.statistics
    let report = store.engine.recoveryReport
    row("store", store.engine.identifier)
    row("closed properly", report.wasClosed ? "yes" : "no")
    row("commits", "\(statistics.sequence)")
    row("keys", "\(statistics.keys)")
    row("segments", "\(statistics.segments)")
    row("log bytes", "\(statistics.logBytes)")
    row("torn tail bytes", "\(report.tornTailBytes)")
    row("index bytes in memory", "\(statistics.indexBytes)")
    for (entity, count) in store.graph?.objectCounts ?? [] { row("objects of \(entity)", "\(count)") }
    for (name, count) in store.graph?.indexCounts ?? [] { row("entries of \(name)", "\(count)") }
    for keyspace in store.graph == nil ? try store.engine.keyspaces : [] {
      row("keys of \(keyspace.name)", "\(store.engine.snapshot().count(in: keyspace))")
    }
  }

  private func row(_ name: String, _ value: String) {
    print(name + String(repeating: " ", count: max(1, 32 - name.count)) + value)
  }
}

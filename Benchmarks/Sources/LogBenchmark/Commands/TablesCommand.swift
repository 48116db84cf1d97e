import ArgumentParser
import Foundation
import Measuring

/// Writes the results into the documents, so that no figure is copied by hand.
struct TablesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tables", abstract: "Write the results into the tables of the documents.",
    discussion: """
      Between the marks <!-- name --> and <!-- /name -->, for the names log, summary, goals, settings, compression, \
      opening, backup and objects.
      """)

  @Option(help: "The folder of the results.")
  var results = "Benchmarks/results"

  @Option(parsing: .upToNextOption, help: "The documents.")
  var documents = [
    "Benchmarks/README.md", "docs/decisions/0001-copy-on-write-index-trees.md",
    "docs/decisions/0011-compression-with-dictionaries.md", "docs/decisions/0019-backups-of-one-commit.md",
  ]

  @Flag(help: "Show processor time of all threads instead of elapsed time, if the machine had other work.")
  var processorTime = false

  @Flag(help: "Change nothing; fail if a document differs from the results.")
  var check = false

  func run() throws {
    let blocks = try makeBlocks()
    for document in documents {
      let file = URL(fileURLWithPath: document)
      let text = try String(contentsOf: file, encoding: .utf8)
      let new = try blocks.reduce(text) { text, block in
        let marked = MarkedBlock(block.name)
        return marked.begins(in: text) ? try marked.replaced(in: text, with: block.text) : text
      }
      guard new != text else { continue }
      if check { throw EngineError("\(document) differs from the results. Run `make bench-tables`.") }
      try Data(new.utf8).write(to: file)
      print("\(document) was changed.")
    }
  }

  private func makeBlocks() throws -> [(name: String, text: String)] {
    let files = ResultFiles(folder: URL(fileURLWithPath: results))
    let measurements = try files.measurements()
    let compression: [CompressionFigure] = try files.read("compression.json")
    let opening: [OpeningFigure] = try files.read("opening.json")
    let backup: [BackupFigure] = try files.read("backup.json")
    let time = processorTime ? ResultTable.Time.processor : .elapsed
    let tables = ResultTable.all(measurements, time)
    let settings = try EngineName.allCases.map { try $0.description }
    return [
      ("log", tables.map(\.text).joined(separator: "\n\n")),
      ("summary", ResultTable.summary(measurements, time)),
      ("goals", Goal.table(ResultSet(measurements, time), compression)),
      ("settings", settings.map { "- \($0.title): \($0.settings)" }.joined(separator: "\n")),
      ("compression", CompressionFigure.table(compression)),
      ("opening", OpeningFigure.table(opening)),
      ("backup", BackupFigure.table(backup)),
    ] + (try files.objectReport().map { [("objects", $0.table)] } ?? [])
  }
}

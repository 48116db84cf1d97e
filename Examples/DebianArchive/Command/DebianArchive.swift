import ArgumentParser
import DebianArchiveGraph
import DebianIndexReading
import Foundation
import Perdure

/// Imports the Debian archive as an object graph, and queries it.
@main
struct DebianArchive: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Import the Debian archive as an object graph, then run queries on it.",
    discussion: "A second run uses the first one's store, and continues where that one was stopped."
  )

  @Argument(
    help:
      "A Packages file or a folder of them. Default: the indexes that apt keeps, or dpkg's list of installed packages."
  )
  var archive: String?

  @Option(help: "The store's directory.")
  var store = "DebianArchive.perdure"

  @Option(help: "Stanzas in one save.")
  var batch = 1_000

  @Option(help: "The package whose dependencies are followed.")
  var package: String?

  @Option(help: "The word to look for in summaries.")
  var word = "database"

  @Flag(help: "Print a line after each save, and no report.")
  var importOnly = false

  func validate() throws {
    guard (1...1_000_000).contains(batch) else { throw ValidationError("--batch must be 1 to 1000000.") }
  }

  func run() throws {
    let stopwatch = Stopwatch()
    let indexes = try IndexLocator.indexes(at: archive)
    let survey = try ArchiveSurvey(indexes)
    stopwatch.lap("find and scan the indexes")
    var container = try open()
    stopwatch.lap("open the store")
    let importRun = ArchiveImport(
      container: container, survey: survey, batchSize: batch, printsBatches: importOnly)
    try importRun.run()
    stopwatch.lap("import")
    ImportKill.asked?.tell("imported")
    try container.close()
    ImportKill.asked?.tell("closed")
    if importOnly { return }
    stopwatch.lap("close")
    container = try open()
    stopwatch.lap("open again")
    try ArchiveReport(
      container: container, survey: survey, package: package, word: word, storePath: store,
      stopwatch: stopwatch
    ).printAll()
    try container.close()
    if survey.problemCount > 0 { throw ExitCode.failure }
  }

  private func open() throws -> PersistentContainer {
    let container =
      try ImportKill.asked?.container(at: store)
      ?? PersistentContainer(name: "DebianArchive", classes: archiveClasses, at: store)
    try container.loadPersistentStores()
    ImportKill.asked?.tell("opened")
    return container
  }
}

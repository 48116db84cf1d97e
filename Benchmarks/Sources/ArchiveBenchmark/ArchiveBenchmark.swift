import ArgumentParser
import DebianIndexReading
import Foundation

/// Imports the Debian archive into each engine and asks each the same questions.
@main struct ArchiveBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Import the Debian archive into each engine, then ask each the same questions.",
    discussion: "Digests must agree: between the archive and what is read back, and between all closures.")

  @Option(help: "A Packages file or a folder of them; else what apt keeps.")
  var archive: String?

  @Option(help: "What a commit survives: full (a power cut) or normal (a crash of the process).")
  var durability: Durability = .full

  @Option(help: "Stanzas in one transaction.")
  var batch = 1_000

  @Option(help: "Where the closure starts; else a package with a large one.")
  var package: String?

  @Option(help: "How often each closure is computed hot; the median is shown.")
  var hotRuns = 5

  @Option(help: "An existing folder on the disk to measure; stores are made in it and deleted.")
  var folder: String?

  func validate() throws {
    guard batch > 0, hotRuns > 0 else { throw ValidationError("--batch and --hot-runs are at least 1.") }
  }

  func run() throws {
    let indexes = try IndexLocator.indexes(at: archive)
    for index in indexes { print("\(index.label): \(index.byteCount) bytes") }
    let results = [try result(of: SQLiteArchive.self, indexes), try result(of: PerdureArchive.self, indexes)]
    for result in results { print("\n" + Report(result: result).text) }
    print("\n" + Comparison(peer: results[0], perdure: results[1]).text)
    let closures = Set(results.flatMap(\.closures).map { "\($0.count) \($0.digest)" })
    guard results.allSatisfy(\.isRight), closures.count == 1 else {
      print("\nThe results do not agree.")
      throw ExitCode.failure
    }
  }

  private func result<Engine: ArchiveEngine>(
    of engine: Engine.Type, _ indexes: [IndexFile]
  ) throws -> TrialResult {
    let parent = folder.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
    let store = parent.appendingPathComponent("perdure-benchmark-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: store, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: store) }
    let trial = Trial<Engine>(
      indexes: indexes, durability: durability, batchSize: batch, start: package, hotRuns: hotRuns)
    return try trial.run(in: store)
  }
}

extension Durability: ExpressibleByArgument {}

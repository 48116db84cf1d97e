import ArgumentParser
import DebianIndexReading
import Foundation

/// Imports the Debian archive into each engine and runs the same queries on each.
@main struct ArchiveBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Import the Debian archive into each engine, then run the same queries on each.",
    discussion:
      "The data that each engine returns must have the digest of the archive. All closures must be equal.")

  @Option(help: "A Packages file or a folder of them. Default: the indexes that apt keeps.")
  var archive: String?

  @Option(help: "The failure that a commit survives: full (a power cut) or normal (a crash of the process).")
  var durability: Durability = .full

  @Option(help: "Stanzas in one transaction.")
  var batch = 1_000

  @Option(help: "The package whose closure is computed. Default: one with a large closure.")
  var package: String?

  @Option(help: "The number of hot runs of each closure; the median is shown.")
  var hotRuns = 5

  @Option(help: "The number of rounds. Engines alternate, and medians are shown.")
  var rounds = 3

  @Option(help: "A file to write the medians to, as JSON.")
  var results: String?

  @Option(help: "An existing folder on the disk to measure; stores are made in it and deleted.")
  var folder: String?

  func validate() throws {
    guard batch > 0, hotRuns > 0, rounds > 0 else {
      throw ValidationError("--batch, --hot-runs and --rounds must be at least 1.")
    }
  }

  func run() throws {
    let indexes = try IndexLocator.indexes(at: archive)
    var peers: [TrialResult] = []
    var own: [TrialResult] = []
    for round in 1...rounds {
      progress("round \(round) of \(rounds)")
      // The order alternates, because the state of the machine differs between the first and the
      // second engine.
      let peerIsFirst = round % 2 == 1
      if peerIsFirst { peers.append(try result(of: SQLiteArchive.self, indexes)) }
      own.append(try result(of: PerdureArchive.self, indexes))
      if !peerIsFirst { peers.append(try result(of: SQLiteArchive.self, indexes)) }
    }
    let comparison = Comparison(
      peer: .median(of: peers), perdure: .median(of: own), settings: settings(for: indexes))
    print(comparison.text)
    if let results { try comparison.json().write(to: URL(fileURLWithPath: results)) }
    try checkAgreement(of: peers + own)
  }

  /// Checks that every round of every engine returned the imported data. Checks that all methods of
  /// computing the closure reached the same packages.
  private func checkAgreement(of results: [TrialResult]) throws {
    let closures = Set(results.flatMap(\.closures).map { "\($0.count) \($0.digest)" })
    guard results.allSatisfy(\.isRight), Set(results.map(\.digest.description)).count == 1,
      closures.count == 1
    else {
      print("\nThe figures are not valid: digests or closures differ between engines, methods or rounds.")
      throw ExitCode.failure
    }
  }

  private func settings(for indexes: [IndexFile]) -> [String] {
    let system = ProcessInfo.processInfo
    return [
      "archive: " + indexes.map { "\($0.label) (\($0.byteCount) bytes)" }.joined(separator: ", "),
      "durability \(durability.rawValue), \(batch) stanzas per transaction, medians of \(rounds) rounds",
      "\(system.operatingSystemVersionString), \(system.activeProcessorCount) processors",
      "SQLite: " + SQLiteArchive.settings(durability),
      "Perdure: " + PerdureArchive.settings(durability),
    ]
  }

  private func progress(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }

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

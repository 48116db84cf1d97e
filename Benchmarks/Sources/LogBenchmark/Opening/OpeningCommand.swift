import ArgumentParser
import Foundation

/// Measures the cost of opening a store, and of the data that makes opening fast.
struct OpeningCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "opening", abstract: "Measure the parts of an opening, and the cost of checkpoints.",
    discussion: """
      The time of a part is a difference. For example, the part of the index file is an opening from a checkpoint \
      minus an opening of an empty store. Files are in the page cache. Times are processor time of all threads.
      """)

  @Option(help: "Records of 100 bytes.")
  var records = 1_000_000

  @Option(help: "Uniform updates before each checkpoint that is timed.")
  var updates = 280_000

  @Option(help: "Uniform updates with the usual policy for checkpoints.")
  var manyUpdates = 4_000_000

  @Option(
    help:
      "The number of openings; medians are shown. Openings without the index file and checkpoints: always 3.")
  var rounds = 9

  @Option(help: "An existing folder on the disk to measure.")
  var folder: String?

  @Option(help: "The folder for opening.json. Default: none, no file is written.")
  var output: String?

  func validate() throws {
    guard records >= 1000, updates > 0, manyUpdates >= 0, rounds > 0 else {
      throw ValidationError(
        "--records must be at least 1000, --updates and --rounds at least 1, and --many-updates at least 0.")
    }
  }

  func run() throws {
    let figures = try [Shape.dense100, .hashed100].flatMap { shape in
      try OpeningTrial(shape: shape, command: self).run()
    }
    print(OpeningFigure.table(figures))
    guard let output else { return }
    try ResultFiles(folder: URL(fileURLWithPath: output)).write(figures, to: "opening.json")
  }
}

/// One figure for one shape.
struct OpeningFigure: Codable {
  var shape: String
  var records: Int
  var what: String
  /// The value: milliseconds, or a number without a unit.
  var value: Double
  var isTime: Bool
  var rounds: Int

  static func table(_ figures: [OpeningFigure]) -> String {
    let shapes = distinct(figures.map(\.shape))
    let head = shapes.reduce("| |") { line, shape in
      "\(line) \(shape), \(figures.first { $0.shape == shape }?.records ?? 0) records |"
    }
    let lines = distinct(figures.map(\.what)).map { what in
      shapes.reduce("| \(what) |") { line, shape in
        "\(line) \(figures.first { $0.shape == shape && $0.what == what }?.text ?? "–") |"
      }
    }
    return ([head, "|---|" + String(repeating: "---:|", count: shapes.count)] + lines).joined(separator: "\n")
  }

  private static func distinct(_ names: [String]) -> [String] {
    names.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  private var text: String { isTime ? String(format: "%.2f ms", value) : Format.ratio(value) }
}

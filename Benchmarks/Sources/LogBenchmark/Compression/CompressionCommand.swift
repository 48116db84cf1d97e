import ArgumentParser
import Foundation
import PerdureLog

/// Measures the compression of small records: their length, and the cost of writing and reading
/// them.
struct CompressionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compression",
    abstract: "Measure small records, stored without compression, with LZ4 and with dictionaries.",
    discussion: """
      The dictionary is made from the first tenth of the records; the others are measured. Times are processor \
      time. The time of unpacking is the difference between a read and a read of an uncompressed record.
      """)

  @Option(help: "Records of each kind.")
  var records = 100_000

  @Option(help: "Reads at random.")
  var reads = 400_000

  @Option(help: "The number of runs; medians are shown.")
  var rounds = 3

  @Option(help: "An existing folder on the disk to measure.")
  var folder: String?

  @Option(help: "The folder for compression.json. Default: none, no file is written.")
  var output: String?

  func validate() throws {
    guard records >= 10_000, reads > 0, rounds > 0 else {
      throw ValidationError("--records must be at least 10000; the other counts must be at least 1.")
    }
  }

  func run() throws {
    var results: [CompressionFigure] = []
    for kind in SmallRecords.Kind.allCases {
      let rounds = try (0..<rounds).map { _ in try CompressionTrial.run(kind, self) }
      for mode in CompressionTrial.Mode.allCases {
        results.append(CompressionFigure(medianOf: rounds.compactMap { $0.first { $0.mode == mode } }))
      }
    }
    print(CompressionFigure.table(results))
    guard let output else { return }
    try ResultFiles(folder: URL(fileURLWithPath: output)).write(results, to: "compression.json")
  }
}

/// The results for records of one kind, stored in one mode.
struct CompressionFigure: Codable {
  var kind: SmallRecords.Kind
  var mode: CompressionTrial.Mode
  var valueBytes: Double
  /// The length of the values divided by their stored length.
  var ratio: Double
  /// The total bytes of the log per record.
  var logBytesPerRecord: Double
  var writeNanoseconds: Double
  var readNanoseconds: Double
  var unpackNanoseconds: Double
  var rounds = 1

  /// The table, with a row for each figure.
  static func table(_ figures: [CompressionFigure]) -> String {
    let head = """
      | | bytes | compression ratio | log bytes per record | write, ns | read, ns | decompress, ns |
      |---|--:|--:|--:|--:|--:|--:|
      """
    return figures.reduce(head) { $0 + "\n" + $1.row }
  }

  private var row: String {
    let numbers = [
      String(format: "%.0f", valueBytes), String(format: "%.2f", ratio),
      String(format: "%.0f", logBytesPerRecord), String(format: "%.0f", writeNanoseconds),
      String(format: "%.0f", readNanoseconds), mode == .raw ? "–" : String(format: "%.0f", unpackNanoseconds),
    ]
    return "| \(kind.rawValue), \(mode.rawValue) | " + numbers.joined(separator: " | ") + " |"
  }

  init(
    kind: SmallRecords.Kind, mode: CompressionTrial.Mode, valueBytes: Double, ratio: Double,
    logBytesPerRecord: Double, writeNanoseconds: Double, readNanoseconds: Double
  ) {
    self.kind = kind
    self.mode = mode
    self.valueBytes = valueBytes
    self.ratio = ratio
    self.logBytesPerRecord = logBytesPerRecord
    self.writeNanoseconds = writeNanoseconds
    self.readNanoseconds = readNanoseconds
    unpackNanoseconds = 0
  }

  /// - Parameter figures: At least one figure, all of one kind and mode.
  init(medianOf figures: [CompressionFigure]) {
    self = figures[0]
    rounds = figures.count
    func median(_ path: KeyPath<CompressionFigure, Double>) -> Double {
      let sorted = figures.map { $0[keyPath: path] }.sorted()
      return sorted[sorted.count / 2]
    }
    writeNanoseconds = median(\.writeNanoseconds)
    readNanoseconds = median(\.readNanoseconds)
    unpackNanoseconds = median(\.unpackNanoseconds)
  }
}

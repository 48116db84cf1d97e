import ArgumentParser
import Foundation

/// Measures commits during a backup of the same store.
struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Measure commits while a backup runs.",
    discussion: """
      Threads overwrite single records. Phases without and with a backup alternate, for each number of threads. \
      During a phase with a backup, one backup follows another, at the default speed. The elapsed times of commits \
      are those of all threads together.
      """)

  @Option(help: "Records of 1 KiB in the store.")
  var records = 100_000

  @Option(parsing: .upToNextOption, help: "The numbers of threads that commit.")
  var writers = [1, 4]

  @Option(help: "Seconds of each phase.")
  var seconds = 10.0

  @Option(help: "The number of runs of each phase; medians are shown.")
  var rounds = 3

  @Option(help: "An existing folder on the disk to measure.")
  var folder: String?

  @Option(help: "The folder for backup.json. Default: none, no file is written.")
  var output: String?

  func validate() throws {
    guard records >= 1000, seconds > 0, rounds > 0, !writers.isEmpty, writers.allSatisfy({ $0 > 0 }) else {
      throw ValidationError("--records must be at least 1000; the other options must be more than 0.")
    }
  }

  func run() throws {
    let figures = try BackupTrial(command: self).run()
    print(BackupFigure.table(figures))
    guard let output else { return }
    try ResultFiles(folder: URL(fileURLWithPath: output)).write(figures, to: "backup.json")
  }
}

/// The latencies of commits with one durability and number of threads: medians of the rounds, in
/// nanoseconds.
struct BackupFigure: Codable {
  var commit: String
  /// The number of threads that commit.
  var writers: Int
  var isBesideBackup: Bool
  /// The commits of all rounds.
  var commits: Int
  /// The backups that were completed in all rounds.
  var backups: Int
  /// The bytes that completed and cancelled backups copied in all rounds.
  var backupBytes: UInt64
  var p50: Double
  var p99: Double
  var p999: Double
  var rounds: Int

  /// A line for each durability, number of threads and percentile, with the ratio of commits during
  /// a backup to commits without a backup.
  static func table(_ figures: [BackupFigure]) -> String {
    var lines = [
      "| a commit of one record | without a backup | during a backup | ratio |", "|---|--:|--:|--:|",
    ]
    for alone in figures where !alone.isBesideBackup {
      let beside = figures.first {
        $0.isBesideBackup && $0.commit == alone.commit && $0.writers == alone.writers
      }
      guard let beside else { continue }
      for (name, path) in [("p50", \BackupFigure.p50), ("p99", \.p99), ("p99.9", \.p999)] {
        let (left, right) = (alone[keyPath: path], beside[keyPath: path])
        let ratio = left > 0 ? Format.ratio(right / left) : "–"
        let threads = alone.writers == 1 ? "1 thread" : "\(alone.writers) threads"
        lines.append(
          "| \(threads), \(alone.commit), \(name) | \(Format.duration(left)) | \(Format.duration(right)) "
            + "| \(ratio) |")
      }
    }
    return lines.joined(separator: "\n")
  }
}

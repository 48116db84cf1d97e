import ArgumentParser
import Foundation

/// Prints the rows whose counts moved (`CountComparison.Move`), and makes the command fail if there
/// are any.
private func report(_ comparison: CountComparison, tolerance: Double) throws {
  guard comparison.moves.isEmpty else {
    print(comparison.text)
    print("\(comparison.moves.count) of \(comparison.rowCount) rows moved by more than \(tolerance) %.")
    throw ExitCode.failure
  }
  print("All \(comparison.rowCount) rows are within \(tolerance) %.")
}

/// Counts, and compares with a table.
struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Count, and print each row that differs from the table; then exit with 1."
  )

  @OptionGroup var options: RunOptions

  @Option(help: "The file of the table.")
  var results: String

  @Option(help: "The largest difference in percent that is not printed.")
  var tolerance = 5.0

  func run() throws {
    var earlier = try CountTable(contentsOf: results)
    earlier.rows.removeAll { !options.isWanted($0.title) }
    try report(CountComparison(earlier, try options.table(), tolerance: tolerance), tolerance: tolerance)
  }
}

/// Compares two tables, without counting.
struct CompareCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare", abstract: "Compare two tables that `record` wrote.")

  @Argument(help: "The earlier table.")
  var before: String

  @Argument(help: "The later table.")
  var after: String

  @Option(help: "The largest difference in percent that is not printed.")
  var tolerance = 5.0

  func run() throws {
    let comparison = CountComparison(
      try CountTable(contentsOf: before), try CountTable(contentsOf: after), tolerance: tolerance)
    try report(comparison, tolerance: tolerance)
  }
}

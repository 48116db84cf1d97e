import ArgumentParser
import Foundation
import Measuring

/// Counts rows, and writes them to a file and, if requested, into a document.
struct RecordCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record", abstract: "Count, and write the table.")

  @OptionGroup var options: RunOptions

  @Option(help: "The file of the table, as JSON.")
  var results: String

  @Option(help: "A document with the marks <!-- instructions --> and <!-- instructions-pending -->.")
  var document: String?

  func validate() throws {
    // A document with only some rows looks as if the other rows were removed.
    if options.only != nil, document != nil { throw ValidationError("--document needs all rows.") }
  }

  func run() throws {
    let table = try options.table()
    try Data(table.json().utf8).write(to: URL(fileURLWithPath: results))
    guard let document else { return }
    let file = URL(fileURLWithPath: document)
    var text = try String(contentsOf: file, encoding: .utf8)
    text = try MarkedBlock("instructions").replaced(in: text, with: table.operationTable)
    text = try MarkedBlock("instructions-pending").replaced(in: text, with: table.pendingTable)
    try Data(text.utf8).write(to: file)
  }
}

import ArgumentParser

/// The documentation page about the command line: the help of every command.
package enum HelpPage {
  /// The path of the page, relative to the root of the repository.
  package static let path = "Sources/Perdure/Perdure.docc/CommandLine.md"

  /// The maximum length of a line of help.
  private static let columns = 100

  /// The page in Markdown.
  package static var text: String {
    let head = """
      # The command line

      Inspect, query, back up and repair stores with the program `perdure`.

      ## Overview

      `swift run perdure` builds the program and runs it. <doc:OperatingAStore> says when to use which command. This page is \
      the output of `perdure help`, and `make command-line-page` writes it.

      """
    let tail = """

      ## See Also

      - <doc:OperatingAStore>
      - ``StoreInspection``

      """
    return head + section(PerdureCommand.self, []) + tail
  }

  private static func section(_ command: any ParsableCommand.Type, _ above: [String]) -> String {
    let configuration = command.configuration
    let names = above + [configuration.commandName ?? ""]
    let help = PerdureCommand.helpMessage(for: command, columns: columns)
    var text = "\n### \(names.joined(separator: " "))\n\n```text\n\(help.trimmedLines)\n```\n"
    for next in configuration.subcommands where next.configuration.shouldDisplay {
      text += section(next, names)
    }
    return text
  }
}

extension String {
  /// The text without spaces at line ends and without empty lines at the end.
  fileprivate var trimmedLines: String {
    var lines = split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.withoutSpacesAtEnd
    }
    while lines.last == "" { lines.removeLast() }
    return lines.joined(separator: "\n")
  }
}

/// Prints the page. The command is hidden, because only `make command-line-page` uses it.
struct HelpPageCommand: ConsoleCommand {
  static let configuration = CommandConfiguration(
    commandName: "help-page", abstract: "Prints the documentation page of the command line.",
    shouldDisplay: false)

  var json: Bool { false }

  func perform(on console: Console) throws -> ExitCode {
    try console.print(String(HelpPage.text.dropLast()))  // `print` adds the line feed.
    return .success
  }
}

extension StringProtocol {
  var withoutSpacesAtEnd: String { String(reversed().drop { $0 == " " }.reversed()) }
}

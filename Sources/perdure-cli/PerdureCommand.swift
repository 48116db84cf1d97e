import ArgumentParser

/// Looks into stores: `perdure verify`, `perdure stats`.
@main
struct PerdureCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "perdure",
    abstract: "Looks into Perdure stores. Nothing is ever written.",
    discussion: """
      Exit codes: 0 all is well; 1 the store opens, and something in it is wrong; 2 the store cannot be \
      opened; 64 the command line is wrong.
      """,
    subcommands: [VerifyCommand.self, StatsCommand.self])
}

extension ExitCode {
  /// The store opens, and something in it is wrong.
  static let findings = ExitCode(1)
  /// The store cannot be opened.
  static let unopened = ExitCode(2)
}

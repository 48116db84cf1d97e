import ArgumentParser

@main struct LogBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "LogBenchmark", abstract: "PerdureLog beside other key-value stores, on the same work.",
    subcommands: [
      CompareCommand.self, CompressionCommand.self, OpeningCommand.self, BackupCommand.self,
      TablesCommand.self, ProfileCommand.self, TrialCommand.self, ReopenCommand.self,
    ],
    defaultSubcommand: CompareCommand.self)
}

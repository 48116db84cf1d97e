import ArgumentParser

@main struct LogBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "LogBenchmark",
    abstract: "Compare PerdureLog with other key-value stores on the same workloads, and measure its "
      + "compression, openings and backups.",
    subcommands: [
      CompareCommand.self, CompressionCommand.self, OpeningCommand.self, BackupCommand.self,
      TablesCommand.self, ProfileCommand.self, TrialCommand.self, ReopenCommand.self,
    ],
    defaultSubcommand: CompareCommand.self)
}

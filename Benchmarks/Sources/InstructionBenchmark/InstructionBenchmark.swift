import ArgumentParser

/// Counts the processor instructions of operations, which are the same in every run.
@main struct InstructionBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Count the instructions of operations on objects, and compare them with a committed table.",
    discussion: "Needs valgrind. Counts depend on the compiler and the C library, not on other processes.",
    subcommands: [
      RecordCommand.self, CheckCommand.self, CompareCommand.self, ListCommand.self, CountCommand.self,
    ])
}

/// A failure of a run, as a sentence.
struct CountingError: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) { self.description = description }
}

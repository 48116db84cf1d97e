package import ArgumentParser
import Perdure
import PerdureFileIO
import PerdureLog
import PerdureModelGenerating
import PerdureText

/// The commands of the program `perdure`.
package struct PerdureCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "perdure",
    abstract: "Inspects Perdure stores, backs them up, and salvages damaged ones.",
    discussion: """
      Results go to the standard output, progress and errors to the standard error stream. With --json or \
      --format json the results are JSON: one object, or one object per line for `dump` and `query`. An error is \
      an object with the member "error"; a wrong command line is reported as text only.

      Colours and progress bars appear only on terminals. Set NO_COLOR to have no colours.

      Exit codes: 0 success; 1 the store has faults or damage (`salvage`: the new store has the readable part); \
      2 the work could not be done, for example because the store does not open, or the results could not be \
      written; 64 the command line is wrong.

      `perdure --generate-completion-script bash` prints completions for a shell: bash, zsh or fish.
      """,
    version: PerdureVersion.number,
    subcommands: [
      VerifyCommand.self, StatsCommand.self, DumpCommand.self, QueryCommand.self, ModelCommand.self,
      BackupCommand.self, RestoreCommand.self, SalvageCommand.self, CompactCommand.self,
      HelpPageCommand.self,
    ])

  package init() {}

  /// Parses a command line.
  ///
  /// - Parameter arguments: The arguments without the program's name.
  /// - Throws: The error of the command line, for `exit(withError:)`.
  package static func command(for arguments: [String]) throws -> any ParsableCommand {
    try checkNames(in: arguments)
    return try parseAsRoot(arguments)
  }

  /// Checks the names of subcommands at the beginning of the arguments.
  private static func checkNames(in arguments: [String]) throws {
    var command: any ParsableCommand.Type = self
    for name in arguments {
      let below = command.configuration.subcommands
      if below.isEmpty || name.hasPrefix("-") || name == "help" { return }
      guard let next = below.first(where: { $0.configuration.commandName == name }) else {
        throw ValidationError(complaint(about: name, below))
      }
      command = next
    }
  }

  private static func complaint(about name: String, _ commands: [any ParsableCommand.Type]) -> String {
    let shown = commands.map { $0.configuration }.filter(\.shouldDisplay)
    let names = shown.compactMap(\.commandName)
    return "There is no subcommand \"\(name)\".\(NearMisses.question(name, in: names))"
      + " The subcommands are \(names.joined(separator: ", "))."
  }
}

extension PerdureCommand {
  /// Runs the command line of the process, and ends the process.
  package static func runProcess() -> Never {
    StandardStreams.reserveDescriptors()
    do {
      var command = try command(for: Array(CommandLine.arguments.dropFirst()))
      try command.run()
      exit()
    } catch {
      end(with: error)
    }
  }

  /// Ends the process after an error, or after a request for help. Help goes to the standard
  /// output, like results.
  private static func end(with error: any Error) -> Never {
    let text = fullMessage(for: error)
    guard exitCode(for: error) == .success, !text.isEmpty else { exit(withError: error) }
    let console = Console.standard()
    let code = console.checkingOutput {
      try console.print(text)
      return .success
    }
    exit(withError: code)
  }
}

extension ExitCode {
  /// The store has findings.
  static let findings = ExitCode(1)
  /// The command could not do its work.
  static let failed = ExitCode(2)
}

/// A command that writes to a console, so that tests can run it.
protocol ConsoleCommand: ParsableCommand {
  /// Whether results and errors are printed as JSON.
  var json: Bool { get }

  /// Runs the command. If it throws, the error is reported and the exit code is 2.
  func perform(on console: Console) throws -> ExitCode
}

extension ConsoleCommand {
  func run() throws {
    let code = report(on: .standard())
    if code != .success { throw code }
  }

  /// Runs the command, writes its results and reports errors.
  func report(on console: Console) -> ExitCode {
    console.checkingOutput { try performReporting(on: console) }
  }

  /// Runs the command and reports its errors. Throws only errors of the output.
  private func performReporting(on console: Console) throws -> ExitCode {
    do {
      return try perform(on: console)
    } catch let failure as OutputFailure {
      throw failure
    } catch {
      // Findings about files are printed in the format of compiler messages, with the severity in
      // each line.
      if error is ModelFileError { console.error("\(error)") } else { console.failure(error) }
      if json { try console.print(JSONText.object([("error", Self.describe(error))]).text) }
      return .failed
    }
  }

  private static func describe(_ error: any Error) -> JSONText {
    switch error {
    case let error as StoreError:
      .object([
        ("code", .string("\(error.code)")), ("message", .string(error.message)),
        ("place", error.place.map(JSONText.string) ?? .null),
      ])
    case let error as FetchError:
      .object([
        ("code", .string("\(error.code)")), ("message", .string(error.message)),
        ("place", .string(error.entity)), ("suggestions", .array(error.suggestions.map(JSONText.string))),
      ])
    case let error as FileIOError:
      .object([
        ("code", .string("\(error.code)")), ("message", .string(error.message)),
        ("place", .string(error.path)),
      ])
    case let error as ModelFileError:
      .object([
        ("message", .string("\(error)")), ("problems", .array(error.problems.map(describe))),
      ])
    default: .object([("message", .string("\(error)"))])
    }
  }

  private static func describe(_ problem: ModelFileProblem) -> JSONText {
    .object([
      ("severity", .string(problem.severity.rawValue)), ("file", .string(problem.file)),
      ("line", problem.line.map(JSONText.integer) ?? .null),
      ("place", problem.place.map(JSONText.string) ?? .null), ("message", .string(problem.message)),
      ("remedy", .string(problem.remedy)),
    ])
  }
}

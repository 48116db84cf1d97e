package import ArgumentParser
import PerdureLog

/// Looks into stores and mends them.
package struct PerdureCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "perdure",
    abstract: "Looks into Perdure stores, backs them up, and saves what damaged ones still hold.",
    discussion: """
      Results go to the standard output, progress and errors to the standard error stream. With --json the \
      results are JSON: an object, or for `dump` an object a line; an error is an object with the member \
      "error".

      Exit codes: 0 all is well; 1 the store could be read, and something in it is wrong or damaged \
      (`salvage`: what could be read is in the new store); 2 the store could not be opened, or the work not \
      be done; 64 the command line is wrong.
      """,
    subcommands: [
      VerifyCommand.self, StatsCommand.self, DumpCommand.self, BackupCommand.self, RestoreCommand.self,
      SalvageCommand.self, CompactCommand.self,
    ])

  package init() {}

  /// The command that a command line asks for.
  ///
  /// - Parameter arguments: Without the program's name.
  /// - Throws: What is wrong with them, for `exit(withError:)`.
  package static func command(for arguments: [String]) throws -> any ParsableCommand {
    let names = configuration.subcommands.compactMap { $0.configuration.commandName }
    if let first = arguments.first, !first.hasPrefix("-"), !(names + ["help"]).contains(first) {
      throw ValidationError(
        "There is no subcommand \"\(first)\"; there are \(names.dropLast().joined(separator: ", ")) and "
          + "\(names.last ?? "")")
    }
    return try parseAsRoot(arguments)
  }
}

extension ExitCode {
  /// Something in the store is wrong.
  static let findings = ExitCode(1)
  /// The work could not be done.
  static let failed = ExitCode(2)
}

/// A command that does its work on a console, so that it can be tested.
protocol ConsoleCommand: ParsableCommand {
  /// Whether results and errors are JSON.
  var json: Bool { get }

  /// Does the work. What it throws is reported, with the exit code 2.
  func perform(on console: Console) throws -> ExitCode
}

extension ConsoleCommand {
  func run() throws {
    let code = report(on: .standard())
    if code != .success { throw code }
  }

  /// Does the work and says what went wrong.
  func report(on console: Console) -> ExitCode {
    do {
      return try perform(on: console)
    } catch {
      console.error("error: \(error)")
      if json { console.print(JSONText.object([("error", Self.describe(error))]).text) }
      return .failed
    }
  }

  private static func describe(_ error: any Error) -> JSONText {
    guard let error = error as? StoreError else { return .object([("message", .string("\(error)"))]) }
    return .object([
      ("code", .string("\(error.code)")), ("message", .string(error.message)),
      ("place", error.place.map(JSONText.string) ?? .null),
    ])
  }
}

import ArgumentParser
import PerdureCommands

// The program `perdure`. Its code is in the module PerdureCommands, where tests can use it.
do {
  var command = try PerdureCommand.command(for: Array(CommandLine.arguments.dropFirst()))
  try command.run()
} catch {
  PerdureCommand.exit(withError: error)
}

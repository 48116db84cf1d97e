import ArgumentParser
import PerdureCommands

// The program `perdure`. Its code is in PerdureCommands, where tests reach it.
do {
  var command = try PerdureCommand.command(for: Array(CommandLine.arguments.dropFirst()))
  try command.run()
} catch {
  PerdureCommand.exit(withError: error)
}

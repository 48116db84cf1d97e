import PerdureCommands

// The program `perdure`. Its code is in the module PerdureCommands, where tests can use it.
PerdureCommand.runProcess()

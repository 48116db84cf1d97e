import ArgumentParser
import PerdureCommands

// The program `perdure`. What it does is in PerdureCommands, where tests reach it.
PerdureCommand.main()

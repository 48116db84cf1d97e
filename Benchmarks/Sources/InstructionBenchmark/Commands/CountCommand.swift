import ArgumentParser

/// Runs one scenario. Other commands start this command under callgrind.
struct CountCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "count", abstract: "Run one scenario. Other commands start this command under callgrind.",
    shouldDisplay: false)

  @Argument(help: "The title of the scenario.")
  var title: String

  @Option(help: "A closed store with the graph. It is changed.")
  var store: String

  func run() throws {
    guard let scenario = Scenario.all.first(where: { $0.title == title }) else {
      throw CountingError("There is no scenario \"\(title)\". The command `list` prints all of them.")
    }
    try scenario.run(storeAt: store, repetitions: scenario.repetitions)
  }
}

/// Prints the titles of all scenarios.
struct ListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Print the titles of all scenarios.")

  func run() {
    for scenario in Scenario.all { print(scenario.title) }
  }
}

import ArgumentParser
import Foundation

// The commands that `compare` runs in separate processes. Each prints a `TrialOutput` as JSON.

struct TrialCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trial", abstract: "Run one engine once, then die by kill -9.", shouldDisplay: false)

  @Argument var engine: EngineName
  @Argument var plan: String
  @Argument var folder: String

  func run() throws {
    let plan = try JSONDecoder().decode(TrialPlan.self, from: Data(plan.utf8))
    try engine.open(RunTrial(plan: plan, folder: folder))
  }

  private struct RunTrial: EngineUser {
    let plan: TrialPlan
    let folder: String

    func use<Engine: LogEngine>(_ engine: Engine.Type) throws {
      let trial = Trial<Engine>(plan, in: folder)
      try trial.run()
      try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(trial.output))
      // Kills this process while the store is open.
      withExtendedLifetime(trial) { _ = kill(getpid(), SIGKILL) }
    }
  }
}

struct ReopenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reopen", abstract: "Open the store that a trial left.", shouldDisplay: false)

  @Argument var engine: EngineName
  @Argument var plan: String
  @Argument var folder: String

  func run() throws {
    let plan = try JSONDecoder().decode(TrialPlan.self, from: Data(plan.utf8))
    let output = try engine.open(Reopen(plan: plan, folder: folder))
    try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(output))
  }

  private struct Reopen: EngineUser {
    let plan: TrialPlan
    let folder: String

    func use<Engine: LogEngine>(_ engine: Engine.Type) throws -> TrialOutput {
      try Reopening<Engine>(plan: plan, folder: folder).run()
    }
  }
}

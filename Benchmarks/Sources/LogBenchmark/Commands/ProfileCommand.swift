import ArgumentParser
import Foundation

/// Runs a trial for a profiler, in this process. The process then ends normally.
struct ProfileCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "profile",
    abstract: "Fill a store of one engine and run workloads on it, in this process.",
    discussion:
      "The operations and their order are the same as in `compare`. The store is removed at the end.")

  @Argument(help: "The engine.") var engine: EngineName

  @Option(help: "Which records.") var shape = Shape.hashed100

  @Option(help: "How many.") var records = 100_000

  @Option(help: "The maximum number of operations of a workload on single records.") var operations = 100_000

  @Option(parsing: .upToNextOption, help: "The workloads to run after the fill.")
  var workloads = [Workload.readRandom]

  @Option(help: "An existing folder on the disk to use.") var folder: String?

  func run() throws {
    let base = folder.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
    let folder = base.appendingPathComponent("perdure-profile-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let plan = TrialPlan(
      shape: shape, records: records, operations: operations, durableCommits: 1000, steadyCommits: 10_000,
      workloads: workloads, round: 0)
    for measurement in try engine.open(Profile(plan: plan, folder: folder.path)) {
      let time = Format.duration(measurement.cpuNsPerOp)
      print("\(measurement.workload): \(measurement.operations) operations, \(time) of processor time each")
    }
  }

  private struct Profile: EngineUser {
    let plan: TrialPlan
    let folder: String

    func use<Engine: LogEngine>(_ engine: Engine.Type) throws -> [Measurement] {
      let trial = Trial<Engine>(plan, in: folder)
      try trial.run()
      try trial.close()
      return trial.output.measurements
    }
  }
}

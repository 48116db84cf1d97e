import Foundation

/// Runs trials of all engines in rounds, each trial in a process of its own, and compares what they say.
struct Comparison {
  var engines: [EngineName]
  var rounds: Int
  /// Where stores are made, and removed.
  var folder: URL
  /// Hears what is done now.
  var progress: (String) -> Void

  /// The medians of all rounds of a plan.
  func run(_ plan: TrialPlan) throws -> [Measurement] {
    var all: [String: [Measurement]] = [:]
    for round in 0..<rounds {
      var plan = plan
      plan.round = round
      var checks: [String: (sum: UInt64, engine: String)] = [:]
      // Whoever comes first finds another machine than whoever comes last.
      for place in engines.indices {
        let engine = engines[(place + round) % engines.count]
        let turn = "round \(round + 1) of \(rounds)"
        progress("\(plan.shape.rawValue), \(plan.records) records, \(turn): \(engine.rawValue)")
        let output = try trial(of: engine, plan)
        for measurement in output.measurements {
          all[measurement.engine + " " + measurement.workload, default: []].append(measurement)
        }
        try compare(output.checks, of: engine, &checks)
      }
    }
    return all.values.compactMap(Measurement.summary(of:))
  }

  private func trial(of engine: EngineName, _ plan: TrialPlan) throws -> TrialOutput {
    let folder = folder.appendingPathComponent("perdure-log-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let text = String(decoding: try JSONEncoder().encode(plan), as: UTF8.self)
    let lived = try child(["trial", engine.rawValue, text, folder.path], diesByKill: true)
    let after = try child(["reopen", engine.rawValue, text, folder.path], diesByKill: false)
    guard after.checks.values.allSatisfy({ $0 == lived.checks["final state"] }) else {
      throw EngineError("\(engine.rawValue) has not kept through kill -9 and closing what it had")
    }
    return TrialOutput(measurements: lived.measurements + after.measurements, checks: lived.checks)
  }

  private func child(_ arguments: [String], diesByKill: Bool) throws -> TrialOutput {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    let isKilled = process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
    guard diesByKill ? isKilled : process.terminationStatus == 0 else {
      throw EngineError("\(arguments[1]) failed in its \(arguments[0])")
    }
    return try JSONDecoder().decode(TrialOutput.self, from: data)
  }

  /// Engines that do not do a workload do not have its check.
  private func compare(
    _ found: [String: UInt64], of engine: EngineName, _ known: inout [String: (sum: UInt64, engine: String)]
  ) throws {
    for (name, sum) in found {
      guard let other = known[name] else {
        known[name] = (sum, engine.rawValue)
        continue
      }
      guard other.sum == sum else {
        throw EngineError("\(name): \(engine.rawValue) has \(sum), \(other.engine) has \(other.sum)")
      }
    }
  }
}

import Foundation

/// Runs trials of several engines in turn, each in two separate processes, and compares their
/// results. The first process is killed, and the second opens the store again.
struct Comparison {
  /// The folder in which stores are made and removed.
  var folder: URL
  /// Called after each trial with its duration, and with the error of a failed trial.
  var progress: (String) -> Void

  /// The result of a turn.
  struct Outcome {
    /// The measurements of each engine and workload.
    var measurements: [Measurement] = []
    /// Messages about engines that failed, or whose results differed from those of earlier engines.
    /// These engines have no measurements.
    var failures: [String] = []
  }

  func run(_ turn: Turn) throws -> Outcome {
    try checkRoom(for: turn)
    var outcome = Outcome()
    var checks: [String: (sum: UInt64, engine: String)] = [:]
    // The order rotates with the round, because the state of the machine differs between the first
    // and the last engine.
    for place in turn.engines.indices {
      let engine = turn.engines[(place + turn.plan.round) % turn.engines.count]
      let begin = Date()
      do {
        let output = try trial(of: engine, turn.plan)
        try compare(output.checks, of: engine, &checks)
        outcome.measurements += output.measurements
      } catch let error as EngineError {
        outcome.failures.append("\(turn.plan.shape.rawValue): \(error)")
        progress(error.description)
      }
      let seconds = String(format: "%.1f s", Date().timeIntervalSince(begin))
      progress(
        "\(turn.part.rawValue), \(turn.plan.shape.rawValue), \(turn.plan.records) records, "
          + "round \(turn.plan.round + 1), \(engine.rawValue): \(seconds)")
    }
    return outcome
  }

  private func checkRoom(for turn: Turn) throws {
    let values = try folder.resourceValues(forKeys: [.volumeAvailableCapacityKey])
    guard let available = values.volumeAvailableCapacity, available < turn.diskBytesMax else { return }
    throw EngineError(
      "\(folder.path) has \(available >> 20) MiB free, but \(turn.plan.records) records may take "
        + "\(turn.diskBytesMax >> 20) MiB. Use another --folder, or fewer records")
  }

  private func trial(of engine: EngineName, _ plan: TrialPlan) throws -> TrialOutput {
    let folder = folder.appendingPathComponent("perdure-log-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let text = String(decoding: try JSONEncoder().encode(plan), as: UTF8.self)
    let lived = try child(["trial", engine.rawValue, text, folder.path], diesByKill: true)
    let after = try child(["reopen", engine.rawValue, text, folder.path], diesByKill: false)
    guard after.checks.values.allSatisfy({ $0 == lived.checks["final state"] }) else {
      throw EngineError("\(engine.rawValue) lost data after kill -9 or a close")
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

  /// Compares the checks of an engine with those of earlier engines. An engine has no check for a
  /// workload that it does not support.
  private func compare(
    _ found: [String: UInt64], of engine: EngineName, _ known: inout [String: (sum: UInt64, engine: String)]
  ) throws {
    for (name, sum) in found {
      guard let other = known[name] else {
        known[name] = (sum, engine.rawValue)
        continue
      }
      guard other.sum == sum else {
        throw EngineError(
          "\(name): the checksum of \(engine.rawValue) is \(sum), but that of \(other.engine) is \(other.sum)"
        )
      }
    }
  }
}

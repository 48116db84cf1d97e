import ArgumentParser

/// The parts of a run.
enum Part: String, CaseIterable, ExpressibleByArgument {
  /// All workloads except those of `steady`, in several rounds. By default with a million records,
  /// or 250,000 records for values of 1 KiB.
  case main
  /// A store that is overwritten repeatedly, in one round. Perdure also runs it with the number of
  /// records of `large`.
  case steady
  /// Opening and memory with many records, in one round.
  case large
}

/// Trials of several engines with the same plan, in turn.
struct Turn {
  var part: Part
  var plan: TrialPlan
  var engines: [EngineName]
}

/// Determines the turns and their order. The first rounds of all turns precede all second rounds.
/// So if the time limit ends the run early, the results have all rows, with fewer rounds.
struct Schedule {
  var parts: [Part]
  var shapes: [Shape]
  var workloads: [Workload]
  /// The requested engines; nil for the default engines of each part.
  var engines: [EngineName]?
  var records: Int
  var largeRecords: Int
  /// The maximum number of operations for records of 100 bytes; half as many for records of 1 KiB.
  var operations: Int
  var durableCommits: Int
  var rounds: Int

  var turns: [Turn] {
    var found: [Turn] = []
    for round in 0..<rounds {
      if parts.contains(.main) { found += shapes.map { main($0, round) } }
      guard round == 0 else { continue }
      if parts.contains(.steady) { found += steady }
      if parts.contains(.large) { found += shapes.filter { $0.valueLength == 100 }.map(large) }
    }
    return found.filter { !$0.plan.workloads.isEmpty && !$0.engines.isEmpty }
  }

  private func plan(_ shape: Shape, _ count: Int, _ own: (Workload) -> Bool) -> TrialPlan {
    TrialPlan(
      shape: shape, records: count,
      operations: shape.valueLength == 100 ? operations : max(operations / 2, 1),
      durableCommits: durableCommits, steadyCommits: durableCommits * 10,
      workloads: workloads.filter(own), round: 0)
  }

  private func main(_ shape: Shape, _ round: Int) -> Turn {
    var plan = plan(shape, shape.recordCount(forSmallValues: records)) { !Workload.steady.contains($0) }
    plan.round = round
    return Turn(part: .main, plan: plan, engines: engines ?? EngineName.allCases)
  }

  /// The turns of the part `steady`, for hashed keys only. SQLite is not a default engine here,
  /// because it takes as long as all other engines together.
  private var steady: [Turn] {
    guard shapes.contains(.hashed100) else { return [] }
    let usual = plan(.hashed100, records, Workload.steady.contains)
    let turn = Turn(part: .steady, plan: usual, engines: engines ?? Self.quickEngines)
    let large = plan(.hashed100, largeRecords) { $0 == .steadyOverwrite }
    let own = (engines ?? [.perdure]).filter { $0 == .perdure }
    return largeRecords > 0 ? [turn, Turn(part: .steady, plan: large, engines: own)] : [turn]
  }

  /// The turn of the part `large`. Ids are loaded in ascending order, because programs assign them
  /// in this order. Hashed keys are loaded in random order.
  private func large(_ shape: Shape) -> Turn {
    let load = shape.keyKind == .dense ? Workload.fillSequential1000 : .fillRandom1000
    let own = [load, .readRandom, .openAfterKill, .openClean]
    var plan = plan(shape, largeRecords, own.contains)
    plan.load = load
    if largeRecords == 0 { plan.workloads = [] }
    return Turn(
      part: .large, plan: plan,
      engines: engines ?? (shape.keyKind == .dense ? EngineName.allCases : Self.quickEngines))
  }

  private static let quickEngines = EngineName.allCases.filter { $0 != .sqlite }
}

extension Turn {
  /// The approximate maximum size of the store in bytes. It includes garbage, and segments while
  /// they are rewritten.
  var diskBytesMax: Int { plan.records * (plan.shape.valueLength + 60) * 4 }
}

import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// Damages a closed store in every way that a medium can, and reads what is left.
///
/// Allowed is the right value, or an error that names the file, and a byte of what is damaged. A wrong value is a
/// violation, and so is a key that is not found in silence. (A trap ends the proof.)
package struct RotCampaign: Campaign {
  package let name = "rot"
  package let summary =
    "flips every bit of a store of a mebibyte, cuts its files, exchanges sectors, salvages"

  private let canary: RotCanary?

  package init(canary: RotCanary? = nil) { self.canary = canary }

  /// So many violations are enough to know.
  static let violationsMax = 8
  /// Stores that are open at the same time.
  static let workerCount = 4

  package func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult {
    var result = CampaignResult()
    for round in 0..<max(1, Int(plan.scale.rounded())) {
      let seed = SeededGenerator(seed: plan.seed).derived(UInt64(round)).seed
      let isWhole = plan.scale >= 1
      let store = try RotStore(rounds: isWhole ? RotStore.roundsOfMebibyte : 1, seed: seed)
      let share = isWhole ? 1 : min(1, Double(plan.quota(8 << 20)) / Double(8 * store.byteCount))
      let bits = try await RotBits(store, share: share, canary, seed: seed)
        .run(progress, measuringMemory: plan.hasProcessAlone)
      result.counts.bitFlips += bits.count
      result.report += bits.report
      result.violations += bits.violations.map { ProofViolation($0, command: plan.command(for: self)) }
      guard result.violations.isEmpty else { break }
      for other in try await others(plan, store, seed: seed, progress) {
        result.counts.mutations += other.count
        result.report += other.report
        result.violations += other.violations.map { ProofViolation($0, command: plan.command(for: self)) }
      }
    }
    return result
  }

  /// All but single bits: each length of the smallest store, and sectors of that and of the large one.
  private func others(
    _ plan: ProofPlan, _ large: RotStore, seed: UInt64, _ progress: ProofProgress
  ) async throws -> [RotMutations.Result] {
    guard canary == nil else { return [] }
    let smallest = try RotStore(rounds: 0, seed: seed)
    let share = min(1, plan.scale)
    var results: [RotMutations.Result] = []
    progress.restart()
    results.append(
      try await RotMutations(smallest, truncates: true, share: share, seed: seed).run(progress))
    progress.restart()
    results.append(try await RotMutations(large, truncates: false, share: share, seed: seed).run(progress))
    progress.restart()
    let salvages = max(1, Int(Double(Self.salvageCount) * share))
    results.append(try await RotSalvage(smallest, seed: seed).run(salvages, progress))
    return results
  }

  /// In a full proof.
  private static let salvageCount = 2000
}

/// Flips the bits of one store, in several tasks with a store each.
struct RotBits: Sendable {
  struct Result: Sendable {
    var count = 0
    var report: [String] = []
    var violations: [String] = []
  }

  /// What came of the bits of one kind of part.
  private struct Tally: Sendable {
    var bits = 0
    var looks: [RotMethod: Int] = [:]
    var errors = 0
    var right = 0

    static func += (sum: inout Tally, other: Tally) {
      sum.bits += other.bits
      sum.looks.merge(other.looks, uniquingKeysWith: +)
      sum.errors += other.errors
      sum.right += other.right
    }
  }

  private struct Harvest: Sendable {
    var tallies: [RotPart.Kind: Tally] = [:]
    var violations: [String] = []
    var slowest = ProofLimits.Cost()

    mutating func add(_ other: Harvest) {
      tallies.merge(other.tallies) { sum, new in
        var sum = sum
        sum += new
        return sum
      }
      violations += other.violations
      slowest = slowest.worst(other.slowest)
    }
  }

  private let store: RotStore
  private let layout: RotLayout
  private let keys: [CrashKey]
  private let share: Double
  private let canary: RotCanary?
  private let seed: UInt64

  /// One opening in so many reads everything.
  private static let readsAllOneIn = 64
  /// One bit in so many is looked at with a watch.
  private static let measuresOneIn = 64

  /// - Parameter share: The part of the bits that is tried.
  init(_ store: RotStore, share: Double, _ canary: RotCanary?, seed: UInt64) throws {
    self.store = store
    self.share = share
    self.canary = canary
    self.seed = seed
    let opened = try Store(at: RotStore.path, options: RotStore.options(on: store.fileSystem()))
    layout = try RotLayout(store.files, opened: opened)
    keys = store.content.keys.sorted { "\($0)" < "\($1)" }
  }

  func run(_ progress: ProofProgress, measuringMemory: Bool) async throws -> Result {
    let total = Int(share * Double(8 * store.byteCount))
    let next = Guarded((part: 0, violations: 0))
    var order = Array(layout.parts.indices)
    var random = SeededGenerator(seed: seed)
    order.shuffle(using: &random)
    let parts = order.map { layout.parts[$0] }
    let memory = measuringMemory ? ProofLimits.residentBytes() : nil
    let harvest = try await withThrowingTaskGroup(of: Harvest.self) { group in
      for worker in 0..<RotCampaign.workerCount {
        group.addTask {
          let random = SeededGenerator(seed: seed).derived(UInt64(worker))
          let bench = try RotBench(store, keys: keys, canary, random)
          var harvest = Harvest()
          while let index = next.withLock({ state -> Int? in
            guard state.part < parts.count, state.violations < RotCampaign.violationsMax else { return nil }
            state.part += 1
            return state.part - 1
          }) {
            let found = try tryBits(of: parts[index], number: index, bench, &harvest)
            progress.advance(8 * parts[index].range.count, of: total, "bits")
            next.withLock { $0.violations += found }
          }
          return harvest
        }
      }
      var sum = Harvest()
      for try await harvest in group { sum.add(harvest) }
      return sum
    }
    return result(harvest, memoryBefore: memory)
  }

  /// Gives how many violations there were.
  private func tryBits(
    of part: RotPart, number: Int, _ bench: RotBench, _ harvest: inout Harvest
  ) throws -> Int {
    var random = SeededGenerator(seed: seed).derived(UInt64(1000 + number))
    var tally = Tally()
    var violations = 0
    for bit in 0..<(8 * part.range.count) {
      if share < 1, Double.random(in: 0..<1, using: &random) >= share { continue }
      let choice = random.next()
      let methods = part.methods(ofBit: bit, choice: choice)
      let isThorough = (choice >> 32) % UInt64(Self.readsAllOneIn) == 0
      let start = (choice >> 16) % UInt64(Self.measuresOneIn) == 0 ? ProofLimits.now() : nil
      let (outcomes, violation) = try bench.flip(bit: bit, of: part, methods, isThorough: isThorough)
      if let start { harvest.slowest = harvest.slowest.worst(ProofLimits.cost(since: start)) }
      for method in methods { tally.looks[method, default: 0] += 1 }
      tally.bits += 1
      if outcomes.contains(.namedError) { tally.errors += 1 } else { tally.right += 1 }
      if let violation {
        harvest.violations.append(violation)
        violations += 1
        if violations >= RotCampaign.violationsMax { break }
      }
    }
    harvest.tallies[part.kind, default: Tally()] += tally
    return violations
  }

  private func result(_ harvest: Harvest, memoryBefore: Int?) -> Result {
    var result = Result(violations: Array(harvest.violations.prefix(RotCampaign.violationsMax)))
    var sum = Tally()
    result.report.append("bits of a store of \(store.byteCount) bytes in \(store.files.count) files:")
    for (kind, tally) in harvest.tallies.sorted(by: { "\($0.key)" < "\($1.key)" }) {
      sum += tally
      result.report.append(line("\(kind)", tally))
    }
    result.report.append(line("all", sum))
    result.count = sum.bits
    let cost = harvest.slowest
    result.report.append(
      "the slowest of \(cost.samples) that were measured took \(cost.seconds) s of a processor")
    if cost.seconds > 1 { result.violations.append("one took \(cost.seconds) s") }
    if let memoryBefore, let memory = ProofLimits.residentBytes() {
      let growth = max(0, memory - memoryBefore)
      result.report.append(
        "\(RotCampaign.workerCount) stores took \(growth >> 20) MiB more memory in the end")
      if growth > RotCampaign.workerCount * ProofLimits.memoryMax {
        result.violations.append("reading took \(growth) bytes of memory")
      }
    }
    return result
  }

  private func line(_ name: String, _ tally: Tally) -> String {
    let looks = RotMethod.allCases.compactMap { method in
      tally.looks[method].map { "\(method.rawValue) \($0)" }
    }
    return
      "  \(name): \(tally.bits) bits (\(looks.joined(separator: ", "))): \(tally.errors) errors that name "
      + "the place, \(tally.right) of no account"
  }
}

import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// Damages a closed store in the ways in which a medium can damage it, and reads the store.
///
/// A read must return the right value, or throw an error that names the file and one of the damaged
/// bytes. A wrong value is a violation, and so is a key that is missing without an error. A trap
/// ends the process of the campaign, and is a violation that names its part.
package struct RotCampaign: Campaign {
  package let name = "rot"
  package let summary =
    "flips every bit of a store of a mebibyte, cuts the files of a small one, exchanges sectors, salvages"

  private let canary: RotCanary?
  private let graphs: (any RotSubject)?

  /// - Parameter graphs: Stores of graphs that are damaged after those of the engine alone.
  package init(canary: RotCanary? = nil, graphs: (any RotSubject)? = nil) {
    (self.canary, self.graphs) = (canary, graphs)
  }

  /// The names of all cases of damage to the smallest store, except flips of single bits. Cases are
  /// numbered in this order.
  package static func mutations(seed: UInt64) throws -> [String] {
    try RotMutations(RotStore(rounds: 0, seed: seed), truncates: true, share: 1, seed: seed).names
  }

  /// The affected files of the smallest store for each kind of damage: one entry for each damage,
  /// in the order before shuffling.
  package static func damagedFiles(seed: UInt64) throws -> [String: [String]] {
    var random = SeededGenerator(seed: seed)
    let all = RotMutations.all(try RotStore(rounds: 0, seed: seed), truncates: true, &random)
    return Dictionary(grouping: all, by: \.kind).mapValues { $0.map(\.file) }
  }

  /// The number of violations after which a part of the campaign stops.
  package static let violationsMax = 8

  package func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult {
    let choice = try plan.partWords.map { words in
      guard let choice = RotChoice(words) else { throw plan.noSuchPart(RotChoice.form) }
      return choice
    }
    var result = CampaignResult()
    let rounds = choice.map { $0.round...$0.round } ?? 0...max(0, Int(plan.scale.rounded()) - 1)
    for round in rounds {
      let seed = SeededGenerator(seed: plan.seed).derived(UInt64(round)).seed
      let isWhole = plan.scale >= 1
      let store = try RotStore(rounds: isWhole ? RotStore.roundsOfMebibyte : 1, seed: seed)
      let share = isWhole ? 1 : min(1, Double(plan.quota(8 << 20)) / Double(8 * store.byteCount))
      let prefix = "\(round)|"
      let (_, worst) = try await progress.measuringMemory(where: plan.hasProcessAlone) {
        if choice == nil || choice?.kind == .bits, canary?.isOfBits ?? true {
          let bits = try RotBits(store, share: share, canary, seed: seed, prefix, only: choice)
          take(try await bits.run(progress), into: &result, \.bitFlips, plan)
        }
        guard result.violations.isEmpty else { return }
        try await tryOthers(plan, store, seed: seed, prefix, only: choice, progress, &result)
      }
      if let worst { judge(worst, &result, plan) }
      guard result.violations.isEmpty else { break }
    }
    if choice != nil, result.counts == ProofCounts(), result.violations.isEmpty {
      throw plan.noSuchPart(RotChoice.form)
    }
    return result
  }

  private func take(
    _ found: RotResult, into result: inout CampaignResult,
    _ count: WritableKeyPath<ProofCounts, Int>, _ plan: ProofPlan
  ) {
    result.counts[keyPath: count] += found.count
    result.report += found.report
    result.violations += found.findings.prefix(Self.violationsMax).map {
      ProofViolation($0.what, command: plan.command(for: self, part: $0.part))
    }
  }

  /// Compares the memory of all workers together with the limit for a single read.
  private func judge(_ worst: Int, _ result: inout CampaignResult, _ plan: ProofPlan) {
    result.report.append(
      "\(ProofQueue.workerCount) stores in parallel allocated at most \(worst >> 10) KiB of memory")
    guard worst > ProofLimits.memoryMax else { return }
    result.violations.append(
      ProofViolation("reading took \(worst) bytes of memory", command: plan.command(for: self)))
  }

  /// Tries all damage except single bits: file lengths of the smallest store, sectors of both
  /// stores, tails, stores of graphs, and salvages.
  private func tryOthers(
    _ plan: ProofPlan, _ large: RotStore, seed: UInt64, _ prefix: String, only choice: RotChoice?,
    _ progress: ProofProgress, _ result: inout CampaignResult
  ) async throws {
    let smallest = try RotStore(rounds: 0, seed: seed)
    let share = min(1, plan.scale)
    for (kind, store) in [(RotChoice.Kind.smallest, smallest), (.large, large)]
    where (choice == nil || choice?.kind == kind) && (canary?.isOfDamage ?? true) {
      progress.restart()
      var mutations = try RotMutations(store, truncates: kind == .smallest, share: share, canary, seed: seed)
      mutations.only = choice?.number
      mutations.prefix = prefix + kind.rawValue
      take(try await mutations.run(progress), into: &result, \.mutations, plan)
    }
    if choice == nil || choice?.kind == .tails, canary?.isOfTails ?? true {
      progress.restart()
      var tails = try RotTails(canary, seed: seed)
      tails.only = choice?.number
      tails.prefix = prefix + RotChoice.Kind.tails.rawValue
      let count = max(1, Int(Double(Self.tailCount) * share))
      take(try tails.run(count, progress), into: &result, \.mutations, plan)
    }
    if let graphs, choice == nil || choice?.kind == .graphs {
      progress.restart()
      let count = max(1, Int(Double(graphs.fullCount) * share))
      let prefix = prefix + RotChoice.Kind.graphs.rawValue
      let found = try graphs.run(count, only: choice?.number, seed: seed, prefix: prefix, progress)
      take(found, into: &result, \.mutations, plan)
    }
    guard choice == nil || choice?.kind == .salvage, canary?.isOfSalvage ?? true else { return }
    progress.restart()
    var salvage = try RotSalvage(smallest, canary, seed: seed)
    salvage.only = choice?.number
    salvage.prefix = prefix + RotChoice.Kind.salvage.rawValue
    let salvages = max(1, Int(Double(Self.salvageCount) * share))
    take(try await salvage.run(salvages, progress), into: &result, \.mutations, plan)
  }

  /// The number of salvages in a full proof.
  private static let salvageCount = 2000
  /// The number of cases of damage to each kind of store in a full proof.
  private static let tailCount = 10_000
}

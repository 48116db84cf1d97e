import ArgumentParser
import Foundation
import PerdureProving
import PerdureTestSupport

/// `make prove`: tests the store with failures of all kinds, and counts them.
@main
struct Prove: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "perdure-prove",
    abstract: "Tests the store with power cuts, disk errors, flipped bits and killed processes.",
    discussion: """
      Each campaign runs in its own process and prints the number of its cases. The last line is one JSON object with \
      all counts. The exit code is 0 if no commit was lost, incomplete or wrong, and 1 otherwise. Each violation is \
      printed with the command that repeats it, as is a campaign that crashes, hangs or fails.
      """,
    subcommands: [KillChildCommand.self, CampaignCommand.self])

  /// The number of cases.
  enum Proof: String, CaseIterable, ExpressibleByArgument {
    case slice, full, hours

    var scale: Double {
      switch self {
      case .slice: 0.02
      case .full: 1
      case .hours: 10
      }
    }
  }

  @Option(help: "The number of cases: slice (minutes), full (about 45 minutes on two cores) or hours.")
  var proof = Proof.full

  @Option(help: "The number of cases, as a fraction or a multiple of a full proof.")
  var scale: Double?

  @Option(
    parsing: .upToNextOption,
    help: "The campaigns to run: \(campaigns.map(\.name).joined(separator: ", ")). Without it, all."
  )
  var only: [String] = []

  @Option(help: "The seed of the random choices. Without it, PERDURE_SEED or a new seed.")
  var seed: UInt64?

  @Option(
    help: """
      One case of the campaign that --only names, as a violation names it, for example --only failures --part 'put, \
      powerLoss|EIO|3|once' or --only models --part 3. For an unknown part, the campaign prints the form of a part.
      """)
  var part: String?

  @Option(help: "Kills a campaign that begins no case for this many seconds.")
  var silence = 300

  mutating func validate() throws {
    let known = campaigns.map(\.name)
    for name in only where !known.contains(name) {
      throw ValidationError("Unknown campaign \(name). Choose from: \(known.joined(separator: ", ")).")
    }
    if let scale, !(scale > 0 && scale.isFinite) {
      throw ValidationError("The scale must be a number greater than 0.")
    }
    if part != nil, only.count != 1 {
      throw ValidationError("--part needs --only with the name of one campaign.")
    }
    if silence < 1 { throw ValidationError("--silence must be at least 1 second.") }
  }

  func run() async throws {
    let plan = ProofPlan(
      seed: seed ?? SeededGenerator.seedFromEnvironment(), scale: scale ?? proof.scale, hasProcessAlone: true,
      part: part)
    Self.say("PERDURE_SEED=\(plan.seed), scale \(plan.scale)")
    var counts = ProofCounts()
    for campaign in campaigns where only.isEmpty || only.contains(campaign.name) {
      let start = ContinuousClock.now
      let (result, peakBytes) = try await result(of: campaign, plan)
      let share = plan.part.map { " (only \($0))" } ?? (plan.scale < 1 ? " (\(plan.scale) of it)" : "")
      Self.say("\n\(campaign.name): \(campaign.summary)\(share)")
      for line in result.report { Self.say("  \(line)") }
      for violation in result.violations { Self.say("  VIOLATION: \(violation)") }
      let seconds = start.duration(to: .now).components.seconds
      Self.say("  took \(seconds) s and at most \(peakBytes >> 20) MiB of memory")
      counts += result.counts
      counts.violations += result.violations.count
    }
    Self.say("\n\(counts.json)")
    if counts.violations > 0 { throw ExitCode(1) }
  }

  /// Writes without a buffer, so that an output file contains every line immediately.
  private static func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

  /// Runs a campaign in its own process.
  private func result(
    of campaign: some Campaign, _ plan: ProofPlan
  ) async throws -> (result: CampaignResult, peakBytes: Int) {
    // The process is checked ten times a second.
    let process = CampaignProcess(ownProgram, looksMax: 10 * silence) { folder in
      CampaignCommand.arguments(for: campaign.name, plan, folder)
    }
    do { return try await process.run(campaign, plan) } catch {
      // The process has already printed the existing parts.
      if error is NoSuchPart { throw ExitCode(NoSuchPart.exitCode) }
      return (.failed(error, campaign, plan), 0)
    }
  }
}

extension CampaignResult {
  /// Makes a violation of an error that a campaign did not expect.
  static func failed(_ error: any Error, _ campaign: some Campaign, _ plan: ProofPlan) -> CampaignResult {
    var result = CampaignResult()
    result.violations = [ProofViolation("it ended with \(error)", command: plan.command(for: campaign))]
    return result
  }
}

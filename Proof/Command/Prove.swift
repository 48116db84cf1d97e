import ArgumentParser
import Foundation
import PerdureProving
import PerdureTestSupport

/// `make prove`: tries to break the store, and counts.
@main
struct Prove: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "perdure-prove",
    abstract: "Cuts the power, fails the disk, flips bits and kills processes, and counts what that did.",
    discussion: """
      Each campaign prints what it tried. The last line is one JSON object with the counts. The exit code is 0 when \
      nothing was lost, half there or wrong, and 1 otherwise; every violation comes with the command that shows it again.
      """,
    subcommands: [KillChildCommand.self])

  /// How much is tried.
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

  @Option(help: "How much is tried: slice (minutes), full (45 minutes on two cores) or hours.")
  var proof = Proof.full

  @Option(help: "How much is tried, as a part or a multiple of a full proof.")
  var scale: Double?

  @Option(
    parsing: .upToNextOption,
    help: "The campaigns that run: \(campaigns.map(\.name).joined(separator: ", ")). All, when none is named."
  )
  var only: [String] = []

  @Option(help: "The random choices. Without it, PERDURE_SEED or a new one.")
  var seed: UInt64?

  mutating func validate() throws {
    let known = Set(campaigns.map(\.name))
    for name in only where !known.contains(name) {
      throw ValidationError("There is no campaign \(name).")
    }
    if let scale, !(scale > 0 && scale.isFinite) { throw ValidationError("The scale is a number above 0.") }
  }

  func run() async throws {
    let plan = ProofPlan(
      seed: seed ?? SeededGenerator.seedFromEnvironment(), scale: scale ?? proof.scale, hasProcessAlone: true)
    Self.say("PERDURE_SEED=\(plan.seed), scale \(plan.scale)")
    let progress = ProofProgress { FileHandle.standardError.write(Data("\($0)\n".utf8)) }
    var counts = ProofCounts()
    for campaign in campaigns where only.isEmpty || only.contains(campaign.name) {
      let start = ContinuousClock.now
      progress.restart()
      let result = await Self.result(of: campaign, plan, progress)
      Self.say("\n\(campaign.name): \(campaign.summary)\(plan.scale < 1 ? " (\(plan.scale) of it)" : "")")
      for line in result.report { Self.say("  \(line)") }
      for violation in result.violations { Self.say("  VIOLATION: \(violation)") }
      Self.say("  took \(start.duration(to: .now).components.seconds) s")
      counts += result.counts
      counts.violations += result.violations.count
    }
    Self.say("\n\(counts.json)")
    if counts.violations > 0 { throw ExitCode(1) }
  }

  /// Written at once: what was said is there after a trap too, also in a file.
  private static func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

  /// An error that a campaign did not expect is something that it found.
  private static func result(
    of campaign: some Campaign, _ plan: ProofPlan, _ progress: ProofProgress
  ) async -> CampaignResult {
    do { return try await campaign.run(plan, progress) } catch {
      var result = CampaignResult()
      result.violations = [ProofViolation("it ended with \(error)", command: plan.command(for: campaign))]
      return result
    }
  }
}

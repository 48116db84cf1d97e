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
      Each campaign runs in a process of its own and prints what it tried. The last line is one JSON object with the \
      counts. The exit code is 0 when nothing was lost, half there or wrong, and 1 otherwise; every violation comes \
      with the command that shows it again, and so does a campaign that traps, hangs or fails.
      """,
    subcommands: [KillChildCommand.self, CampaignCommand.self])

  /// The amount of cases.
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

  @Option(help: "How much is tried: slice (minutes), full (meant for 45 minutes on two cores) or hours.")
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

  @Option(
    help: """
      The one thing of the campaign that --only names, as a violation names it, for example --only failures --part 'put, \
      powerLoss|EIO|3|once' or --only models --part 3. One that there is not is told what a part is.
      """)
  var part: String?

  @Option(help: "A campaign that tries nothing for so many seconds hangs, and is killed.")
  var silence = 300

  mutating func validate() throws {
    let known = Set(campaigns.map(\.name))
    for name in only where !known.contains(name) {
      throw ValidationError("There is no campaign \(name).")
    }
    if let scale, !(scale > 0 && scale.isFinite) { throw ValidationError("The scale is a number above 0.") }
    if part != nil, only.count != 1 { throw ValidationError("A part is one of a campaign: --only names it.") }
    if silence < 1 { throw ValidationError("A campaign has a second at least.") }
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

  /// Written at once, also to a file.
  private static func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

  /// In a process of its own.
  private func result(
    of campaign: some Campaign, _ plan: ProofPlan
  ) async throws -> (result: CampaignResult, peakBytes: Int) {
    // Ten looks a second.
    let process = CampaignProcess(ownProgram, looksMax: 10 * silence) { folder in
      CampaignCommand.arguments(for: campaign.name, plan, folder)
    }
    do { return try await process.run(campaign, plan) } catch {
      // The process has printed the meaning of a part.
      if error is NoSuchPart { throw ExitCode(NoSuchPart.exitCode) }
      return (.failed(error, campaign, plan), 0)
    }
  }
}

extension CampaignResult {
  /// An error that a campaign did not expect is a finding.
  static func failed(_ error: any Error, _ campaign: some Campaign, _ plan: ProofPlan) -> CampaignResult {
    var result = CampaignResult()
    result.violations = [ProofViolation("it ended with \(error)", command: plan.command(for: campaign))]
    return result
  }
}

import ArgumentParser
import Foundation
import PerdureProving

/// The command that `perdure-prove` starts in a separate process for each campaign. It runs one
/// campaign in this process.
struct CampaignCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "campaign", shouldDisplay: false)

  @Argument var name: String
  @Argument var seed: UInt64
  @Argument var scale: Double
  /// The folder for the result and the notes.
  @Argument var folder: String
  // This is an argument, because the parent command has an option of this name.
  @Argument var part: String?

  static func arguments(
    for name: String, _ plan: ProofPlan, _ folder: CampaignProcess.Folder
  ) -> [String] {
    ["campaign", name, "\(plan.seed)", "\(plan.scale)", folder.path] + (plan.part.map { [$0] } ?? [])
  }

  func run() async throws {
    guard let campaign = campaigns.first(where: { $0.name == name }) else {
      let known = campaigns.map(\.name).joined(separator: ", ")
      throw ValidationError("Unknown campaign \(name). Choose one of: \(known).")
    }
    Self.endWithParent()
    let folder = CampaignProcess.Folder(folder)
    let plan = ProofPlan(seed: seed, scale: scale, hasProcessAlone: true, part: part)
    let progress = ProofProgress(desk: try ProofDesk(folder.desk)) {
      FileHandle.standardError.write(Data("\($0)\n".utf8))
    }
    do { try folder.write(await Self.result(of: campaign, plan, progress)) } catch let error as NoSuchPart {
      FileHandle.standardError.write(Data("Error: \(error)\n".utf8))
      throw ExitCode(NoSuchPart.exitCode)
    }
  }

  private static func result(
    of campaign: some Campaign, _ plan: ProofPlan, _ progress: ProofProgress
  ) async throws -> CampaignResult {
    do { return try await campaign.run(plan, progress) } catch {
      if error is NoSuchPart { throw error }
      return .failed(error, campaign, plan)
    }
  }

  /// Ends this process when its parent has ended.
  private static func endWithParent() {
    let parent = getppid()
    let thread = Thread {
      while getppid() == parent { sleep(1) }
      _exit(1)
    }
    thread.start()
  }
}

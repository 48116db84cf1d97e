import Foundation
import PerdureFuzzing
import PerdureGraphProving
import PerdureProving

/// This program, which is started for each campaign and for processes to be killed.
let ownProgram = Bundle.main.executablePath ?? CommandLine.arguments[0]

/// Programs whose power is cut, besides those that use the engine alone.
private let otherCrashes: [any CrashSubject] =
  GraphCrashSubject.all.map { $0 as any CrashSubject } + [BackupCrashSubject()]

/// All campaigns, in the order in which they run.
let campaigns: [any Campaign] = [
  CrashCampaign(beside: otherCrashes),
  ModelsCampaign(),
  RacesCampaign(),
  FoldersCampaign(),
  RotCampaign(),
  HostileCampaign(Decoders.all),
  FailureCampaign(),
  KillCampaign(executable: ownProgram),
  ForkCampaign(),
  SoakCampaign(),
]

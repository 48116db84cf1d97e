import Foundation
import PerdureFuzzing
import PerdureGraphProving
import PerdureProving

/// The path of this program. It is started again for each campaign and for processes to kill.
let ownProgram = Bundle.main.executablePath ?? CommandLine.arguments[0]

/// The programs for power cuts, in addition to those of `CrashCampaign`.
private let otherCrashes: [any CrashSubject] =
  GraphCrashSubject.all.map { $0 as any CrashSubject } + [BackupCrashSubject()]

/// All campaigns, in the order in which they run.
let campaigns: [any Campaign] = [
  CrashCampaign(beside: otherCrashes),
  ModelsCampaign(),
  RacesCampaign(),
  FoldersCampaign(),
  RotCampaign(graphs: GraphTails()),
  HostileCampaign(Decoders.all),
  FailureCampaign(),
  KillCampaign(executable: ownProgram),
  ForkCampaign(),
  SoakCampaign(),
]

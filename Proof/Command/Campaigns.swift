import Foundation
import PerdureFuzzing
import PerdureGraphProving
import PerdureProving

/// This program, which is started for each campaign and for what is killed.
let ownProgram = Bundle.main.executablePath ?? CommandLine.arguments[0]

/// All campaigns, in the order in which they run.
let campaigns: [any Campaign] = [
  CrashCampaign(beside: GraphCrashSubject.all),
  ModelsCampaign(),
  RacesCampaign(),
  RotCampaign(),
  HostileCampaign(Decoders.all),
  FailureCampaign(),
  KillCampaign(executable: ownProgram),
  ForkCampaign(),
  SoakCampaign(),
]

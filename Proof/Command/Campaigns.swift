import Foundation
import PerdureFuzzing
import PerdureGraphProving
import PerdureProving

/// All campaigns, in the order in which they run.
let campaigns: [any Campaign] = [
  CrashCampaign(beside: GraphCrashSubject.all),
  ModelsCampaign(),
  RacesCampaign(),
  RotCampaign(),
  HostileCampaign(Decoders.all),
  FailureCampaign(),
  KillCampaign(executable: Bundle.main.executablePath ?? CommandLine.arguments[0]),
  SoakCampaign(),
]

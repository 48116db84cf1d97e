import Foundation
import PerdureProving

/// All campaigns, in the order in which they run.
let campaigns: [any Campaign] = [
  CrashCampaign(),
  ModelsCampaign(),
  RacesCampaign(),
  RotCampaign(),
  FailureCampaign(),
  KillCampaign(executable: Bundle.main.executablePath ?? CommandLine.arguments[0]),
  SoakCampaign(),
]

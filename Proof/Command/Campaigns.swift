import Foundation
import PerdureGraphProving
import PerdureProving

/// All campaigns, in the order in which they run.
let campaigns: [any Campaign] = [
  CrashCampaign(beside: GraphCrashSubject.all),
  ModelsCampaign(),
  RacesCampaign(),
  RotCampaign(),
  FailureCampaign(),
  KillCampaign(executable: Bundle.main.executablePath ?? CommandLine.arguments[0]),
  SoakCampaign(),
]

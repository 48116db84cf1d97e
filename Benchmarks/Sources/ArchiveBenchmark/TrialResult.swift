import Measuring

/// The results of a trial.
struct TrialResult {
  var engine: String
  var packageCount = 0
  var readCost = Cost()
  var importCost = Cost()
  var finishCost = Cost()
  var openCost = Cost()
  var digestCost = Cost()
  var bytesOnDisk = 0
  var start = ""
  var closures: [ClosureResult] = []
  var digest = ArchiveDigest()
  var expectedDigest = ArchiveDigest()

  var isRight: Bool { digest == expectedDigest }

  /// The medians of each cost over the rounds. All other data is from the first round.
  static func median(of rounds: [TrialResult]) -> TrialResult {
    var result = rounds[0]
    for cost in [\TrialResult.readCost, \.importCost, \.finishCost, \.openCost, \.digestCost] {
      result[keyPath: cost] = .median(of: rounds.map { $0[keyPath: cost] })
    }
    for method in result.closures.indices {
      result.closures[method].cold = .median(of: rounds.map { $0.closures[method].cold })
      result.closures[method].hot = .median(of: rounds.map { $0.closures[method].hot })
    }
    return result
  }
}

/// The measurement of one method of computing a closure.
struct ClosureResult {
  var method: String
  var count: Int
  var digest: ArchiveDigest
  var cold: Cost
  /// The median of the hot runs.
  var hot: Cost
}

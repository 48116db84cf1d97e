import Foundation

/// Two trials side by side, as ratios: above 1 Perdure is ahead.
struct Comparison {
  var peer: TrialResult
  var perdure: TrialResult

  var text: String {
    let imported = ratio(peer.importCost + peer.finishCost, perdure.importCost + perdure.finishCost)
    return [
      "\(peer.engine) / \(perdure.engine): above 1, \(perdure.engine) is ahead",
      "  import and close                  \(imported)",
      "  open                              \(ratio(peer.openCost, perdure.openCost))",
      "  closure, cold: best against best  \(best(\.cold))",
      "  closure, hot: best against best   \(best(\.hot))",
      "  read all back                     \(ratio(peer.digestCost, perdure.digestCost))",
      "  size on disk                      "
        + String(format: "%6.2f", Double(peer.bytesOnDisk) / Double(perdure.bytesOnDisk)),
    ].joined(separator: "\n")
  }

  private func best(_ cost: KeyPath<ClosureResult, Cost>) -> String {
    func least(_ result: TrialResult) -> Cost {
      result.closures.map { $0[keyPath: cost] }.min { $0.seconds < $1.seconds } ?? Cost()
    }
    return ratio(least(peer), least(perdure))
  }

  private func ratio(_ peer: Cost, _ mine: Cost) -> String {
    String(
      format: "%6.2f elapsed, %6.2f processor", peer.seconds / mine.seconds,
      peer.processorSeconds / mine.processorSeconds)
  }
}

import Foundation

/// Results as lines of text.
struct Report {
  var result: TrialResult

  var text: String {
    let total = result.readCost + result.importCost + result.finishCost
    var lines = [
      "\(result.engine), durability \(result.durability.rawValue): \(result.packageCount) stanzas",
      "                                          elapsed        processor",
      row("read and parse", result.readCost),
      row("import, all commits", result.importCost),
      row("finish and close", result.finishCost),
      row("total", total) + "   \(Int(Double(result.packageCount) / total.seconds)) stanzas/s",
      row("open, files dropped from cache", result.openCost),
      "  size on disk                      \(String(format: "%10.1f MiB", Double(result.bytesOnDisk) / 1_048_576))",
      row("read all back", result.digestCost)
        + "   \(result.digest.count) packages, digest \(result.digest) \(result.isRight ? "as expected" : "WRONG")",
      "  closure of \(result.start):",
    ]
    for closure in result.closures {
      lines.append(
        row("  " + closure.method + ", cold", closure.cold)
          + "   \(closure.count) packages, digest \(closure.digest)")
      lines.append(row("  " + closure.method + ", hot", closure.hot))
    }
    return lines.joined(separator: "\n")
  }

  private func row(_ name: String, _ cost: Cost) -> String {
    let label = name.padding(toLength: 32, withPad: " ", startingAt: 0)
    return "  \(label)  \(milliseconds(cost.seconds))  \(milliseconds(cost.processorSeconds))"
  }

  private func milliseconds(_ seconds: Double) -> String { String(format: "%10.1f ms", seconds * 1_000) }
}

import Foundation

/// Results as lines of text.
struct Report {
  var result: TrialResult

  var text: String {
    let total = result.readSeconds + result.importSeconds + result.finishSeconds
    var lines = [
      "\(result.engine), durability \(result.durability.rawValue): \(result.packageCount) stanzas",
      row("read and parse", result.readSeconds),
      row("import, all commits", result.importSeconds),
      row("finish and close", result.finishSeconds),
      row("total", total) + "   \(Int(Double(result.packageCount) / total)) stanzas/s",
      row("open, files dropped from cache", result.openSeconds),
      "  size on disk                      \(String(format: "%10.1f MiB", Double(result.bytesOnDisk) / 1_048_576))",
      row("read all back", result.digestSeconds)
        + "   \(result.digest.count) packages, digest \(result.digest) \(result.isRight ? "as expected" : "WRONG")",
      "  closure of \(result.start):",
    ]
    for closure in result.closures {
      lines.append(
        row("  " + closure.method + ", cold", closure.coldSeconds)
          + "   \(closure.count) packages, digest \(closure.digest)")
      lines.append(row("  " + closure.method + ", hot", closure.hotSeconds))
    }
    return lines.joined(separator: "\n")
  }

  private func row(_ name: String, _ seconds: Double) -> String {
    let label = name.padding(toLength: 32, withPad: " ", startingAt: 0)
    return "  \(label)  \(String(format: "%10.1f ms", seconds * 1_000))"
  }
}

import Foundation
import Measuring

/// Compares two engines, as a table in Markdown and as JSON. A ratio greater than 1 means that
/// Perdure is better.
struct Comparison {
  var peer: TrialResult
  var perdure: TrialResult
  var settings: [String]

  var text: String {
    let header = [
      "| milliseconds | \(peer.engine) processor | \(perdure.engine) processor | ratio "
        + "| \(peer.engine) elapsed | \(perdure.engine) elapsed | ratio |",
      "|---|--:|--:|--:|--:|--:|--:|",
    ]
    return (settings + [""] + header + lines.map(\.text) + ["", sizes] + facts).joined(separator: "\n")
  }

  /// The settings, and the figures of each engine and workload.
  func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return try encoder.encode(Output(settings: settings, results: [peer, perdure].flatMap(figures)))
  }

  // MARK: The table

  private struct Line {
    var name: String
    var peer: Cost
    var perdure: Cost

    var text: String {
      let figures = [
        milliseconds(peer.processorSeconds), milliseconds(perdure.processorSeconds),
        ratio(\.processorSeconds), milliseconds(peer.seconds), milliseconds(perdure.seconds),
        ratio(\.seconds),
      ]
      return "| \(name) | " + figures.joined(separator: " | ") + " |"
    }

    private func milliseconds(_ seconds: Double) -> String { String(format: "%.1f", seconds * 1_000) }

    private func ratio(_ figure: KeyPath<Cost, Double>) -> String {
      String(format: "%.2f", peer[keyPath: figure] / perdure[keyPath: figure])
    }
  }

  private var lines: [Line] {
    func line(_ name: String, _ cost: (TrialResult) -> Cost) -> Line {
      Line(name: name, peer: cost(peer), perdure: cost(perdure))
    }
    func best(_ result: TrialResult, _ cost: KeyPath<ClosureResult, Cost>) -> Cost {
      let costs = result.closures.map { $0[keyPath: cost] }
      return costs.min { $0.processorSeconds < $1.processorSeconds } ?? Cost()
    }
    return [
      line("import, all commits", \.importCost),
      line("import, with finishing and closing") { $0.importCost + $0.finishCost },
      line("import, with reading the indexes as well") { $0.readCost + $0.importCost + $0.finishCost },
      line("open", \.openCost),
      line("closure, cold, best way") { best($0, \.cold) },
      line("closure, hot, best way") { best($0, \.hot) },
      line("read everything back", \.digestCost),
    ]
  }

  private var sizes: String {
    func size(_ result: TrialResult) -> String {
      "\(result.engine) " + String(format: "%.1f MiB", Double(result.bytesOnDisk) / 1_048_576)
    }
    return "on disk: \(size(peer)), \(size(perdure))"
  }

  /// The results, and the time of each method of computing a closure.
  private var facts: [String] {
    let stanzas = "\(perdure.packageCount) stanzas, \(perdure.digest.count) packages, digest "
    let digests = [peer, perdure].map { "\($0.engine) \($0.digest)\($0.isRight ? "" : " WRONG")" }
    let ways = [peer, perdure].flatMap { result in
      result.closures.map { closure in
        String(
          format:
            "closure of \(result.start), \(result.engine), \(closure.method): cold %.1f, hot %.1f ms of "
            + "processor, \(closure.count) packages, digest \(closure.digest)",
          closure.cold.processorSeconds * 1_000, closure.hot.processorSeconds * 1_000)
      }
    }
    return [stanzas + digests.joined(separator: ", ")] + ways
  }
}

// MARK: - JSON

private struct Output: Encodable {
  var settings: [String]
  var results: [Figure]
}

private struct Figure: Encodable {
  var engine: String
  var workload: String
  /// The number of stanzas, or of packages in the closure.
  var n: Int
  var processor_ms: Double
  var elapsed_ms: Double
  var disk_bytes: Int
  var digest: String
}

extension Comparison {
  private func figures(of result: TrialResult) -> [Figure] {
    func figure(_ workload: String, _ cost: Cost, n: Int, _ digest: ArchiveDigest) -> Figure {
      func milliseconds(_ seconds: Double) -> Double { (seconds * 100_000).rounded() / 100 }
      return Figure(
        engine: result.engine, workload: workload, n: n, processor_ms: milliseconds(cost.processorSeconds),
        elapsed_ms: milliseconds(cost.seconds), disk_bytes: result.bytesOnDisk, digest: digest.description)
    }
    let steps: [(String, Cost)] = [
      ("read and parse", result.readCost), ("import", result.importCost), ("finish", result.finishCost),
      ("open", result.openCost), ("read back", result.digestCost),
    ]
    return steps.map { figure($0.0, $0.1, n: result.packageCount, result.digest) }
      + result.closures.flatMap { closure in
        [
          figure("closure cold, " + closure.method, closure.cold, n: closure.count, closure.digest),
          figure("closure hot, " + closure.method, closure.hot, n: closure.count, closure.digest),
        ]
      }
  }
}

import Perdure
import PerdureFileIO
import PerdureLog
package import PerdureProving
import PerdureTestSupport

/// Damages the rows of a graph: copies and exchanges sectors, records and versions. An opening does
/// not read all of these rows. Then compares all answers by index with the rows.
///
/// An answer must be right, or an error that names the segment. Without bound records, a row may be
/// an older version, if a verification detects it.
package struct GraphTails: RotSubject {
  package let fullCount = 1_000
  private let comparesReplacedRecords: Bool

  /// - Parameter comparesReplacedRecords: False in a test, which must detect the omission.
  package init(comparesReplacedRecords: Bool = true) {
    self.comparesReplacedRecords = comparesReplacedRecords
  }

  package func run(
    _ count: Int, only: Int?, seed: UInt64, prefix: String, _ progress: ProofProgress
  ) throws -> RotResult {
    try examine(count, only: only, seed: seed, prefix: prefix, progress).result
  }

  /// Like `run`, but also returns the outcomes. Cases with odd numbers affect bound records.
  package func examine(
    _ count: Int, only: Int?, seed: UInt64, prefix: String, _ progress: ProofProgress
  ) throws -> (result: RotResult, tally: TailTally) {
    var (result, tally) = (RotResult(), TailTally())
    let stores = try [false, true].enumerated().map { number, binds in
      var random = SeededGenerator(seed: seed).derived(UInt64(number))
      return try Misplacement(TailedGraph(bindsRecords: binds, &random))
    }
    for index in 0..<(2 * count) where only == nil || only == index {
      progress.advance(of: 2 * count, "records of graphs at wrong offsets")
      var random = SeededGenerator(seed: seed).derived(UInt64(2 + index))
      let (store, isBound) = (stores[index % 2], index % 2 == 1)
      let (kind, segment) = store.damaged(&random)
      let name = "\(isBound ? "bound" : "not bound"), \(kind)"
      do {
        tally.add(try look(at: segment, store, isBound: isBound), of: name)
        result.count += 1
      } catch let error as Violation {
        result.findings.append(RotFinding(what: "\(name) of a graph: \(error)", part: "\(prefix)|\(index)"))
        if result.findings.count >= RotCampaign.violationsMax { break }
      }
    }
    result.report = tally.report("graphs with a log after the checkpoint")
    return (result, tally)
  }

  private func look(at segment: [UInt8], _ store: Misplacement, isBound: Bool) throws -> TailOutcome {
    func fileSystem() throws -> InMemoryFileSystem {
      try store.graph.fileSystem(with: segment, named: store.file)
    }
    let container: PersistentContainer
    do {
      container = try TailedGraph.container(
        on: fileSystem(), comparesReplacedRecords: comparesReplacedRecords)
    } catch {
      guard let damage = GraphTailAnswers.damage(in: error), damage.place?.hasPrefix(store.file) ?? false
      else { throw Violation("the error does not name \(store.file): \(error)") }
      return .refused
    }
    let older = isBound ? [] : store.partsOfOlderVersions(in: segment)
    var answers = GraphTailAnswers(container, older: older)
    answers.check()
    if let mistake = answers.mistakes.first {
      throw Violation("\(mistake), and \(answers.mistakes.count - 1) other wrong answers")
    }
    guard answers.hasOlderRows else { return answers.hasErrors ? .errors : .right }
    if try TailedGraph.isClean(fileSystem()) {
      throw Violation("verify does not report an older version")
    }
    return .older
  }

  /// Checks a graph without damage.
  ///
  /// - Throws: `Violation` if an answer is wrong, or if a verification finds something.
  package static func checkUndamaged(bindsRecords: Bool, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try Misplacement(TailedGraph(bindsRecords: bindsRecords, &random))
    let outcome = try GraphTails().look(at: store.bytes, store, isBound: true)
    let fileSystem = try store.graph.fileSystem(with: store.bytes, named: store.file)
    guard outcome == .right, try TailedGraph.isClean(fileSystem) else {
      throw Violation("the graph without damage \(outcome.rawValue)")
    }
  }
}

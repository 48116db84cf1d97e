import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// Flips the bits of one store in several tasks, each with its own copy of the store.
struct RotBits: Sendable {
  /// The results for the bits of one kind of part.
  private struct Tally: Sendable {
    var bits = 0
    var looks: [RotMethod: Int] = [:]
    var errors = 0
    var refused = 0
    var right = 0
    var unread = 0

    static func += (sum: inout Tally, other: Tally) {
      sum.bits += other.bits
      sum.looks.merge(other.looks, uniquingKeysWith: +)
      sum.errors += other.errors
      sum.refused += other.refused
      sum.right += other.right
      sum.unread += other.unread
    }
  }

  private struct Harvest: Sendable {
    var tallies: [RotPart.Kind: Tally] = [:]
    var findings: [RotFinding] = []
    var slowest = ProofLimits.Cost()

    mutating func add(_ other: Harvest) {
      tallies.merge(other.tallies) { sum, new in
        var sum = sum
        sum += new
        return sum
      }
      findings += other.findings
      slowest = slowest.worst(other.slowest)
    }
  }

  private let store: RotStore
  private let layout: RotLayout
  private let keys: [CrashKey]
  private let share: Double
  private let canary: RotCanary?
  private let seed: UInt64
  /// The words that a violation names before the number of the part of the store.
  private let words: String
  private let only: RotChoice?

  /// One opening in this many reads everything.
  private static let readsAllOneIn = 64
  /// The check of one bit in this many is timed.
  private static let measuresOneIn = 64

  /// - Parameter share: The fraction of the bits to try.
  init(
    _ store: RotStore, share: Double, _ canary: RotCanary?, seed: UInt64, _ prefix: String = "",
    only: RotChoice? = nil
  ) throws {
    words = prefix + RotChoice.Kind.bits.rawValue
    self.only = only
    self.store = store
    self.share = share
    self.canary = canary
    self.seed = seed
    let opened = try Store(at: RotStore.path, options: RotStore.options(on: store.fileSystem()))
    layout = try RotLayout(store.files, opened: opened)
    keys = store.content.keys.sorted { "\($0)" < "\($1)" }
  }

  func run(_ progress: ProofProgress) async throws -> RotResult {
    let total = Int(share * Double(8 * store.byteCount))
    let violations = Guarded(0)
    var order = Array(layout.parts.indices)
    var random = SeededGenerator(seed: seed)
    order.shuffle(using: &random)
    let parts = order.map { layout.parts[$0] }
    let queue = ProofQueue(parts.count)
    let harvest = try await withThrowingTaskGroup(of: Harvest.self) { group in
      for worker in 0..<ProofQueue.workerCount {
        group.addTask {
          let random = SeededGenerator(seed: seed).derived(UInt64(worker))
          let bench = try RotBench(store, keys: keys, canary, random)
          var harvest = Harvest()
          let note = progress.newNote()
          while let index = queue.next() {
            guard only == nil || only?.number == index else { continue }
            note.begin("\(words)|\(index)")
            let found = try tryBits(of: parts[index], number: index, bench, note, progress, &harvest)
            progress.advance(8 * parts[index].range.count, of: total, "bits")
            let sum = violations.withLock { sum in
              sum += found
              return sum
            }
            if sum >= RotCampaign.violationsMax { queue.end() }
          }
          return harvest
        }
      }
      var sum = Harvest()
      for try await harvest in group { sum.add(harvest) }
      return sum
    }
    return result(harvest)
  }

  /// Tries the bits of a part, and returns the number of violations.
  private func tryBits(
    of part: RotPart, number: Int, _ bench: RotBench, _ note: ProofNote, _ progress: ProofProgress,
    _ harvest: inout Harvest
  ) throws -> Int {
    var random = SeededGenerator(seed: seed).derived(UInt64(1000 + number))
    var tally = Tally()
    var violations = 0
    for bit in 0..<(8 * part.range.count) {
      if share < 1, Double.random(in: 0..<1, using: &random) >= share { continue }
      let choice = random.next()
      let methods = part.methods(ofBit: bit, choice: choice)
      let isThorough = (choice >> 32) % UInt64(Self.readsAllOneIn) == 0
      guard only == nil || only?.bit == bit else { continue }
      note.step(bit)
      // Reports activity, because a single part may need thousands of openings.
      if bit % 8 == 0 { progress.beat() }
      let start = (choice >> 16) % UInt64(Self.measuresOneIn) == 0 ? ProofLimits.now() : nil
      let (outcomes, violation) = try bench.flip(bit: bit, of: part, methods, isThorough: isThorough)
      if let start { harvest.slowest = harvest.slowest.worst(ProofLimits.cost(since: start)) }
      for method in methods { tally.looks[method, default: 0] += 1 }
      tally.bits += 1
      if outcomes.contains(.namedError) {
        tally.errors += 1
      } else if outcomes.contains(.refused) {
        tally.refused += 1
      } else if part.kind.isOfNoAccount {
        tally.unread += 1
      } else {
        tally.right += 1
      }
      if let violation {
        harvest.findings.append(RotFinding(what: violation, part: "\(words)|\(number)|\(bit)"))
        violations += 1
        if violations >= RotCampaign.violationsMax { break }
      }
    }
    harvest.tallies[part.kind, default: Tally()] += tally
    return violations
  }

  private func result(_ harvest: Harvest) -> RotResult {
    var result = RotResult(findings: harvest.findings)
    var sum = Tally()
    let share = share == 1 ? "every bit" : "\(100 * share) % of the bits"
    result.report.append("\(share) of a store of \(store.byteCount) bytes in \(store.files.count) files:")
    for (kind, tally) in harvest.tallies.sorted(by: { "\($0.key)" < "\($1.key)" }) {
      sum += tally
      result.report.append(line("\(kind)", tally))
    }
    result.report.append(line("all", sum))
    result.count = sum.bits
    let cost = harvest.slowest
    result.report.append(
      "the slowest of \(cost.samples) measured checks took \(cost.text)")
    if cost.seconds > ProofLimits.secondsMax {
      result.findings.append(RotFinding(what: "one took \(cost.seconds) s", part: nil))
    }
    return result
  }

  private func line(_ name: String, _ tally: Tally) -> String {
    let looks = RotMethod.allCases.compactMap { method in
      tally.looks[method].map { "\(method.rawValue) \($0)" }
    }
    let outcomes = [
      (tally.errors, "errors that name the place"),
      (tally.refused, "rejected by the check before each use"),
      (tally.right, "read correctly"),
      (tally.unread, "without effect, because nothing reads them"),
    ]
    let counts = outcomes.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return "  \(name): \(tally.bits) bits (\(looks.joined(separator: ", "))): "
      + counts.joined(separator: ", ")
  }
}

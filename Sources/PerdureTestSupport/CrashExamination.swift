// One walk over a journal, and, within it, over the journals of recoveries.
//
// Invariants
//  W1  A disk is checked when it is first seen, and again only when it must show more: when `acknowledged` is not
//      the beginning of what it was at the last check. Not when more steps had begun: the first time they are
//      fewest, and the check strictest.
//  W2  Which disks are tried depends on the seed and the journals alone, never on a hash.

struct CrashExamination {
  /// Checks a disk; gives what its recovery did, if that may be cut.
  typealias Check = (CrashImage, CrashContext) throws -> CrashJournal?

  /// A journal on the way from the workload to where the power goes.
  private struct Level {
    let journal: CrashJournal
    /// The crash whose recovery this is; nil for the workload.
    let crash: CrashContext?
    /// Where the power goes in it.
    var operation = 0
    var pending: [PendingChange] = []
    var fates: [Fate] = []
    /// What is wrong on purpose; nothing is in recoveries.
    var canary: CrashCanary?

    var begun: [Int] { (crash?.begun ?? []) + journal.begun(after: operation, canary) }
    var acknowledged: [Int] { (crash?.acknowledged ?? []) + journal.acknowledged(after: operation, canary) }

    /// What an operation does, as far as it does what it says.
    func event(_ index: Int) -> DiskEvent {
      let event = journal.operations[index].event
      guard canary == .ignoresSync, index + 1 >= journal.firstMarkedOperation else { return event }
      return event.withoutSync
    }
  }

  let explorer: CrashExplorer
  private(set) var report: CrashReport
  /// What a disk that was seen had to show, as a position in `promises`. W1
  private var seen: [Int: Int] = [:]
  private var promises: [[Int]] = []
  private var levels: [Level] = []
  private var walks: UInt64 = 0
  private var choices: SeededGenerator

  init(explorer: CrashExplorer) {
    explorer.checkSettings()
    self.explorer = explorer
    report = CrashReport(explorer)
    choices = SeededGenerator(seed: explorer.seed).derived(.max)
  }

  private var isOver: Bool { report.violation != nil || report.checkedCount >= explorer.checksMax }

  /// Checks what a loss of power may leave after each operation of a workload's journal.
  mutating func begin(_ journal: CrashJournal, _ check: Check) {
    report.note(journal)
    walk(journal, from: nil, check)
    report.isComplete = !isOver
  }

  private mutating func walk(_ journal: CrashJournal, from crash: CrashContext?, _ check: Check) {
    let level = Level(journal: journal, crash: crash, canary: crash == nil ? explorer.canary : nil)
    levels.append(level)
    defer { levels.removeLast() }
    var cutter = cutter(journal.start)
    cut(&cutter, after: 0, check)
    for index in journal.operations.indices where !isOver {
      cutter.apply(level.event(index), operation: index + 1)
      cut(&cutter, after: index + 1, check)
    }
  }

  /// Checks what a loss of power may leave after one operation of a journal.
  mutating func look(at journal: CrashJournal, after operation: Int, _ check: Check) {
    precondition(
      (0...journal.operationCount).contains(operation),
      "Operation \(operation) of a journal that has \(journal.operationCount); 0 is before the first")
    let level = Level(journal: journal, crash: nil, canary: explorer.canary)
    levels.append(level)
    defer { levels.removeLast() }
    var cutter = cutter(journal.start)
    for index in 0..<operation { cutter.apply(level.event(index), operation: index + 1) }
    cut(&cutter, after: operation, check)
  }

  private mutating func cutter(_ start: DurabilityModel) -> DiskCutter {
    walks += 1
    return DiskCutter(start, sectorLength: explorer.sectorLength, seed: explorer.seed)
  }

  private mutating func cut(_ cutter: inout DiskCutter, after operation: Int, _ check: Check) {
    let top = levels.count - 1
    let part = part(of: levels[top])
    guard isChosen(oneIn: part.operationsOneIn) else { return }
    levels[top].operation = operation
    levels[top].pending = cutter.pending
    let (begun, acknowledged) = (levels[top].begun, levels[top].acknowledged)
    let kind = operation == 0 ? nil : levels[top].journal.operations[operation - 1].kind
    for fates in crashes(of: cutter, after: operation, imagesMax: part.imagesMax) where !isOver {
      let (image, losses) = cutter.image(fates)
      report.imageCount += 1
      for loss in losses { report.lossCounts[loss, default: 0] += 1 }
      let fingerprint = image.fingerprint
      let isNew = seen[fingerprint] == nil
      guard admit(fingerprint, acknowledged) else { continue }
      let context = CrashContext(
        operation: operation, begun: begun, acknowledged: acknowledged, losses: losses, operationKind: kind,
        recoveries: top, fingerprint: fingerprint)
      if isNew {
        report.distinctImageCounts[top] += 1
        report.matrix.add(context)
      }
      levels[top].fates = fates
      run(check, image, context)
    }
  }

  /// W1
  private mutating func admit(_ fingerprint: Int, _ acknowledged: [Int]) -> Bool {
    if let shown = seen[fingerprint], promises[shown].starts(with: acknowledged) { return false }
    if promises.last != acknowledged { promises.append(acknowledged) }
    seen[fingerprint] = promises.count - 1
    return true
  }

  private mutating func isChosen(oneIn count: Int) -> Bool {
    count == 1 || choices.next() % UInt64(count) == 0
  }

  /// After one operation in how many the power is cut, and how many disks are built then.
  private func part(of level: Level) -> (operationsOneIn: Int, imagesMax: Int) {
    let imagesMax = explorer.imagesPerOperationMax
    guard level.crash != nil else { return (explorer.operationsOneIn, imagesMax) }
    let (operations, all) = (level.journal.operationCount + 1, explorer.imagesPerRecoveryMax)
    let images = min(imagesMax, max(Self.imagesMin, all / operations))
    return (max(1, operations * images / all), images)
  }

  /// Rather fewer operations than fewer disks after one.
  private static let imagesMin = 4

  /// What to take of the pending changes, a different list for each crash.
  private mutating func crashes(
    of cutter: DiskCutter, after operation: Int, imagesMax: Int
  ) -> [[Fate]] {
    let planner = CrashPlanner(
      imagesMax: imagesMax, sectorLength: explorer.sectorLength,
      makesGarbage: explorer.makesGarbage)
    // W2
    var random = SeededGenerator(seed: explorer.seed).derived(walks).derived(UInt64(operation))
    let (wished, isExhaustive) = planner.crashes(cutter.pending, random: &random)
    report.exhaustedOperationCount += isExhaustive ? 1 : 0
    report.sampledOperationCount += isExhaustive ? 0 : 1
    var tried: Set<[Fate]> = []
    return wished.compactMap { wished in
      let fates = cutter.model.allowed(wished)
      return tried.insert(fates).inserted ? fates : nil
    }
  }

  private mutating func run(_ check: Check, _ image: CrashImage, _ context: CrashContext) {
    report.noteCheck(context)
    do {
      let recovery = try check(image, context)
      if let recovery { report.noteLabels(recovery) }
      guard let recovery, context.recoveries < explorer.recoveryDepth,
        isChosen(oneIn: explorer.recoveriesOneIn)
      else { return }
      report.recoveryCount += 1
      walk(recovery, from: context, check)
    } catch {
      report.violation = CrashViolation(
        reason: "\(error)", operation: context.operation, losses: context.losses,
        recoveries: context.recoveries, image: image, trace: levels.flatMap(Self.trace), seed: explorer.seed)
    }
  }

  private static func trace(_ level: Level) -> [String] {
    let fateTexts = Dictionary(
      zip(level.pending.map(\.operation), level.fates.map(\.text)), uniquingKeysWith: { "\($0), \($1)" })
    let lines = level.journal.trace.prefix(level.operation).enumerated().map { index, line in
      fateTexts[index + 1].map { "\(line): \($0)" } ?? line
    }
    guard let crash = level.crash else { return lines }
    return ["-- the power was cut; recovery \(crash.recoveries + 1) begins"] + lines
  }
}

extension Fate {
  /// For the trace.
  fileprivate var text: String {
    switch self {
    case .lost: "LOST"
    case .kept: "kept, unsynced"
    case .torn(let sectors, let rest):
      "TORN, sectors \(sectors.map { $0 ? "1" : "0" }.joined()), the rest \(rest)"
    }
  }
}

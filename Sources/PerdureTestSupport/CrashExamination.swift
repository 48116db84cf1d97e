// Examines a journal and, nested within it, the journals of recoveries.
//
// Invariants
//   CE1  A disk is checked when it first occurs. It is checked again only if the check may require
//        more data than before. This is the case if `acknowledged` is not a prefix of its value at
//        the last check. More begun steps alone are no reason to check a disk again. Within one
//        journal, the first occurrence has the fewest begun steps, so its check is the strictest.
//        (A disk that first occurred after a recovery may occur again with fewer begun steps.)
//   CE2  The disks that are tried after an operation depend only on the seed, the journals and the
//        earlier crashes. They never depend on a hash or on the disks that were tried before. So a
//        crash can be tried alone (`CrashExplorer.only`).

struct CrashExamination {
  /// Checks a disk. Returns the operations of its recovery, or nil if no cut in the recovery is
  /// possible.
  typealias Check = (CrashImage, CrashContext) throws -> CrashJournal?

  /// The journal of the workload, or of a recovery before the power cut.
  private struct Level {
    let journal: CrashJournal
    /// The crash that this recovery follows; nil for the workload.
    let crash: CrashContext?
    /// The number of operations before the power cut.
    var operation = 0
    var pending: [PendingChange] = []
    var fates: [Fate] = []
    /// The number of the disk among those built after this operation.
    var disk = 0
    /// Chooses the crashes of this journal. CE2
    let random: SeededGenerator
    /// The deliberate mistake; nil for recoveries.
    var canary: CrashCanary?

    var begun: [Int] { (crash?.begun ?? []) + journal.begun(after: operation, canary) }
    var acknowledged: [Int] { (crash?.acknowledged ?? []) + journal.acknowledged(after: operation, canary) }

    /// The effect of an operation, including the mistake of the canary.
    func event(_ index: Int) -> DiskEvent {
      let event = journal.operations[index].event
      guard canary == .ignoresSync, index + 1 >= journal.firstMarkedOperation else { return event }
      return event.withoutSync
    }
  }

  let explorer: CrashExplorer
  private(set) var report: CrashReport
  /// For each known disk, the position in `promises` of the labels at its last check. CE1
  private var seen: [Int: Int] = [:]
  private var promises: [[Int]] = []
  private var levels: [Level] = []
  private var choices: SeededGenerator

  init(explorer: CrashExplorer) {
    explorer.checkSettings()
    self.explorer = explorer
    report = CrashReport(explorer)
    choices = SeededGenerator(seed: explorer.seed).derived(.max)
  }

  /// The note about the next step, which remains after a trap.
  private var note: RunNote?

  private var isOver: Bool { report.violation != nil || report.checkedCount >= explorer.checksMax }

  /// Checks the disks that a power cut may leave after each operation of a workload's journal.
  mutating func begin(_ journal: CrashJournal, _ check: Check) {
    report.note(journal)
    note = explorer.makeNote()
    walk(journal, from: nil, workloadRandom, check)
    report.isComplete = !isOver
  }

  private mutating func walk(
    _ journal: CrashJournal, from crash: CrashContext?, _ random: SeededGenerator, _ check: Check
  ) {
    let canary = crash == nil ? explorer.canary : nil
    let level = Level(journal: journal, crash: crash, random: random, canary: canary)
    levels.append(level)
    defer { levels.removeLast() }
    var cutter = cutter(journal.start)
    cut(&cutter, after: 0, check)
    for index in journal.operations.indices where !isOver {
      cutter.apply(level.event(index), operation: index + 1)
      cut(&cutter, after: index + 1, check)
    }
  }

  /// Checks the disks that a power cut may leave after one operation of a journal.
  mutating func look(at journal: CrashJournal, after operation: Int, _ check: Check) {
    precondition(
      (0...journal.operationCount).contains(operation),
      "The operation must be 0 to \(journal.operationCount); 0 means before the first operation.")
    let level = Level(journal: journal, crash: nil, random: workloadRandom, canary: explorer.canary)
    levels.append(level)
    defer { levels.removeLast() }
    var cutter = cutter(journal.start)
    for index in 0..<operation { cutter.apply(level.event(index), operation: index + 1) }
    cut(&cutter, after: operation, check)
  }

  private var workloadRandom: SeededGenerator { SeededGenerator(seed: explorer.seed).derived(1) }

  private func cutter(_ start: DurabilityModel) -> DiskCutter {
    DiskCutter(start, sectorLength: explorer.sectorLength, seed: explorer.seed)
  }

  /// The only crash to try in the innermost journal; nil for all crashes.
  private var only: CrashPlace.Step? {
    guard let only = explorer.only else { return nil }
    // `only` has no step for a cut during the recovery after its last step.
    precondition(levels.count <= only.steps.count)
    return only.steps[levels.count - 1]
  }

  private mutating func cut(_ cutter: inout DiskCutter, after operation: Int, _ check: Check) {
    let top = levels.count - 1
    let part = part(of: levels[top])
    let only = only
    guard only.map({ $0.operation == operation }) ?? isChosen(oneIn: part.operationsOneIn) else { return }
    levels[top].operation = operation
    levels[top].pending = cutter.pending
    let (begun, acknowledged) = (levels[top].begun, levels[top].acknowledged)
    let kind = operation == 0 ? nil : levels[top].journal.operations[operation - 1].kind
    let crashes = crashes(of: cutter, after: operation, imagesMax: part.imagesMax)
    for (disk, fates) in crashes.enumerated() where !isOver && (only.map { $0.disk == disk } ?? true) {
      let (image, losses) = cutter.image(fates)
      report.imageCount += 1
      for loss in losses { report.lossCounts[loss, default: 0] += 1 }
      let fingerprint = image.fingerprint
      let isNew = seen[fingerprint] == nil
      guard admit(fingerprint, acknowledged) || only != nil else { continue }
      let context = CrashContext(
        operation: operation, begun: begun, acknowledged: acknowledged, losses: losses, operationKind: kind,
        recoveries: top, fingerprint: fingerprint)
      if isNew {
        report.distinctImageCounts[top] += 1
        report.matrix.add(context)
      }
      (levels[top].fates, levels[top].disk) = (fates, disk)
      run(check, image, context)
    }
  }

  /// Whether the disk must be checked (CE1).
  private mutating func admit(_ fingerprint: Int, _ acknowledged: [Int]) -> Bool {
    if let shown = seen[fingerprint], promises[shown].starts(with: acknowledged) { return false }
    if promises.last != acknowledged { promises.append(acknowledged) }
    seen[fingerprint] = promises.count - 1
    return true
  }

  private mutating func isChosen(oneIn count: Int) -> Bool {
    count == 1 || choices.next() % UInt64(count) == 0
  }

  /// The fraction of operations after which the power is cut, and the maximum number of disks built
  /// after each.
  private func part(of level: Level) -> (operationsOneIn: Int, imagesMax: Int) {
    let imagesMax = explorer.imagesPerOperationMax
    guard level.crash != nil else { return (explorer.operationsOneIn, imagesMax) }
    let (operations, all) = (level.journal.operationCount + 1, explorer.imagesPerRecoveryMax)
    let images = min(imagesMax, max(Self.imagesMin, all / operations))
    return (max(1, operations * images / all), images)
  }

  /// The minimum number of disks after an operation of a recovery. If there are too many
  /// operations, some are skipped.
  private static let imagesMin = 4

  /// The crashes to try: for each crash, a list of the fates of the pending changes. The lists are
  /// different. Several requests of the planner may result in the same list, because not every loss
  /// is allowed.
  private mutating func crashes(
    of cutter: DiskCutter, after operation: Int, imagesMax: Int
  ) -> [[Fate]] {
    let planner = CrashPlanner(
      imagesMax: imagesMax, sectorLength: explorer.sectorLength,
      makesGarbage: explorer.makesGarbage,
      makesStaleBytes: explorer.makesStaleBytes && !cutter.model.freed.isEmpty)
    // CE2
    var random = levels[levels.count - 1].random.derived(UInt64(operation))
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
    let place = place
    note?.say("explorer.seed = \(explorer.seed); explorer.only = \"\(place)\"")
    report.noteCheck(context)
    do {
      let recovery = try check(image, context)
      if let recovery { report.noteLabels(recovery) }
      guard let recovery, isCut(place) else { return }
      report.recoveryCount += 1
      let top = levels[levels.count - 1]
      walk(
        recovery, from: context, top.random.derived(UInt64(top.operation)).derived(UInt64(top.disk)), check)
    } catch {
      report.violation = CrashViolation(
        reason: "\(error)", context: context, place: place, image: image,
        trace: levels.flatMap(Self.trace), seed: explorer.seed, canary: explorer.canary, head: explorer.name,
        again: explorer.leavesNote ? SeedWords.again(explorer.seedWords, explorer.name) : nil)
    }
  }

  /// The place of the power cut: a step for the workload, and a step for each recovery that was
  /// cut.
  private var place: CrashPlace {
    CrashPlace(levels.map { CrashPlace.Step(operation: $0.operation, disk: $0.disk) })
  }

  /// Whether the power is cut again during the recovery from a crash.
  private mutating func isCut(_ place: CrashPlace) -> Bool {
    if let only = explorer.only { return place.steps.count < only.steps.count }
    return place.steps.count <= explorer.recoveryDepth && isChosen(oneIn: explorer.recoveriesOneIn)
  }

  private static func trace(_ level: Level) -> [String] {
    let fateTexts = Dictionary(
      zip(level.pending.map(\.operation), level.fates.map(\.text)), uniquingKeysWith: { "\($0), \($1)" })
    let lines = level.journal.markedTrace(upTo: level.operation) { fateTexts[$0] }
    guard let crash = level.crash else { return lines }
    return ["-- the power was cut; recovery \(crash.recoveries + 1) begins"] + lines
  }
}

extension Fate {
  /// The text of a fate in the trace.
  fileprivate var text: String {
    switch self {
    case .lost: "LOST"
    case .kept: "kept, unsynced"
    case .torn(let sectors, let rest):
      "TORN, sectors \(sectors.map { $0 ? "1" : "0" }.joined()), the rest \(rest)"
    }
  }
}

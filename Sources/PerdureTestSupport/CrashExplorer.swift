import PerdureFileIO

/// Lets a workload say how far it has come, so that a check knows what must have survived.
public struct CrashMarker: Sendable {
  let fileSystem: SimulatedFileSystem

  /// Says that step `label` is about to begin: from now on, its effects may be on the disk.
  public func begin(_ label: Int) {
    fileSystem.state.withLock { $0.journal.mark(.begun, label) }
  }

  /// Says that step `label` was acknowledged as durable: from now on, its effects must be on the disk.
  public func acknowledge(_ label: Int) {
    fileSystem.state.withLock { $0.journal.mark(.acknowledged, label) }
  }
}

extension SimulatedFileSystem {
  /// For marking steps in this file system's journal.
  public var marker: CrashMarker { CrashMarker(fileSystem: self) }
}

/// What a check is told about the crash it looks at.
public struct CrashContext: Sendable {
  /// The operation after which the power went; 0 is before the first.
  public let operation: Int
  /// The labels of the steps that had begun, in order.
  public let begun: [Int]
  /// The labels of the steps that had been acknowledged, in order.
  public let acknowledged: [Int]
  /// What was lost.
  public let losses: Set<CrashLoss>

  /// Describes a crash by hand, for running a check on a disk that was kept.
  public init(operation: Int, begun: [Int], acknowledged: [Int], losses: Set<CrashLoss>) {
    self.operation = operation
    self.begun = begun
    self.acknowledged = acknowledged
    self.losses = losses
  }
}

/// Cuts the power after every single operation of a workload, in many ways, and has each resulting disk
/// checked.
///
///     let report = try CrashExplorer().explore { fileSystem, marker in
///       let store = try Store(path: "/store", fileSystem: fileSystem)
///       for step in 0..<10 {
///         try store.write(step)
///         marker.acknowledge(step)
///       }
///     } verify: { image, context in
///       let store = try Store(path: "/store", fileSystem: image.fileSystem())
///       for step in context.acknowledged { try store.mustHave(step) }
///     }
///     try report.check()
///
/// The workload runs once, before the first check. A check that throws is a violation.
public struct CrashExplorer: Sendable {
  /// Decides which crashes are tried where not all can be. The same seed and workload give the same crashes.
  public var seed: UInt64

  /// How many disks are built at most after each operation.
  public var imagesPerOperationMax = 64

  /// The number of bytes that the disk writes as one; 1 or more. A small number tears small writes in more
  /// places.
  public var sectorLength = 512

  /// Whether bytes that did not arrive may read as noise.
  public var makesGarbage = true

  /// How many disks are checked at most; then the exploration ends.
  public var checksMax = Int.max

  /// Makes an explorer. Without a seed, it comes from `PERDURE_SEED`, or else is a new one.
  public init(seed: UInt64 = SeededGenerator.seedFromEnvironment()) {
    self.seed = seed
  }

  /// Runs `workload` on a new file system, then checks the disks that losses of power would have left.
  ///
  /// - Parameters:
  ///   - image: What is on the disk at the beginning.
  ///   - workload: May use several threads, which have ended when it returns.
  ///   - verify: Called for every disk that differs from the others, or has been left by another number of
  ///     acknowledgements.
  /// - Returns: What was tried, with the first violation.
  /// - Throws: What `workload` throws.
  public func explore(
    on image: CrashImage = .empty,
    workload: (_ fileSystem: SimulatedFileSystem, _ marker: CrashMarker) throws -> Void,
    verify: (_ image: CrashImage, _ context: CrashContext) throws -> Void
  ) rethrows -> CrashReport {
    let fileSystem = SimulatedFileSystem(image)
    try workload(fileSystem, fileSystem.marker)
    return examine(fileSystem.journal, verify: verify)
  }

  /// Checks the disks that losses of power would have left during the operations of a journal, which may
  /// come from a file system of any making and from asynchronous code.
  public func examine(
    _ journal: CrashJournal, verify: (_ image: CrashImage, _ context: CrashContext) throws -> Void
  ) -> CrashReport {
    precondition(
      sectorLength > 0 && imagesPerOperationMax > 0,
      "An explorer needs sectors of a byte at least, and one image an operation at least.")
    var examination = CrashExamination(explorer: self, journal: journal)
    var disk = journal.start
    examination.check(disk, after: 0, verify)
    for (index, operation) in journal.operations.enumerated() where !examination.isOver {
      disk.apply(operation.event, operation: index + 1)
      examination.check(disk, after: index + 1, verify)
    }
    return examination.report
  }

  /// The disks that a loss of power may leave after operation number `operation` of a journal, without
  /// repetitions; 0 is before the first.
  public func images(of journal: CrashJournal, after operation: Int) -> [CrashImage] {
    var disk = journal.start
    for (index, operation) in journal.operations.prefix(operation).enumerated() {
      disk.apply(operation.event, operation: index + 1)
    }
    var images: [CrashImage] = []
    var examination = CrashExamination(explorer: self, journal: journal)
    examination.check(disk, after: operation) { image, _ in images.append(image) }
    return images
  }
}

/// One walk over a journal.
private struct CrashExamination {
  /// A disk, and how much of the workload it must show.
  private struct Case: Hashable {
    let fingerprint: Int
    // Not how many steps had begun: the first time a disk is seen they are fewest, and the check strictest.
    let acknowledgedCount: Int
  }

  let explorer: CrashExplorer
  let journal: CrashJournal
  private(set) var report: CrashReport
  private var cases: Set<Case> = []
  private var fingerprints: Set<Int> = []

  init(explorer: CrashExplorer, journal: CrashJournal) {
    self.explorer = explorer
    self.journal = journal
    report = CrashReport(seed: explorer.seed)
    report.operationCount = journal.operationCount
  }

  var isOver: Bool {
    report.violation != nil || report.checkedCount >= explorer.checksMax
  }

  /// Checks what a loss of power may leave of `disk`.
  mutating func check(
    _ disk: DurabilityModel, after operation: Int, _ verify: (CrashImage, CrashContext) throws -> Void
  ) {
    let planner = CrashPlanner(
      imagesMax: explorer.imagesPerOperationMax, sectorLength: explorer.sectorLength,
      makesGarbage: explorer.makesGarbage)
    var random = SeededGenerator(seed: explorer.seed).derived(UInt64(operation))
    let begun = journal.labels(.begun, after: operation)
    let acknowledged = journal.labels(.acknowledged, after: operation)
    for wished in planner.crashes(disk.pending, random: &random) where !isOver {
      let fates = disk.allowed(wished)
      let image = disk.image(fates, sectorLength: explorer.sectorLength, seed: explorer.seed)
      let losses = CrashLoss.kinds(disk.pending, fates)
      for loss in losses { report.lossCounts[loss, default: 0] += 1 }
      let newCase = Case(fingerprint: image.fingerprint, acknowledgedCount: acknowledged.count)
      guard admit(newCase) else { continue }
      let context = CrashContext(
        operation: operation, begun: begun, acknowledged: acknowledged, losses: losses)
      do {
        try verify(image, context)
      } catch {
        report.violation = violation(error, image, context, disk, fates)
      }
    }
  }

  /// Counts a disk; says whether it is to be checked.
  private mutating func admit(_ newCase: Case) -> Bool {
    report.imageCount += 1
    if fingerprints.insert(newCase.fingerprint).inserted { report.distinctImageCount += 1 }
    guard cases.insert(newCase).inserted else { return false }
    report.checkedCount += 1
    return true
  }

  private func violation(
    _ error: any Error, _ image: CrashImage, _ context: CrashContext, _ disk: DurabilityModel, _ fates: [Fate]
  ) -> CrashViolation {
    let fateTexts = Dictionary(
      zip(disk.pending.map(\.operation), fates.map(\.text)), uniquingKeysWith: { "\($0), \($1)" })
    let trace = journal.trace.prefix(context.operation).enumerated().map { index, line in
      fateTexts[index + 1].map { "\(line): \($0)" } ?? line
    }
    return CrashViolation(
      reason: "\(error)", operation: context.operation, losses: context.losses, image: image,
      trace: trace, seed: explorer.seed)
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

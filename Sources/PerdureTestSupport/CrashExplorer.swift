import PerdureFileIO

/// Cuts the power after each operation of a workload, in many ways. Each resulting disk is
/// recovered and checked. Then the power is cut during these recoveries too.
///
/// This is the complete suite for a store of notes. `Notes` is a store on Perdure that opens with
/// the given file system (`StoreOptions.fileSystem`). The suite cuts the power once, and then up to
/// twice during recoveries. After that, the store must have a prefix of its notes, including every
/// acknowledged note:
///
///     func notesReport(_ explorer: CrashExplorer) throws -> CrashReport {
///       try explorer.explore { fileSystem, marker in
///         let notes = try Notes(on: fileSystem)
///         for number in 1...4 {
///           marker.begin(number)
///           try notes.add(number, "note \(number)")
///           marker.acknowledge(number)
///         }
///       } recover: { fileSystem, _ in
///         try Notes(on: fileSystem)
///       } verify: { notes, context in
///         let numbers = try notes.numbers()
///         guard numbers.starts(with: context.acknowledged) else { throw Lost() }
///         guard context.begun.starts(with: numbers) else { throw Surplus() }
///       }
///     }
///     @Test func notesSurvivePowerCuts() throws {
///       var explorer = CrashExplorer()
///       explorer.recoveryDepth = 2
///       explorer.imagesPerOperationMax = 16
///       try notesReport(explorer).check()
///     }
///
/// The workload runs once, before the first check. A check that throws is a violation. The report
/// contains the violation with all operations before it, and with the seed that repeats it. The
/// test must call `CrashReport.check`, which throws the violation. It also throws if the suite
/// tested nothing, for example if no step was acknowledged. `canary` shows whether the check
/// detects a mistake.
///
/// After each operation, the explorer builds all possible disks if `imagesPerOperationMax` allows
/// it. Otherwise it builds the most informative disks and a random choice of the others. The report
/// counts both cases. Disks with the same bytes are checked once.
public struct CrashExplorer: Sendable {
  /// The seed that chooses the crashes if there are too many to try all. The same seed and workload
  /// give the same crashes.
  public var seed: UInt64 { didSet { origin = nil } }

  /// The name at the beginning of reports and violations. Default: the name of the function that
  /// made the explorer.
  public var name: String

  /// The seed of the generator that produced `seed`; nil if no generator did.
  private var origin: UInt64?

  /// Tries only this crash, after the crashes in earlier recoveries that it requires; nil for all
  /// crashes. A violation prints its place.
  public var only: CrashPlace?

  /// Whether the explorer belongs to a test. If so, the explorer writes its next step to a file, in
  /// case of a trap. A violation then contains the command that runs the test again.
  package var leavesNote = true

  /// With the value n, cuts the power after one of n operations of the workload, on average. The
  /// seed chooses them. 1 or more. Use it for long workloads.
  public var operationsOneIn = 1

  /// The maximum number of disks after each operation; 1 or more.
  public var imagesPerOperationMax = 64

  /// The number of bytes that the disk writes atomically; 1 or more. With a smaller number, small
  /// writes are torn in more ways. Most media have sectors of 512 or 4096 bytes.
  public var sectorLength = 512

  /// Whether bytes that did not reach the disk may read as noise. Noise is possible after the old
  /// end of the file, and in sectors that a write replaces completely. Bytes that are overwritten
  /// with equal bytes always remain.
  public var makesGarbage = true

  /// Whether bytes that did not reach the disk may read as bytes of a removed file, as if its
  /// blocks were reused. The bytes have the same offsets. Only a checksum that covers the file's
  /// identity detects this.
  public var makesStaleBytes = false

  /// A deliberate mistake of the explorer, which the suite must detect; nil for no mistake.
  public var canary: CrashCanary?

  /// The maximum number of checks; 1 or more. If the limit is reached, the report is not complete.
  public var checksMax = Int.max

  /// The maximum number of consecutive cuts during recoveries. 1 cuts recoveries, 2 also cuts the
  /// recoveries after those cuts, and so on. With a value greater than 0, `explore` and `examine`
  /// need `recover`; without it, they stop the program.
  public var recoveryDepth = 0

  /// With the value n, cuts one of n recoveries at each depth, on average. The seed chooses them. 1
  /// or more.
  public var recoveriesOneIn = 1

  /// The approximate maximum number of disks for one recovery, distributed over its operations; 1
  /// or more. Without this limit, a recovery with many writes has millions of disks at a depth of
  /// 3.
  public var imagesPerRecoveryMax = 4096

  /// Makes an explorer. The default seed is `PERDURE_SEED`, or a new one if that is not set.
  public init(seed: UInt64 = SeededGenerator.seedFromEnvironment(), name: String = #function) {
    (self.seed, self.name) = (seed, name)
  }

  /// Makes an explorer whose seed is the next number of a generator. Failures print the seed of the
  /// generator, or of the generator that it is derived from.
  public init(using random: inout SeededGenerator, name: String = #function) {
    self.init(seed: random.next(), name: name)
    origin = random.origin
  }

  /// The code that produces the same seed again.
  var seedWords: String { SeedWords.words(seed, origin: origin, "CrashExplorer") }
}

// Exploration with a single power cut.
extension CrashExplorer {
  /// Runs `workload` on a new file system, then checks the disks that power cuts can leave.
  ///
  /// The closures run on this thread: `workload` once, then `verify` for each disk. No
  /// closure is called after `explore` returns.
  ///
  /// - Parameters:
  ///   - image: The disk at the beginning.
  ///   - workload: The program to test. It may use several threads, which must end before it
  ///     returns. A store with background work (checkpoints, compaction) must be closed first, or
  ///     its background work must be switched off.
  ///   - verify: Called for each distinct disk, and again if a disk occurs with more acknowledged
  ///     steps.
  /// - Returns: The counts, with the first violation.
  /// - Throws: The error that `workload` throws.
  public func explore(
    on image: CrashImage = .empty,
    workload: (_ fileSystem: SimulatedFileSystem, _ marker: CrashMarker) throws -> Void,
    verify: (_ image: CrashImage, _ context: CrashContext) throws -> Void
  ) rethrows -> CrashReport {
    let fileSystem = try run(workload, on: image)
    return examine(fileSystem.journal, verify: verify)
  }

  /// Checks the disks that power cuts can leave during the operations of a journal. The workload of
  /// the journal may be asynchronous. `verify` runs on this thread, for one disk after another. An
  /// error that it throws is a violation.
  /// - Returns: The counts, with the first violation.
  public func examine(
    _ journal: CrashJournal, verify: (_ image: CrashImage, _ context: CrashContext) throws -> Void
  ) -> CrashReport {
    precondition(recoveryDepth == 0, "Without `recover` no recovery can be cut: recoveryDepth must be 0")
    var examination = CrashExamination(explorer: self)
    examination.begin(journal) { image, context in
      try verify(image, context)
      return nil
    }
    return examination.report
  }

  /// The distinct disks that the explorer builds for a power cut after an operation of a journal,
  /// at most `imagesPerOperationMax`. 0 means before the first operation, and `operationCount`
  /// means after the last.
  public func images(of journal: CrashJournal, after operation: Int) -> [CrashImage] {
    var images: [CrashImage] = []
    var all = self
    all.only = nil
    var examination = CrashExamination(explorer: all)
    examination.look(at: journal, after: operation) { image, _ in
      images.append(image)
      return nil
    }
    return images
  }
}

// Exploration with further power cuts during recoveries.
extension CrashExplorer {
  /// Runs `workload` on a new file system, then recovers and checks the disks that power cuts can
  /// leave. Cuts the power during recoveries too, up to `recoveryDepth` times in a row.
  ///
  /// The closures run on this thread: `workload` once, then `recover` and `verify` in turns. No
  /// closure is called after `explore` returns.
  ///
  /// - Parameters:
  ///   - image: The disk at the beginning.
  ///   - workload: The program to test. It may use several threads, which must end before it
  ///     returns. A store with background work (checkpoints, compaction) must be closed first, or
  ///     its background work must be switched off.
  ///   - recover: Opens the store on a disk after a power cut. The power is cut again during the
  ///     changes that `recover` makes to the disk. `recover` may mark and acknowledge steps with
  ///     the `marker` of the file system. Later checks see these labels after those of the
  ///     workload. A cut in `recover` is checked only after one more `recover`, which may write a
  ///     lost step again. So write only if `context.recoveries` is 0.
  ///   - verify: Checks the opened store. Changes that `verify` makes to the disk have no effect on
  ///     later checks.
  /// - Returns: The counts, with the first violation.
  /// - Throws: The error that `workload` throws.
  public func explore<Recovered>(
    on image: CrashImage = .empty,
    workload: (_ fileSystem: SimulatedFileSystem, _ marker: CrashMarker) throws -> Void,
    recover: (_ fileSystem: SimulatedFileSystem, _ context: CrashContext) throws -> Recovered,
    verify: (_ recovered: Recovered, _ context: CrashContext) throws -> Void
  ) rethrows -> CrashReport {
    let fileSystem = try run(workload, on: image)
    return examine(fileSystem.journal, recover: recover, verify: verify)
  }

  /// Recovers and checks the disks that power cuts can leave during the operations of a journal,
  /// and cuts the power during recoveries. The workload of the journal may be asynchronous.
  /// `recover` and `verify` run on this thread, in turns.
  ///
  /// - Parameters:
  ///   - journal: The operations of the workload, from `SimulatedFileSystem.journal`.
  ///   - recover: The same as in `explore`.
  ///   - verify: The same as in `explore`.
  /// - Returns: The counts, with the first violation. An error of a closure is a violation.
  public func examine<Recovered>(
    _ journal: CrashJournal,
    recover: (_ fileSystem: SimulatedFileSystem, _ context: CrashContext) throws -> Recovered,
    verify: (_ recovered: Recovered, _ context: CrashContext) throws -> Void
  ) -> CrashReport {
    var examination = CrashExamination(explorer: self)
    examination.begin(journal) { image, context in
      let fileSystem = image.fileSystem()
      fileSystem.state.withLock { $0.journal.expect(context.begun) }
      let recovered = try recover(fileSystem, context)
      let recovery = fileSystem.journal
      try verify(recovered, context)
      return recovery
    }
    return examination.report
  }
}

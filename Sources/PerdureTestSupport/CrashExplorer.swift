import PerdureFileIO

/// Cuts the power after every single operation of a workload, in many ways, and has each resulting disk
/// recovered and checked; then cuts the power during these recoveries too.
///
/// This is the crash-recovery suite of a store of notes, whole. `Notes` is a store of your own on Perdure, which opens
/// with the file system that it is given (`StoreOptions.fileSystem`). After any loss of power, and after two more during the
/// recovery, it holds the first of its notes with every one that was acknowledged:
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
/// The workload runs once, before the first check. A check that throws is a violation: the report has it with
/// all operations before it, and with the seed by which it is found again. It is the test that has to throw it
/// (`CrashReport.check`): a report that nobody looks at is no test. It refuses one, too, of a suite that has tested nothing:
/// that has acknowledged nothing, say. `canary` shows whether the check notices anything.
///
/// After each operation every disk is built that can be left, if there are `imagesPerOperationMax` at most;
/// otherwise the telling ones and a random choice of the others. The report says how often it was which.
/// Disks with the same bytes are checked once.
public struct CrashExplorer: Sendable {
  /// Decides which crashes are tried where not all can be. The same seed and workload give the same crashes.
  public var seed: UInt64 { didSet { origin = nil } }

  /// What reports and violations begin with: the function that has made the explorer, if nothing else is said.
  public var name: String

  /// The seed of the generator that the seed is from.
  private var origin: UInt64?

  /// Only this crash is tried, and those of which it is a crash during the recovery; nil: all. A violation prints its own.
  public var only: CrashPlace?

  /// Whether it is a test's: it is noted in a file what the explorer is at, for who looks after a trap, and a violation says
  /// how to run the test again.
  package var leavesNote = true

  /// The power is cut after one operation of the workload in so many, chosen by the seed; 1 or more. For a short look
  /// at a long workload.
  public var operationsOneIn = 1

  /// How many disks are built at most after each operation; 1 or more.
  public var imagesPerOperationMax = 64

  /// The number of bytes that the disk writes as one; 1 or more. A small number tears small writes in more
  /// places. Most media have 512 or 4096.
  public var sectorLength = 512

  /// Whether bytes that did not arrive may read as noise: behind the old end of the file, and in sectors that a write
  /// was to replace whole. That bytes stay which are written over equal ones is taken for granted.
  public var makesGarbage = true

  /// Whether bytes that did not arrive may also be those that a removed file had at the same
  /// offsets, as its blocks are used again. Only checksums that cover a file's identity tell these
  /// from bytes that arrived.
  public var makesStaleBytes = false

  /// A mistake that the explorer makes on purpose: a suite has to notice. Nil: none.
  public var canary: CrashCanary?

  /// How many disks are checked at most, 1 or more; then the exploration ends, and the report says that it is not complete.
  public var checksMax = Int.max

  /// How often the power is cut again: 1 cuts recoveries, 2 also recoveries from what that left, and so on. Only
  /// `explore` and `examine` with `recover` can: without it, anything but 0 is a mistake, and stops the program.
  public var recoveryDepth = 0

  /// Of the recoveries, at each depth, one in so many is cut, chosen by the seed; 1 or more.
  public var recoveriesOneIn = 1

  /// How many disks are built at most of one recovery, spread over its operations; 1 or more. A recovery that writes as
  /// much as a workload, at a depth of 3, has millions otherwise.
  public var imagesPerRecoveryMax = 4096

  /// Makes an explorer. Without a seed, it comes from `PERDURE_SEED`, or else is a new one.
  public init(seed: UInt64 = SeededGenerator.seedFromEnvironment(), name: String = #function) {
    (self.seed, self.name) = (seed, name)
  }

  /// Makes an explorer whose seed is the next number of a generator: that of the program's random choices. What is printed
  /// to run a failure again is the seed of the generator, or of the one that this is derived from.
  public init(using random: inout SeededGenerator, name: String = #function) {
    self.init(seed: random.next(), name: name)
    origin = random.origin
  }

  /// What gives the same seed again.
  var seedWords: String { SeedWords.words(seed, origin: origin, "CrashExplorer") }
}

// With the power cut once.
extension CrashExplorer {
  /// Runs `workload` on a new file system, then checks the disks that losses of power would have left.
  ///
  /// Everything is called on this thread, one after the other: first `workload`, once, then `verify` for one disk after
  /// the other. All of it is over when `explore` returns.
  ///
  /// - Parameters:
  ///   - image: What is on the disk at the beginning.
  ///   - workload: May use several threads, which have ended when it returns: a store that works by itself in the
  ///     background (checkpoints, compaction) is closed first, or told to do nothing by itself.
  ///   - verify: Called for every disk that differs from the others, or has been left by another number of
  ///     acknowledgements.
  /// - Returns: What was tried, with the first violation.
  /// - Throws: What `workload` throws.
  public func explore(
    on image: CrashImage = .empty,
    workload: (_ fileSystem: SimulatedFileSystem, _ marker: CrashMarker) throws -> Void,
    verify: (_ image: CrashImage, _ context: CrashContext) throws -> Void
  ) rethrows -> CrashReport {
    let fileSystem = try run(workload, on: image)
    return examine(fileSystem.journal, verify: verify)
  }

  /// Checks the disks that losses of power would have left during the operations of a journal, which may
  /// come from a file system of any making and from asynchronous code. `verify` is called on this thread, for one disk
  /// after the other.
  public func examine(
    _ journal: CrashJournal, verify: (_ image: CrashImage, _ context: CrashContext) throws -> Void
  ) -> CrashReport {
    precondition(recoveryDepth == 0, "Without `recover` no recovery can be cut: recoveryDepth has to be 0")
    var examination = CrashExamination(explorer: self)
    examination.begin(journal) { image, context in
      try verify(image, context)
      return nil
    }
    return examination.report
  }

  /// The disks that a loss of power may leave after operation number `operation` of a journal, without
  /// repetitions; 0 is before the first, and `operationCount` is the last.
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

// With the power cut again.
extension CrashExplorer {
  /// Runs `workload` on a new file system, has the disks that losses of power would have left recovered and
  /// checked, and cuts the power during recoveries, `recoveryDepth` times in a row.
  ///
  /// Everything is called on this thread, one after the other: first `workload`, once, then `recover` and `verify` in
  /// turns. All of it is over when `explore` returns.
  ///
  /// - Parameters:
  ///   - image: What is on the disk at the beginning.
  ///   - workload: May use several threads, which have ended when it returns: a store that works by itself in the
  ///     background (checkpoints, compaction) is closed first, or told to do nothing by itself.
  ///   - recover: Opens the store on a disk that a loss of power left. What this changes on the disk is the recovery
  ///     in which the power is cut again. With the `marker` of the file system it may mark steps that it takes,
  ///     and acknowledge what from then on must stay: who looks at a crash that comes later sees these labels
  ///     behind those of the workload. Whatever a cut in it leaves is seen only through one more `recover`: what that
  ///     writes again, nobody misses. So write what you mean to look for where `context.recoveries` is 0 alone.
  ///   - verify: Looks at what was opened. What it changes on the disk is of no consequence.
  /// - Returns: What was tried, with the first violation.
  /// - Throws: What `workload` throws.
  public func explore<Recovered>(
    on image: CrashImage = .empty,
    workload: (_ fileSystem: SimulatedFileSystem, _ marker: CrashMarker) throws -> Void,
    recover: (_ fileSystem: SimulatedFileSystem, _ context: CrashContext) throws -> Recovered,
    verify: (_ recovered: Recovered, _ context: CrashContext) throws -> Void
  ) rethrows -> CrashReport {
    let fileSystem = try run(workload, on: image)
    return examine(fileSystem.journal, recover: recover, verify: verify)
  }

  /// Has the disks that losses of power would have left during the operations of a journal recovered and checked, and
  /// cuts the power during recoveries. The journal may come from a file system of any making and from asynchronous code.
  /// `recover` and `verify` are called on this thread, in turns.
  ///
  /// - Parameters:
  ///   - journal: The operations of the workload, from `SimulatedFileSystem.journal`.
  ///   - recover: As that of `explore`.
  ///   - verify: As that of `explore`.
  /// - Returns: What was tried, with the first violation: what the closures throw is one.
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

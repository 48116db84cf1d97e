import PerdureFileIO
import PerdureFormat

// Opening for reading, beside a possible writer.
//
// A writer is never asked to wait, so the steps of an opening (superblock, directory, headers of
// segments, checkpoint, log) may read different moments. An attempt counts only if all steps could
// have read one moment:
//
//  RO1  The superblock is read first, then the directory. Then the segments are opened, the
//       superblock is read again, the lengths of the segments are read, and only then the frames.
//  RO2  The attempt ends at a commit that is not before the durable end of the second superblock.
//       So it has everything that made a record dead which a rewritten segment among those opened
//       lacks. A writer promises that in a superblock before the segment takes its name (T6).
//  RO3  An apparent error is final only if superblock, directory and the lengths of the log's files
//       are the same before and after the attempt, and the next attempt finds the same error.
//       Otherwise a file may have been added, removed or rewritten in between, or frames written
//       into the zeros behind the log (B7). Then the attempt is repeated.
//  RO4  A half-written frame or segment header looks like a torn tail. For a reader that is the end
//       of the log.
//
// The number of commits that RO2 finds varies with the moment; the log itself ensures that they are
// complete, in order and without a gap.

/// The checks of an opening for reading against a concurrent writer.
struct OpeningBesideWriter {
  /// The steps did not read one moment.
  struct Moved: Error {}

  let directory: any Directory
  /// Whether the index is copied into memory, because the writer may reuse its units.
  let copiesIndex: Bool
  /// Whether the index was found damaged before, so that it is read as a whole before it is used.
  let suspectsIndex: Bool
  /// The state of the files when the attempt began; nil: an unusable index is accepted.
  let look: StoreLook?

  /// RO2: the last commit that the superblock promises now.
  func promisedSequence() throws -> UInt64 {
    try SuperblockFile.open(in: directory, .read).current.durableSequence
  }

  /// RO3, for errors that would otherwise be attributed to the index file.
  func checkNotMoved() throws {
    if let look, look != (try StoreLook(directory)) { throw Moved() }
  }
}

/// A summary of the files that changes with every relevant action of a writer.
struct StoreLook: Equatable {
  let superblock: Superblock
  let segments: [UInt64]
  /// Bytes of the newest complete segment's file, and before it of the files after it: a file may
  /// be prepared long before it gets its header.
  let lastLengths: [UInt64]

  init(_ directory: any Directory) throws {
    superblock = try SuperblockFile.open(in: directory, .read).current
    segments = try StoreFiles(in: directory).segments
    var lengths: [UInt64] = []
    for number in segments.sorted(by: >) {
      let file = try directory.open(StoreFileName.segment(number).string, .read)
      defer { try? file.close() }
      lengths.append(try file.size())
      let header = try file.read(SegmentHeader.length, at: 0)
      if !SegmentBirth.isUnborn(header, number: number, store: superblock.store) { break }
    }
    lastLengths = lengths
  }
}

/// The place of an opening for reading.
struct ReadingPlace: Sendable {
  /// Nil: it could not register.
  let registration: ReaderRegistration?
  /// The checkpoint that the superblock named.
  let checkpoint: CheckpointReference?
  /// The superblock and segments before the opening began to read.
  let look: StoreLook?
}

/// Opens a store for reading.
struct ReadOnlyOpening {
  /// After this many attempts there is another error. Each needs a writer that does something in
  /// the moments between two steps to fail.
  private static let attemptsMax = 40

  private let directory: any Directory
  private let options: StoreOptions
  private let suspectsIndex: Bool
  private let table: ReaderTable

  init(_ directory: any Directory, _ options: StoreOptions, _ suspectsIndex: Bool) {
    self.directory = directory
    self.options = options
    self.suspectsIndex = suspectsIndex
    table = ReaderTable(directory: directory)
  }

  func run() throws -> (Engine, RecoveryReport) {
    // RT1: before anything is read that has to stay.
    let registration = options.registersAsReader ? ReaderRegistration.take(in: table) : nil
    var finding: String?
    for attempt in 1..<Self.attemptsMax {
      let look = try? StoreLook(directory)
      do {
        return try open(registration, look, judgesIndex: attempt >= Self.attemptsMax / 2)
      } catch {
        if error is OpeningBesideWriter.Moved { continue }
        if error is LogOpening.GivenUp { throw error }
        let isStill = look == (try? StoreLook(directory))
        if isStill, finding == "\(error)" { throw error }
        finding = isStill ? "\(error)" : nil
      }
    }
    throw StoreError(
      .io, "The store changed faster than it could be opened; try again when less is written",
      at: directory.path)
  }

  /// - Parameter judgesIndex: Whether an unusable index is accepted as damaged. If not, the opening
  ///   checks first that the writer has not moved on, and tries again if so.
  private func open(
    _ registration: ReaderRegistration?, _ look: StoreLook?, judgesIndex: Bool
  ) throws -> (Engine, RecoveryReport) {
    var report = RecoveryReport()
    let superblock = try Recovery.openSuperblock(StoreFiles(in: directory), directory, options, &report)
    var opening = LogOpening(
      try StoreFiles(in: directory), superblock, directory, options,
      beside: OpeningBesideWriter(
        directory: directory, copiesIndex: registration == nil, suspectsIndex: suspectsIndex,
        look: judgesIndex ? nil : look))
    let state = try opening.run(&report)
    let place = ReadingPlace(
      registration: registration, checkpoint: superblock.current.checkpoint, look: look)
    if let registration {
      // A slot that cannot be written keeps its content, which is more demanding. RT3
      try? registration.narrow(to: hold(opening.checkpoint, state.root.pointee.sequence))
    }
    return try Recovery.finish(state, opening, directory, options, nil, place, &report)
  }

  private func hold(_ checkpoint: OpenedCheckpoint?, _ sequence: UInt64) -> ReaderSlot.Hold {
    ReaderSlot.Hold(
      sequence: sequence, indexFile: checkpoint?.reference.indexFile ?? 0,
      checkpoint: checkpoint?.root.number ?? 0, lastSequence: sequence)
  }
}

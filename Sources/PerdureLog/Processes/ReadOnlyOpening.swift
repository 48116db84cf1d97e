import PerdureFileIO
import PerdureFormat

// Opens a store for reading, possibly while a writer has it open.
//
// A writer never waits for readers. So the steps of an opening (superblock, directory, headers of
// segments, checkpoint, log) may read the store at different times. An attempt is accepted only if
// all steps could have read it at one moment:
//
//  RO1  The superblock is read first, then the directory. Then the segments are opened, the
//       superblock is read again, the lengths of the segments are read, and only then the frames.
//  RO2  The attempt must reach a commit that is not before the durable end of the second
//       superblock. Reason: an opened segment may be rewritten and lack dead records. Then the
//       attempt must have the newer commits that made these records dead. The writer promises those
//       commits in a superblock before the rewritten segment gets its name (T6).
//  RO3  An error of an attempt is final only under two conditions. First, the superblock, the
//       directory and the lengths of the log's files are the same before and after the attempt.
//       Second, the next attempt finds the same error. Otherwise a file may have been added,
//       removed or rewritten in between, or frames may have been written into the zeros after the
//       log (B7). Then the attempt is repeated.
//  RO4  A half-written frame or segment header looks like a torn tail. For a reader it is the end
//       of the log.
//
// The number of commits that an attempt finds depends on the time of the attempt. The log itself
// ensures that they are complete, in order and without a gap.

/// The checks that an opening for reading makes because of a concurrent writer.
struct OpeningBesideWriter {
  /// The steps did not read the store at one moment.
  struct Moved: Error {}

  let directory: any Directory
  /// Whether the index is copied into memory, because the writer may reuse its units.
  let copiesIndex: Bool
  /// Whether the index was found damaged earlier. If so, it is verified completely before it is
  /// used.
  let suspectsIndex: Bool
  /// The state of the files when the attempt began; nil if it could not be read, or if an unusable
  /// index is accepted.
  let fingerprint: StoreFingerprint?

  /// RO2: the last commit that the superblock promises now.
  func promisedSequence() throws -> UInt64 {
    try SuperblockFile.open(in: directory, .read).current.durableSequence
  }

  /// Checks RO3 before an error is attributed to the index file.
  func checkNotMoved() throws {
    if let fingerprint, fingerprint != (try StoreFingerprint(directory)) { throw Moved() }
  }
}

/// A summary of the files that changes with the actions of a writer. There is one exception: frames
/// that are written into the zeros after the log do not change it (Follower, FO4).
struct StoreFingerprint: Equatable {
  let superblock: Superblock
  let segments: [UInt64]
  /// The file lengths of the newest segment with a header and of all later segment files, the last
  /// file first. A file may be prepared long before it gets its header.
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

/// The data of an opening for reading. The engine keeps this data.
struct ReadingPlace: Sendable {
  /// The reader's registration; nil if the opening could not register.
  let registration: ReaderRegistration?
  /// The checkpoint that the superblock referenced.
  let checkpoint: CheckpointReference?
  /// The superblock and segments before the opening began to read; nil if they could not be read.
  let fingerprint: StoreFingerprint?
}

/// Opens a store for reading.
struct ReadOnlyOpening {
  /// The maximum number of attempts. An attempt is repeated if a writer may have changed files
  /// between two of its steps, or to confirm an error (RO3).
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
    // RT1: the registration precedes the reading of all data that must be kept.
    let registration = options.registersAsReader ? ReaderRegistration.take(in: table) : nil
    var finding: String?
    for attempt in 1...Self.attemptsMax {
      let fingerprint = try? StoreFingerprint(directory)
      do {
        return try open(registration, fingerprint, judgesIndex: attempt >= Self.attemptsMax / 2)
      } catch {
        if error is OpeningBesideWriter.Moved { continue }
        if error is LogOpening.Abandoned { throw error }
        let isStill = fingerprint == (try? StoreFingerprint(directory))
        if isStill, finding == "\(error)" { throw error }
        finding = isStill ? "\(error)" : nil
      }
    }
    throw StoreError(
      .io, "The store changed faster than it could be opened; try again when less is written",
      at: directory.path)
  }

  /// - Parameter judgesIndex: Whether an unusable index is accepted as damaged. If not, the opening
  ///   first checks whether the writer has changed the files. If so, it tries again.
  private func open(
    _ registration: ReaderRegistration?, _ fingerprint: StoreFingerprint?, judgesIndex: Bool
  ) throws -> (Engine, RecoveryReport) {
    var report = RecoveryReport()
    let superblock = try Recovery.openSuperblock(StoreFiles(in: directory), directory, options, &report)
    var opening = LogOpening(
      try StoreFiles(in: directory), superblock, directory, options,
      beside: OpeningBesideWriter(
        directory: directory, copiesIndex: registration == nil, suspectsIndex: suspectsIndex,
        fingerprint: judgesIndex ? nil : fingerprint))
    let state = try opening.run(&report)
    let place = ReadingPlace(
      registration: registration, checkpoint: superblock.current.checkpoint, fingerprint: fingerprint)
    if let registration {
      // If the slot cannot be written, it keeps its old content. That content only preserves more
      // data than this reader needs. RT3
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
